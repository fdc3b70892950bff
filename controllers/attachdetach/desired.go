package attachdetach

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// place is a volume at a node.
type place struct {
	volume v1.UniqueVolumeName
	node   string
}

// volumeToAttach is a volume that pods at a node need.
type volumeToAttach struct {
	place
	pv   *v1.PersistentVolume
	pods map[types.UID]*v1.Pod
	// multiAttachErrorReported: the pods have the event that another node has the volume.
	multiAttachErrorReported bool
	// tried is when it was last begun to attach it here.
	tried time.Time
}

// scheduledPods returns the pods in order of namespace and name.
func (v *volumeToAttach) scheduledPods() []*v1.Pod {
	return slices.SortedFunc(maps.Values(v.pods), func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}

// desiredStateOfWorld holds which volumes are to be attached to which nodes, and the pods that need them.
// Upstream: cache/desired_state_of_world.go desiredStateOfWorld, v1.37.
type desiredStateOfWorld struct {
	// nodes holds the nodes to which this controller attaches volumes.
	nodes map[string]bool
	// volumes is keyed by volume and then by node. None of the maps is empty.
	volumes map[v1.UniqueVolumeName]map[string]*volumeToAttach
	// onNode holds the number of volumes that are to be attached to each node.
	onNode map[string]int
}

func newDesiredStateOfWorld() *desiredStateOfWorld {
	return &desiredStateOfWorld{
		nodes: map[string]bool{}, volumes: map[v1.UniqueVolumeName]map[string]*volumeToAttach{}, onNode: map[string]int{},
	}
}

func (w *desiredStateOfWorld) isEmpty() bool { return len(w.volumes) == 0 }

// get returns nil if no pod at the node needs the volume.
func (w *desiredStateOfWorld) get(at place) *volumeToAttach { return w.volumes[at.volume][at.node] }

// addPod records that a pod needs a volume at a node. It reports whether that is new.
// Upstream: desired_state_of_world.go AddPod, v1.37.
func (w *desiredStateOfWorld) addPod(pod *v1.Pod, pv *v1.PersistentVolume, at place) bool {
	v := w.get(at)
	if v == nil {
		v = &volumeToAttach{place: at, pv: pv, pods: map[types.UID]*v1.Pod{}}
		if w.volumes[at.volume] == nil {
			w.volumes[at.volume] = map[string]*volumeToAttach{}
		}
		w.volumes[at.volume][at.node] = v
		w.onNode[at.node]++
	}
	if v.pods[pod.UID] != nil {
		return false
	}
	v.pods[pod.UID] = pod
	return true
}

// deletePod records that a pod does not need a volume any more. It reports whether that is new.
// Upstream: desired_state_of_world.go DeletePod, v1.37.
func (w *desiredStateOfWorld) deletePod(uid types.UID, at place) bool {
	v := w.get(at)
	if v == nil || v.pods[uid] == nil {
		return false
	}
	delete(v.pods, uid)
	if len(v.pods) > 0 {
		return true
	}
	delete(w.volumes[at.volume], at.node)
	if len(w.volumes[at.volume]) == 0 {
		delete(w.volumes, at.volume)
	}
	if w.onNode[at.node]--; w.onNode[at.node] == 0 {
		delete(w.onNode, at.node)
	}
	return true
}

// deleteNode removes a node, unless volumes are still to be attached to it.
// Upstream: desired_state_of_world.go DeleteNode, v1.37.
func (w *desiredStateOfWorld) deleteNode(name string) {
	if w.onNode[name] == 0 {
		delete(w.nodes, name)
	}
}

// at returns the volume at each node that it is to be attached to, in order of the nodes' names.
func (w *desiredStateOfWorld) at(name v1.UniqueVolumeName) []*volumeToAttach {
	byNode := w.volumes[name]
	list := make([]*volumeToAttach, 0, len(byNode))
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		list = append(list, byNode[node])
	}
	return list
}

// podsOnNodes returns the pods that need a volume at any of the nodes, in order.
// Upstream: desired_state_of_world.go GetVolumePodsOnNodes, v1.37.
func (w *desiredStateOfWorld) podsOnNodes(name v1.UniqueVolumeName, nodes []string) []*v1.Pod {
	var pods []*v1.Pod
	for _, node := range nodes {
		if v := w.get(place{name, node}); v != nil {
			pods = append(pods, v.scheduledPods()...)
		}
	}
	return pods
}
