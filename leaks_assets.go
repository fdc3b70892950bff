package storagesim

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

// place is a path on a machine: "node/NAME", "nfs/NAME", or "" for a path on whatever node.
type place struct{ machine, path string }

// asset is a directory that was made: by which provisioner, known from which entry of the
// trace, and texts in which the volume's name may be.
type asset struct {
	place
	maker string
	entry int
	names []string
}

// assets is what the trace says of directories that were made for volumes.
type assets struct {
	made []asset
	// gone were removed, or are to stay for good.
	gone map[place]bool
	// bases are the directories in which provisioners make volumes, with one that does, ""
	// if that is not known: the parents of what was made and of provisioned volumes, and
	// what NFS servers export.
	bases map[place]string
}

// readAssets reads what provisioners and their helper pods reported.
func (l *leakFinder) readAssets() *assets {
	all := &assets{gone: map[place]bool{}, bases: map[place]string{}}
	for _, server := range l.nfs.Servers() {
		for _, export := range server.Exports() {
			all.bases[place{"nfs/" + server.Name(), path.Clean(export)}] = ""
		}
	}
	for i, entry := range l.engine.Trace().Entries() {
		switch r := entry.Record.(type) {
		case trace.Asset:
			at, maker := place{r.Machine, path.Clean(r.Path)}, cmp.Or(l.makers[r.About], entry.Actor)
			all.gone[at] = r.Op != trace.Made
			if r.Op == trace.Made && l.isProvisioner(maker) {
				all.made = append(all.made, asset{at, maker, i, []string{r.Volume, r.About.Name, at.path}})
				all.bases[place{at.machine, path.Dir(at.path)}] = maker
			}
		case trace.Write:
			pv, ok := r.New.(*v1.PersistentVolume)
			if !ok || r.Old != nil || !l.isProvisioner(entry.Actor) {
				continue
			}
			if at, ok := placeOf(pv); ok {
				all.bases[place{at.machine, path.Dir(at.path)}] = entry.Actor
			}
		}
	}
	return all
}

// directories finds what was made for volumes on nodes and NFS servers and no volume uses.
func (l *leakFinder) directories() error {
	all := l.readAssets()
	for _, a := range all.made {
		if all.gone[a.place] {
			continue
		}
		all.gone[a.place] = true // it is reported once
		if err := l.directory(a); err != nil {
			return err
		}
	}
	if l.engine.Trace().Dropped() > 0 {
		return nil // what is to stay is not known any more
	}
	return l.unreported(all)
}

// unreported finds directories that nobody reported, since the process that made them
// ended before it could: in the directories in which volumes are made, what has the name
// of a volume of the library.
func (l *leakFinder) unreported(all *assets) error {
	for _, base := range slices.SortedFunc(maps.Keys(all.bases), comparePlaces) {
		machines := []string{base.machine}
		if base.machine == "" {
			machines = nil
			for _, node := range l.machines.Of(machine.Node) {
				machines = append(machines, node.String())
			}
		}
		for _, on := range machines {
			for _, name := range l.volumesIn(place{on, base.path}) {
				a := asset{place{on, path.Join(base.path, name)}, all.bases[base], 0, []string{name}}
				if _, known := all.gone[a.place]; known || l.volumeMaker(volumeName.FindString(name)) != "" {
					continue // of a volume that was saved the provisioner knows; others, too, make its directory
				}
				all.gone[a.place] = true
				if err := l.directory(a); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.machine, b.machine), cmp.Compare(a.path, b.path))
}

// volumesIn are the directories in a directory that have a volume's name; those of an NFS
// server's archive are no volumes any more.
func (l *leakFinder) volumesIn(at place) (names []string) {
	m, err := l.machines.Find(at.machine)
	if err != nil {
		return nil // nor is there such a machine
	}
	all, _ := m.Disk().List(at.path) // one that is not there any more has none
	for _, name := range all {
		dir, ok := strings.CutSuffix(name, "/")
		if ok && volumeName.MatchString(dir) && !strings.HasPrefix(dir, nfsprovisioner.ArchivePrefix) {
			names = append(names, dir)
		}
	}
	return names
}

// directory adds a directory if it is there and no volume uses it.
func (l *leakFinder) directory(a asset) error {
	m, err := l.machines.Find(a.machine)
	if err != nil || l.uses(a.place) {
		return nil //nolint:nilerr // a machine that is not there has no directories
	}
	there, err := isThere(m.Disk(), a.path)
	if err != nil {
		return fmt.Errorf("%s %s: %w", m.Kind(), m.Name(), err)
	}
	on := m.Name()
	if m.Kind() != machine.Node {
		on = m.Kind().String() + " " + on
	}
	if there {
		l.add(Leak{
			Kind: LeakDirectory, Machine: a.machine, Path: a.path, Volume: volumeName.FindString(strings.Join(a.names, " ")),
			Provisioner: a.maker, Maker: a.maker, Known: l.known(a.maker, a.entry, a.names...),
		}, "directory %s on %s, which no volume uses", a.path, on)
	}
	return nil
}

// uses says whether a volume that the node can reach, or that is on the NFS server, has
// that directory.
func (l *leakFinder) uses(at place) bool {
	node, isNode := strings.CutPrefix(at.machine, "node/")
	if !isNode {
		return len(l.volumesAt[at]) > 0
	}
	return slices.ContainsFunc(l.volumesAt[place{"", at.path}], func(pv *v1.PersistentVolume) bool {
		object := l.nodes[node] // nil when it was deleted: its labels are not known
		return object == nil || binding.CheckNodeAffinity(pv, object.Labels) == nil
	})
}

// placeOf is the directory that a volume is, on its NFS server or on whatever node; false
// if it is none.
func placeOf(pv *v1.PersistentVolume) (place, bool) {
	switch source := pv.Spec; {
	case source.NFS != nil:
		return place{"nfs/" + source.NFS.Server, path.Clean(source.NFS.Path)}, true
	case source.Local != nil:
		return place{"", path.Clean(source.Local.Path)}, true
	case source.HostPath != nil:
		return place{"", path.Clean(source.HostPath.Path)}, true
	}
	return place{}, false
}
