package storagesim

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"syscall"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
)

// directories finds what helper pods made on nodes and no volume uses.
func (l *leakFinder) directories() error {
	type place struct{ node, dir string }
	seen := map[place]bool{}
	for i, entry := range l.engine.Trace().Entries() {
		command, ok := entry.Record.(trace.Command)
		maker, root := l.makers[command.About], l.machines.Disk(machine.Node, command.Node)
		if !ok || root == nil || !l.isProvisioner(maker) || len(command.Argv) == 0 || command.Argv[0] != "mkdir" {
			continue
		}
		for _, dir := range command.Paths {
			at := place{command.Node, path.Clean(dir)}
			if seen[at] || l.uses(at.node, at.dir) {
				continue
			}
			seen[at] = true
			there, err := isThere(root, at.dir)
			if err != nil {
				return fmt.Errorf("node %s: %w", at.node, err)
			}
			if there {
				l.add(maker, "directory %s on %s, which no volume uses", at.dir, at.node)
				l.leaks[len(l.leaks)-1].Known = l.known(maker, i, command.About.Name, at.dir)
			}
		}
	}
	return nil
}

// isThere says whether a disk has a file, which it has not below a plain one either.
func isThere(disk *disk.Disk, name string) (bool, error) {
	_, err := disk.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}

// uses says whether a volume that the node can reach has that directory.
func (l *leakFinder) uses(node, dir string) bool {
	return slices.ContainsFunc(l.volumeList, func(pv v1.PersistentVolume) bool {
		switch {
		case pv.Spec.Local != nil && path.Clean(pv.Spec.Local.Path) == dir:
		case pv.Spec.HostPath != nil && path.Clean(pv.Spec.HostPath.Path) == dir:
		default:
			return false
		}
		object := l.nodes[node] // nil when it was deleted: its labels are not known
		return object == nil || binding.CheckNodeAffinity(&pv, object.Labels) == nil
	})
}

// pods finds what nodes have of pods that are not there any more.
func (l *leakFinder) pods() error {
	on := map[types.UID]string{} // the node of each pod
	for _, pod := range l.podList {
		on[pod.UID] = pod.Spec.NodeName
	}
	for _, node := range l.machines.Of(machine.Node) {
		remnants, err := kubelet.Remnants(node.Disk(), l.containers[node.Name()])
		if err != nil {
			return err
		}
		for _, r := range remnants {
			switch {
			case r.Pod == "":
				l.add("kubelet/"+node.Name(), "%s on %s, whose mount is gone", r.What, node.Name())
			case on[r.Pod] != node.Name():
				l.add("kubelet/"+node.Name(), "%s on %s, whose pod is gone", r.What, node.Name())
			}
		}
	}
	return nil
}
