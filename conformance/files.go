package conformance

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/machine/disk"
)

// look reads the directories that a step looks at from the nodes' disks.
func (r *replay) look(what []string) ([]File, error) {
	places, err := r.places(what)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, place := range places {
		file, err := r.readDir(place[0], place[1])
		if err != nil {
			file = File{Mode: r.uids.hide("nothing: " + err.Error())}
		}
		file.Path = r.uids.hide(place[1])
		files = append(files, file)
	}
	return files, nil
}

// stamp is the name of a directory that a volume of files is written to at once.
var stamp = regexp.MustCompile(`^\.\.\d{4}_.*$`)

func (r *replay) readDir(node, dir string) (File, error) {
	disk, err := r.cluster.Machine("node/" + node).Disk()
	if err != nil {
		return File{}, err
	}
	// A Sub, since the kubelet has its own Dir follow no links where pods have theirs.
	whole, err := disk.Sub("/")
	if err != nil {
		return File{}, err
	}
	defer whole.Close()
	return readDir(whole, dir)
}

// readDir reads a directory, or a file, as the recorder did: links are followed.
func readDir(disk *disk.Disk, dir string) (File, error) {
	info, err := disk.Stat(dir)
	if err != nil {
		return File{}, err
	}
	file := File{Mode: fmt.Sprintf("%o", 0o40000|permissions(info)), Content: Content{}, Modes: map[string]string{}}
	file.UID, file.GID = owner(info)
	if info.Mode().IsRegular() {
		data, err := disk.ReadFile(dir)
		file.Mode, file.Content[""] = fmt.Sprintf("%o", 0o100000|permissions(info)), string(data)
		return file, err
	}
	entries, err := disk.ReadDir(dir)
	if err != nil {
		return File{}, err
	}
	for _, e := range entries {
		file.Entries = append(file.Entries, stamp.ReplaceAllString(e.Name(), "..<stamp>"))
		inner, err := disk.Stat(path.Join(dir, e.Name()))
		if err != nil || !inner.Mode().IsRegular() {
			continue
		}
		data, err := disk.ReadFile(path.Join(dir, e.Name()))
		if err != nil {
			return File{}, err
		}
		uid, gid := owner(inner)
		file.Content[e.Name()] = string(data)
		file.Modes[e.Name()] = fmt.Sprintf("%04o %d:%d", permissions(inner), uid, gid)
	}
	slices.Sort(file.Entries)
	return file, nil
}

// owner returns a file's owner and group. Recordings were made as root, and so are memory
// disks: they have no files of other users.
func owner(info fs.FileInfo) (uid, gid int) {
	uid, gid, _ = disk.Owner(info)
	return uid, gid
}

// permissions returns the low twelve bits of a file's mode.
func permissions(info fs.FileInfo) uint32 {
	bits := uint32(info.Mode().Perm())
	for mode, bit := range map[fs.FileMode]uint32{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if info.Mode()&mode != 0 {
			bits |= bit
		}
	}
	return bits
}

// compareFiles compares what was looked at, in order. What depends on the recorded
// machine and its container runtime is left out on both sides.
func (r *replay) compareFiles(want, got []File) []Difference {
	made, sizes := r.machines()
	return compareFiles(ofNoMachine(want, made, sizes), ofNoMachine(got, made, sizes))
}

// machines finds what pods have of the machine: the paths of hostPath volumes without a
// type, which a real container runtime makes and the fake one of the recordings did not,
// and the names of files with a resource that a container does not limit, which show
// the size of the node.
func (r *replay) machines() (made, sizes []string) {
	for _, obj := range r.cluster.Engine().Server().Objects(false) {
		pod, ok := obj.(*v1.Pod)
		if !ok {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if h := v.HostPath; h != nil && (h.Type == nil || *h.Type == v1.HostPathUnset) {
				made = append(made, r.uids.hide(h.Path))
			}
			for _, item := range downward(v) {
				if item.ResourceFieldRef != nil {
					sizes = append(sizes, item.Path)
				}
			}
		}
	}
	return made, sizes
}

// downward returns the files that a volume has of its pod.
func downward(v v1.Volume) []v1.DownwardAPIVolumeFile {
	var items []v1.DownwardAPIVolumeFile
	if v.DownwardAPI != nil {
		items = v.DownwardAPI.Items
	}
	if v.Projected != nil {
		for _, source := range v.Projected.Sources {
			if source.DownwardAPI != nil {
				items = append(items, source.DownwardAPI.Items...)
			}
		}
	}
	return items
}

// ofNoMachine returns files without the entries of these paths and the content of these names.
func ofNoMachine(files []File, paths, names []string) []File {
	left := make([]File, len(files))
	for i, f := range files {
		f.Entries = slices.DeleteFunc(slices.Clone(f.Entries), func(e string) bool { return slices.Contains(paths, f.Path+"/"+e) })
		f.Content = maps.Clone(f.Content)
		maps.DeleteFunc(f.Content, func(name, _ string) bool { return slices.Contains(names, name) })
		left[i] = f
	}
	return left
}

// compareFiles compares directories.
func compareFiles(want, got []File) []Difference {
	var all []Difference
	for i := range max(len(want), len(got)) {
		var w, g map[string]any
		object := "files"
		if i < len(want) {
			w, object = want[i].fields(), "files "+want[i].Path
		}
		if i < len(got) {
			g = got[i].fields()
		}
		changed := differences(w, g)
		for _, pointer := range sortedKeys(changed) {
			all = append(all, Difference{Object: object + " " + pointer, Wanted: text(lookup(w, pointer)), Got: text(changed[pointer])})
		}
	}
	return all
}

// ofPod is the handle of an inline volume and the name of its attachment, made from its pod's UID.
var ofPod = regexp.MustCompile(`csi-[0-9a-f]{64}`)

// fields returns the file as JSON pointers name it.
func (f File) fields() map[string]any {
	m := map[string]any{"path": f.Path, "mode": f.Mode, "owner": fmt.Sprintf("%d:%d", f.UID, f.GID), "entries": fmt.Sprint(f.Entries)}
	for name, content := range f.Content {
		m["content of "+name] = ofPod.ReplaceAllString(content, "csi-<sha256>")
	}
	for name, mode := range f.Modes {
		m["mode of "+name] = mode
	}
	return m
}
