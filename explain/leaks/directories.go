package leaks

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/machine"
	nfsprovisioner "github.com/storagesim/storagesim/provisioner/nfs"
	"github.com/storagesim/storagesim/trace"
)

// location is a path on a machine: "node/NAME", "nfs/NAME", or "" for a path that any node may
// have.
type location struct{ machine, path string }

// asset is a directory that was made for a volume.
type asset struct {
	location
	maker string   // the provisioner that made it
	entry int      // the number of the trace's entry that says so
	names []string // texts that may contain the volume's name
}

// assets are the directories that were made for volumes, as the trace tells.
type assets struct {
	made []asset
	// gone are the directories that were removed, or are meant to stay for good.
	gone map[location]bool
	// bases are the directories in which provisioners make volumes, each with one of these
	// provisioners, or "": the parents of what was made and of provisioned volumes, and the
	// exports of NFS servers.
	bases map[location]string
}

// readAssets reads from the trace what provisioners and their helper pods reported.
func (l *finder) readAssets() *assets {
	all := &assets{gone: map[location]bool{}, bases: map[location]string{}}
	for server, exports := range l.view.Exports {
		for _, export := range exports {
			all.bases[location{server, path.Clean(export)}] = ""
		}
	}
	for i, entry := range l.view.Log.Entries() {
		switch r := entry.Record.(type) {
		case trace.Asset:
			at, maker := location{r.Machine, path.Clean(r.Path)}, cmp.Or(l.makers[r.About], entry.Actor)
			all.gone[at] = r.Op != trace.Made
			if r.Op == trace.Made && l.isProvisioner(maker) {
				all.made = append(all.made, asset{at, maker, i, []string{r.Volume, r.About.Name, at.path}})
				all.bases[location{at.machine, path.Dir(at.path)}] = maker
			}
		case trace.Write:
			pv, ok := r.New.(*v1.PersistentVolume)
			if !ok || r.Old != nil || !l.isProvisioner(entry.Actor) {
				continue
			}
			if at, ok := locationOf(pv); ok {
				all.bases[location{at.machine, path.Dir(at.path)}] = entry.Actor
			}
		}
	}
	return all
}

// directories finds directories on nodes and NFS servers that were made for volumes and that
// no volume uses.
func (l *finder) directories() error {
	all := l.readAssets()
	for _, a := range all.made {
		if all.gone[a.location] {
			continue
		}
		all.gone[a.location] = true // it is reported once
		if err := l.directory(a); err != nil {
			return err
		}
	}
	if l.view.Log.Dropped() > 0 {
		return nil // the trace no longer knows which directories are meant to stay
	}
	return l.unreported(all)
}

// unreported finds directories whose maker's process ended before it could report them: it
// searches the directories in which volumes are made for names that the library gives to
// volumes.
func (l *finder) unreported(all *assets) error {
	for _, base := range slices.SortedFunc(maps.Keys(all.bases), compareLocations) {
		machines := []string{base.machine}
		if base.machine == "" {
			machines = nil
			for _, node := range l.view.Machines.Of(machine.Node) {
				machines = append(machines, node.String())
			}
		}
		for _, on := range machines {
			for _, name := range l.volumesIn(location{on, base.path}) {
				a := asset{location{on, path.Join(base.path, name)}, all.bases[base], 0, []string{name}}
				if _, known := all.gone[a.location]; known || l.volumeMaker(volumeName.FindString(name)) != "" {
					continue // its PersistentVolume was saved, so the provisioner knows of it
				}
				all.gone[a.location] = true
				if err := l.directory(a); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func compareLocations(a, b location) int {
	return cmp.Or(cmp.Compare(a.machine, b.machine), cmp.Compare(a.path, b.path))
}

// volumesIn returns the directories in a directory that have a volume's name, without those
// that an NFS provisioner has archived.
func (l *finder) volumesIn(at location) (names []string) {
	m, err := l.view.Machines.Find(at.machine)
	if err != nil {
		return nil // no machine, no directories
	}
	all, _ := m.Disk().List(at.path) // empty if the directory is gone
	for _, name := range all {
		dir, ok := strings.CutSuffix(name, "/")
		if ok && volumeName.MatchString(dir) && !strings.HasPrefix(dir, nfsprovisioner.ArchivePrefix) {
			names = append(names, dir)
		}
	}
	return names
}

// directory adds a directory if it is there and no volume uses it.
func (l *finder) directory(a asset) error {
	m, err := l.view.Machines.Find(a.machine)
	if err != nil || l.uses(a.location) {
		return nil //nolint:nilerr // a machine that is not there has no directories
	}
	there, err := m.Disk().Exists(a.path)
	if err != nil {
		return fmt.Errorf("%s %s: %w", m.Kind(), m.Name(), err)
	}
	on := m.Name()
	if m.Kind() != machine.Node {
		on = m.Kind().String() + " " + on
	}
	if there {
		l.add(Leak{
			Kind: Directory, Machine: a.machine, Path: a.path, Volume: volumeName.FindString(strings.Join(a.names, " ")),
			Provisioner: a.maker, Maker: a.maker, Known: l.known(a.maker, a.entry, a.names...),
		}, "directory %s on %s, which no volume uses", a.path, on)
	}
	return nil
}

// uses reports whether the directory is a volume's: one that the node can reach, or one on
// the NFS server.
func (l *finder) uses(at location) bool {
	node, isNode := strings.CutPrefix(at.machine, "node/")
	if !isNode {
		return len(l.volumesAt[at]) > 0
	}
	return slices.ContainsFunc(l.volumesAt[location{"", at.path}], func(pv *v1.PersistentVolume) bool {
		object := l.nodes[node] // nil if the node was deleted: its labels are unknown then
		return object == nil || binding.CheckNodeAffinity(pv, object.Labels) == nil
	})
}

// locationOf returns the directory of a volume, on its NFS server or on any node; false if
// the volume is not a directory.
func locationOf(pv *v1.PersistentVolume) (location, bool) {
	switch source := pv.Spec; {
	case source.NFS != nil:
		return location{"nfs/" + source.NFS.Server, path.Clean(source.NFS.Path)}, true
	case source.Local != nil:
		return location{"", path.Clean(source.Local.Path)}, true
	case source.HostPath != nil:
		return location{"", path.Clean(source.HostPath.Path)}, true
	}
	return location{}, false
}
