package driver

import (
	"errors"
	"io/fs"
	"path"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// content is the source of a new volume: a snapshot, or another volume.
type content struct {
	// Snapshot or Volume is an ID.
	Snapshot string `json:"snapshot,omitempty"`
	Volume   string `json:"volume,omitempty"`
	// data is its directory, of a volume with size bytes.
	data  string
	size  int64
	block bool
}

// contentOf returns the snapshot or volume that a new volume is filled with; zero if it is empty.
func (c *controller) contentOf(source *spec.VolumeContentSource) (from content, err error) {
	switch {
	case source == nil:
		return content{}, nil
	case source.GetSnapshot() != nil && !c.cfg.NoSnapshots:
		from.Snapshot = source.GetSnapshot().GetSnapshotId()
		s, err := c.findOrMakeSnapshot(from.Snapshot)
		if errors.Is(err, errNoSnapshot) {
			return content{}, status.Errorf(codes.NotFound, "there is no snapshot %s", from.Snapshot)
		}
		if err != nil {
			return content{}, status.Error(codes.Internal, err.Error())
		}
		from.data, from.size, from.block = path.Join(snapshotDir(s.ID), "data"), s.Size, s.Block
	case source.GetVolume() != nil && !c.cfg.NoClones:
		from.Volume = source.GetVolume().GetVolumeId()
		v, err := c.find(from.Volume)
		if err != nil {
			return content{}, err
		}
		if err := c.flush(v.ID); err != nil {
			return content{}, status.Error(codes.Internal, err.Error())
		}
		from.data, from.size, from.block = path.Join(c.dir(v.ID), "data"), v.Size, v.Block
	default:
		return content{}, status.Errorf(codes.InvalidArgument, "volume_content_source: %v is not supported", source)
	}
	return from, nil
}

// check returns an error if a volume cannot be filled with it.
func (from content) check(v *volume) error {
	switch {
	case from == content{}:
		return nil
	case v.Size < from.size:
		return status.Errorf(codes.OutOfRange, "the volume is to have %d bytes, and its source has %d", v.Size, from.size)
	case v.Block != from.block:
		return status.Error(codes.InvalidArgument, "the volume and its source must both be block volumes, or both not")
	}
	return nil
}

// describe returns the content as answers have it.
func (from content) describe() *spec.VolumeContentSource {
	switch {
	case from.Snapshot != "":
		return &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Snapshot{Snapshot: &spec.VolumeContentSource_SnapshotSource{SnapshotId: from.Snapshot}}}
	case from.Volume != "":
		return &spec.VolumeContentSource{Type: &spec.VolumeContentSource_Volume{Volume: &spec.VolumeContentSource_VolumeSource{VolumeId: from.Volume}}}
	}
	return nil
}

// copyData creates the directory to with a copy of from, its "data". It first removes what a crash has left there.
func (b *Backend) copyData(from, to string) error {
	if err := b.disk.RemoveAll(to); err != nil {
		return err
	}
	if err := b.disk.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return b.copyTree(from, path.Join(to, "data"))
}

// copyTree copies a file, a link, or a directory with its content.
func (b *Backend) copyTree(from, to string) error {
	info, err := b.disk.Lstat(from)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := b.disk.Readlink(from)
		if err != nil {
			return err
		}
		if !path.IsAbs(target) { // Symlink takes an absolute target
			target = path.Join(path.Dir(to), target)
		}
		_, err = b.disk.Symlink(target, to)
		return err
	case info.Mode().IsRegular():
		data, err := b.disk.ReadFile(from)
		if err == nil {
			err = b.disk.WriteFile(to, data, 0o600)
		}
		if err == nil {
			err = b.disk.Chmod(to, info.Mode())
		}
		return err
	case !info.IsDir():
		return nil // a socket or a pipe has no content
	}
	if err := b.disk.Mkdir(to, 0o700); err != nil {
		return err
	}
	entries, err := b.disk.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := b.copyTree(path.Join(from, entry.Name()), path.Join(to, entry.Name())); err != nil {
			return err
		}
	}
	return b.disk.Chmod(to, info.Mode())
}
