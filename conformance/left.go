package conformance

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine/disk"
)

// csiDir is the directory of the kubelet in which CSI volumes are staged.
const csiDir = rootDir + "/plugins/kubernetes.io/csi"

// Left lists the remains on nodes and in the storage after a step.
type Left struct {
	// Nodes holds what each node had left, by name. A node with nothing is not there.
	Nodes map[string]OnNode
	// Storage lists the volumes by ID, each with the IDs of the nodes on which it is published.
	Storage map[string][]string
}

// OnNode lists the remains on a node, each list sorted: mount points below the kubelet's directory, pods
// that have a directory, and the directories of staged volumes.
type OnNode struct {
	Mounts  []string `json:"mounts,omitempty"`
	Pods    []string `json:"pods,omitempty"`
	Staging []string `json:"staging directories,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler: beside the nodes' names there is "storage".
func (l *Left) UnmarshalJSON(data []byte) error {
	parts := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for name, part := range parts {
		if name == "storage" {
			if err := strict(part, &l.Storage); err != nil {
				return err
			}
			continue
		}
		on := OnNode{}
		if err := strict(part, &on); err != nil {
			return err
		}
		if l.Nodes == nil {
			l.Nodes = map[string]OnNode{}
		}
		l.Nodes[name] = on
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (l *Left) MarshalJSON() ([]byte, error) {
	parts := map[string]any{}
	for name, on := range l.Nodes {
		parts[name] = on
	}
	if len(l.Storage) > 0 {
		parts["storage"] = l.Storage
	}
	return json.Marshal(parts)
}

// left looks at what there is on the nodes and in the storage.
func (r *replay) left() (*Left, error) {
	found := &Left{Nodes: map[string]OnNode{}, Storage: map[string][]string{}}
	for name, node := range r.disks {
		on, err := r.leftOn(node)
		if err != nil {
			return nil, err
		}
		if len(on.Mounts)+len(on.Pods)+len(on.Staging) > 0 {
			found.Nodes[name] = on
		}
	}
	for _, d := range r.drivers {
		for _, v := range d.volumes { // of two claims with one name, one after the other, the volumes have one name here
			name := r.uids.hide(v.GetVolumeId())
			on := append(slices.Clone(found.Storage[name]), d.publishedOn(v.GetVolumeId())...)
			slices.Sort(on)
			found.Storage[name] = slices.Compact(on)
		}
	}
	return found, nil
}

// leftOn looks at one node. The links to raw devices count as the bind mounts of them that
// the recorded kubelets made.
func (r *replay) leftOn(node *kubelet.Config) (on OnNode, err error) {
	mounts, err := node.Mounter.List()
	if err != nil {
		return on, err
	}
	paths := make([]string, len(mounts))
	for i, m := range mounts {
		paths[i] = m.Path
	}
	return leftOn(r.uids, paths, node.Root), nil
}

// leftOn lists the remains on a disk with these mount points.
func leftOn(uids *uids, mounts []string, root *disk.Disk) (on OnNode) {
	for _, m := range mounts {
		if strings.HasPrefix(m, rootDir+"/") {
			on.Mounts = append(on.Mounts, uids.hide(m))
		}
	}
	names := func(dir string) (list []string) {
		entries, _ := root.ReadDir(dir) // without the directory there is nothing
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	for _, pod := range names(path.Join(rootDir, "pods")) {
		on.Pods = append(on.Pods, uids.hide(pod))
	}
	for _, driver := range names(csiDir) {
		for _, volume := range names(path.Join(csiDir, driver)) {
			on.Staging = append(on.Staging, uids.hide(driver+"/"+volume))
			links := path.Join(csiDir, driver, volume, "dev")
			for _, pod := range names(links) {
				if info, err := root.Lstat(path.Join(links, pod)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
					on.Mounts = append(on.Mounts, uids.hide(path.Join(links, pod)))
				}
			}
		}
	}
	slices.Sort(on.Mounts)
	on.Mounts = slices.Compact(on.Mounts)
	slices.Sort(on.Pods)
	slices.Sort(on.Staging)
	return on
}

// compareLeft compares what was left after a step with what there is. The directories of pods that
// went in this step may be there or not: a real kubelet removes them every 2 s.
func compareLeft(want, got *Left, gone []string) []Difference {
	if want == nil || got == nil {
		return nil // it was not recorded
	}
	var all []Difference
	differ := func(object string, w, g []string) {
		w = slices.Sorted(slices.Values(w))
		if !slices.Equal(w, g) {
			all = append(all, Difference{Object: object, Wanted: listed(w), Got: listed(g)})
		}
	}
	for _, name := range sortedKeys(merged(want.Nodes, got.Nodes)) {
		w, g := want.Nodes[name], got.Nodes[name]
		differ("left on "+name+", mounts", onDisk(w.Mounts), onDisk(g.Mounts))
		differ("left on "+name+", pods", without(w.Pods, gone), without(g.Pods, gone))
		differ("left on "+name+", staging directories", w.Staging, g.Staging)
	}
	for _, id := range sortedKeys(merged(want.Storage, got.Storage)) {
		w, had := want.Storage[id]
		g, has := got.Storage[id]
		switch object := "left in the storage, " + id; {
		case had && !has:
			all = append(all, Difference{Object: object, Wanted: "published on " + listed(w), Got: "no such volume"})
		case has && !had:
			all = append(all, Difference{Object: object, Wanted: "no such volume", Got: "published on " + listed(g)})
		default:
			differ(object+", published on", w, g)
		}
	}
	return all
}

// inMemory are the volumes of a real kubelet that are mounts of a file system in memory, and plain directories here.
var inMemory = regexp.MustCompile(`/volumes/kubernetes\.io~(empty-dir|secret|projected|downward-api)/[^/]+$`)

// onDisk returns mount points without those of file systems in memory.
func onDisk(mounts []string) []string {
	return slices.DeleteFunc(slices.Clone(mounts), inMemory.MatchString)
}

func merged[V any](a, b map[string]V) map[string]bool {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	return keys
}

func listed(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}
