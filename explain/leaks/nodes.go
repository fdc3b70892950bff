package leaks

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine"
)

// pods finds directories, mounts and container records of pods that are gone.
func (l *finder) pods() error {
	on := map[types.UID]string{} // each pod's node
	for _, pod := range l.podList {
		on[pod.UID] = pod.Spec.NodeName
	}
	for _, node := range l.view.Machines.Of(machine.Node) {
		leftovers, err := kubelet.Leftovers(node.Disk(), l.view.Containers[node.Name()])
		if err != nil {
			return err
		}
		for _, r := range leftovers {
			leak := Leak{Kind: PodState, Machine: node.String(), Path: r.Path, Maker: "kubelet/" + node.Name()}
			switch {
			case r.Pod == "":
				leak.Kind = MountRecord
				l.add(leak, "%s on %s, whose mount is gone", r, node.Name())
			case on[r.Pod] != node.Name():
				l.add(leak, "%s on %s, whose pod is gone", r, node.Name())
			}
		}
	}
	return nil
}
