package storagesim

import (
	"errors"
	"io/fs"
	"syscall"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
)

// isThere says whether a disk has a file, which it has not below a plain one either.
func isThere(disk *disk.Disk, name string) (bool, error) {
	_, err := disk.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
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
			leak := Leak{Kind: LeakPodRemnant, Machine: node.String(), Path: r.Path, Maker: "kubelet/" + node.Name()}
			switch {
			case r.Pod == "":
				leak.Kind = LeakMountRecord
				l.add(leak, "%s on %s, whose mount is gone", r, node.Name())
			case on[r.Pod] != node.Name():
				l.add(leak, "%s on %s, whose pod is gone", r, node.Name())
			}
		}
	}
	return nil
}
