package driver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/machine/disk"
)

// volumesDir is the directory of the volumes in the backend's root.
const volumesDir = "/volumes"

// Backend is the storage of one driver.
type Backend struct {
	cfg Config
	// requests is held during each request: in live runs they come at the same time.
	requests sync.Mutex
	disk     *disk.Disk // of the driver's machine
	root     string     // directory of the storage on the disk; "" for all of it
	now      func() time.Time
	// used holds the bytes of all volumes, by the node that has them (volume.Node). Reading all files at each
	// CreateVolume would take longer with each volume, so the sums are kept while the server lives.
	used map[string]int64
	// nodes holds the IDs of the nodes that the driver runs on.
	nodes map[string]bool
	// disks holds the disks of these nodes since the server of each has started.
	disks map[string]*disk.Disk
	// devices holds the checksum of each node's copy of a device, of when it was last the same as the volume.
	devices map[onNode][sha256.Size]byte
	// mu guards staged and published, which Holdings reads also during a request.
	mu sync.Mutex
	// staged and published hold the mounts of the nodes' servers, for Holdings. A server that starts again finds its
	// own in the node's mount table.
	staged, published map[csi.Place]bool
}

var _ csi.Inventory = (*Backend)(nil)

// volume is the backend's record of one volume.
type volume struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Size  int64  `json:"size"`
	Block bool   `json:"block,omitempty"`
	// Foreign is a volume that the driver has not created (Config.AnyVolume), and Inline one that lives while a pod has it.
	Foreign bool `json:"foreign,omitempty"`
	Inline  bool `json:"inline,omitempty"`
	// Node is the only node that can use it, "" if all can.
	Node string `json:"node,omitempty"`
	// IOPS is the parameter of its VolumeAttributesClass; "" if it has none.
	IOPS string `json:"iops,omitempty"`
	// From is the content that it was created with.
	From content `json:"from,omitzero"`
	// Attached holds the nodes that it is attached to.
	Attached map[string]attachment `json:"attached,omitempty"`
}

type attachment struct {
	ReadOnly bool `json:"readOnly,omitempty"`
	// Alone is set if no other node may have the volume.
	Alone bool `json:"alone,omitempty"`
}

// idOf returns the ID of the volume with a name.
func idOf(name string) string {
	return fmt.Sprintf("%s%x", ownPrefix, sha256.Sum256([]byte(name)))[:ownLength]
}

func (b *Backend) dir(id string) string { return path.Join(b.root, volumesDir, fileOf(id)) }

// fileOf returns the name of the files of a volume. It is the ID where that can be a file's name: with Config.AnyVolume it can be
// anything, such as "server/export".
func fileOf(id string) string { return url.PathEscape(id) }

// idOfFile returns the ID of the volume whose files have this name.
func idOfFile(name string) string {
	id, err := url.PathUnescape(name)
	if err != nil {
		return name
	}
	return id
}

// load reads a volume. It returns errNoVolume if there is none.
func (b *Backend) load(id string) (*volume, error) {
	v := &volume{}
	err := b.readJSON(fileOf(id), path.Join(b.dir(id), "volume.json"), v, errNoVolume)
	if v.Attached == nil {
		v.Attached = map[string]attachment{}
	}
	return v, err
}

// readJSON reads a file of the object with this ID into a value. It returns missing if there is no such file.
func (b *Backend) readJSON(id, file string, value any, missing error) error {
	if b.disk == nil || id == "" || path.Base(id) != id || id == ".." {
		return missing
	}
	data, err := b.disk.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return missing
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, value)
}

// save writes a volume.
func (b *Backend) save(v *volume) error {
	return b.writeJSON(path.Join(b.dir(v.ID), "volume.json"), v)
}

// writeJSON writes a file atomically.
func (b *Backend) writeJSON(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := b.disk.WriteFile(name+".new", data, 0o644); err != nil {
		return err
	}
	return b.disk.Rename(name+".new", name)
}

// volumes returns all volumes, by ID.
func (b *Backend) volumes() ([]*volume, error) {
	names, err := b.disk.List(b.dir(""))
	if err != nil {
		return nil, err
	}
	var all []*volume
	for _, name := range names {
		v, err := b.load(idOfFile(path.Clean(name)))
		if errors.Is(err, errNoVolume) {
			continue // incomplete: the crash was before volume.json
		}
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// free returns the bytes left for new volumes of a node; "" is all nodes.
func (b *Backend) free(node string) int64 { return max(b.cfg.Capacity-b.used[node], 0) }

// start prepares a controller that starts, and finds the existing volumes.
func (b *Backend) start(d *disk.Disk) error {
	b.disk, b.used = d, map[string]int64{}
	if err := d.MkdirAll(b.dir(""), 0o755); err != nil {
		return err
	}
	all, err := b.volumes()
	for _, v := range all {
		b.used[v.Node] += v.Size
	}
	return err
}

// open returns the disk behind a source that a node mounts: "NAME:ID".
func (b *Backend) open(source string) (*disk.Disk, error) {
	prefix := b.cfg.Name + ":"
	if len(source) <= len(prefix) || source[:len(prefix)] != prefix {
		return nil, fmt.Errorf("mount: special device %s does not exist", source)
	}
	v, err := b.load(source[len(prefix):])
	if err != nil {
		return nil, fmt.Errorf("mount: special device %s: %w", source, err)
	}
	return b.disk.Sub(path.Join(b.dir(v.ID), "data"))
}

// Holdings implements csi.Inventory.
func (b *Backend) Holdings() csi.Holdings {
	var held csi.Holdings
	if b.cfg.AnyVolume {
		held.Others = func(id string) bool { return !b.isOwn(id) }
	}
	if b.disk == nil {
		return held
	}
	all, err := b.volumes()
	if err != nil {
		return held
	}
	for _, v := range all {
		if !v.Foreign {
			held.Volumes = append(held.Volumes, v.ID)
		}
		for _, node := range slices.Sorted(maps.Keys(v.Attached)) {
			held.Attached = append(held.Attached, csi.Place{Volume: v.ID, Node: node})
		}
	}
	if snapshots, err := b.snapshots(); err == nil {
		for _, s := range snapshots {
			held.Snapshots = append(held.Snapshots, s.ID)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	held.Staged = slices.SortedFunc(maps.Keys(b.staged), csi.Place.Compare)
	held.Published = slices.SortedFunc(maps.Keys(b.published), csi.Place.Compare)
	return held
}

// oneAtATime handles a request when no other is being handled.
func (b *Backend) oneAtATime(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	b.requests.Lock()
	defer b.requests.Unlock()
	return handle(ctx, req)
}

// note adds a place to a set, or removes it.
func (b *Backend) note(set map[csi.Place]bool, p csi.Place, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if is {
		set[p] = true
	} else {
		delete(set, p)
	}
}
