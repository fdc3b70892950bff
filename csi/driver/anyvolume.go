package driver

import (
	"cmp"
	"errors"
	"path"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// longestName is the number of bytes that the name of a file may have.
const longestName = 255

// findOrMake returns the volume of a request that is going to use it. With Config.AnyVolume a volume that the driver has not created
// exists from now on. Its error is a status.
func (b *Backend) findOrMake(id string, block bool) (*volume, error) {
	v, err := b.find(id)
	if status.Code(err) != codes.NotFound || !b.cfg.AnyVolume || b.isOwn(id) || b.disk == nil {
		return v, err
	}
	switch name := fileOf(id); {
	case name == "." || name == ".." || len(name) > longestName:
		return nil, status.Errorf(codes.InvalidArgument, "volume_id %q cannot be the name of a directory", id)
	}
	v = &volume{ID: id, Name: id, Block: block, Foreign: true, Attached: map[string]attachment{}}
	data := path.Join(b.dir(id), "data")
	if err := b.disk.MkdirAll(data, 0o755); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if block {
		if err := b.disk.WriteFile(path.Join(data, "device"), nil, 0o660); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	if err := b.save(v); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return v, nil
}

// IDs of volumes that the driver creates begin with ownPrefix and have ownLength bytes.
const (
	ownPrefix = "vol-"
	ownLength = 20
)

// isOwn reports whether the driver has given a volume this ID: if the volume does not exist any more, it stays so.
func (b *Backend) isOwn(id string) bool {
	before, after, _ := strings.Cut(cmp.Or(b.cfg.Handle, "{id}"), "{id}")
	own, ok := strings.CutPrefix(id, before)
	return ok && strings.HasPrefix(own, ownPrefix) && len(own) >= ownLength && (after != "" || len(own) == ownLength)
}

// findOrMakeSnapshot returns the snapshot with an ID. With Config.AnyVolume one that the driver has not taken exists, empty, from now on. It
// returns errNoSnapshot if there is none.
func (b *Backend) findOrMakeSnapshot(id string) (*snapshot, error) {
	s, err := b.loadSnapshot(id)
	if !errors.Is(err, errNoSnapshot) || !b.cfg.AnyVolume || b.disk == nil || isOwnSnapshot(id) {
		return s, err
	}
	if name := fileOf(id); name == "." || name == ".." || len(name) > longestName {
		return nil, errNoSnapshot
	}
	s = &snapshot{ID: id, Name: id, Of: "unknown", Made: b.now()}
	if err := b.disk.MkdirAll(path.Join(snapshotDir(id), "data"), 0o755); err != nil {
		return nil, err
	}
	return s, b.writeJSON(path.Join(snapshotDir(id), "snapshot.json"), s)
}

// isOwnSnapshot reports whether the driver has given a snapshot this ID: if the snapshot does not exist any more, it stays so.
func isOwnSnapshot(id string) bool {
	return strings.HasPrefix(id, "snap-") && len(id) == len(snapshotIDOf(""))
}
