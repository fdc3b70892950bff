package attachdetach

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// attachState is the state of a volume at a node.
type attachState int

const (
	detached attachState = iota
	// uncertain: it may be attached. An operation has failed, or was running when the controller ended.
	uncertain
	attached
)

// attachedVolume is a volume that is, or may be, attached to a node.
type attachedVolume struct {
	place
	state attachState
	// detachRequested is the time at which the controller first found that no pod needs it; zero if a pod needs it.
	detachRequested time.Time
}

// names is a set of volumes.
type names map[v1.UniqueVolumeName]bool

// actualStateOfWorld holds which volumes are attached to which nodes.
// Upstream: cache/actual_state_of_world.go actualStateOfWorld, v1.37.
type actualStateOfWorld struct {
	// volumes is keyed by volume and then by node. None of the maps is empty.
	volumes map[v1.UniqueVolumeName]map[string]*attachedVolume
	// pvs holds the PersistentVolumes of the volumes. A volume that only a node's status names has none.
	pvs map[v1.UniqueVolumeName]*v1.PersistentVolume
	// onNode holds the volumes of each node.
	onNode map[string]names
	// inUse holds, for each node, the volumes that its kubelet has mounted or is about to mount.
	inUse map[string]names
	// reports holds, for each node, the volumes to list as attached in its status. due holds the nodes whose status
	// must be written.
	reports map[string]names
	due     map[string]bool
}

func newActualStateOfWorld() *actualStateOfWorld {
	return &actualStateOfWorld{
		volumes: map[v1.UniqueVolumeName]map[string]*attachedVolume{}, pvs: map[v1.UniqueVolumeName]*v1.PersistentVolume{},
		onNode: map[string]names{}, inUse: map[string]names{}, reports: map[string]names{}, due: map[string]bool{},
	}
}

func (w *actualStateOfWorld) isEmpty() bool { return len(w.volumes) == 0 }

func (w *actualStateOfWorld) get(at place) *attachedVolume { return w.volumes[at.volume][at.node] }

// state returns the state of a volume at a node.
// Upstream: actual_state_of_world.go GetAttachState, v1.37.
func (w *actualStateOfWorld) state(at place) attachState {
	if v := w.get(at); v != nil {
		return v.state
	}
	return detached
}

// set records that a volume is, or may be, attached to a node. A new one counts as in use until the node says
// otherwise.
// Upstream: actual_state_of_world.go AddVolumeNode, v1.37.
func (w *actualStateOfWorld) set(at place, pv *v1.PersistentVolume, state attachState) {
	v := w.get(at)
	if v == nil {
		v = &attachedVolume{place: at}
		if w.volumes[at.volume] == nil {
			w.volumes[at.volume] = map[string]*attachedVolume{}
		}
		w.volumes[at.volume][at.node] = v
		put(w.onNode, at)
		put(w.inUse, at)
	}
	w.pvs[at.volume], v.state = pv, state
	if state == attached {
		w.report(at)
	}
}

// remove records that a volume is detached from a node.
// Upstream: actual_state_of_world.go DeleteVolumeNode, v1.37.
func (w *actualStateOfWorld) remove(at place) {
	delete(w.volumes[at.volume], at.node)
	if len(w.volumes[at.volume]) == 0 {
		delete(w.volumes, at.volume)
		delete(w.pvs, at.volume)
	}
	if delete(w.onNode[at.node], at.volume); len(w.onNode[at.node]) == 0 {
		delete(w.onNode, at.node)
	}
	w.unreport(at)
}

func put(sets map[string]names, at place) {
	if sets[at.node] == nil {
		sets[at.node] = names{}
	}
	sets[at.node][at.volume] = true
}

// setInUse records which volumes a node's status lists as in use. It returns the volumes for which this is new.
// Upstream: actual_state_of_world.go SetVolumesMountedByNode, v1.37.
func (w *actualStateOfWorld) setInUse(node string, list []v1.UniqueVolumeName) (changed []v1.UniqueVolumeName) {
	old := w.inUse[node]
	if len(list) == 0 {
		delete(w.inUse, node)
		return slices.Sorted(maps.Keys(old))
	}
	set := make(names, len(list))
	for _, name := range list {
		set[name] = true
		if !old[name] {
			changed = append(changed, name)
		}
	}
	for name := range old {
		if !set[name] {
			changed = append(changed, name)
		}
	}
	w.inUse[node] = set
	slices.Sort(changed)
	return changed
}

// report adds a volume to those that its node's status lists as attached, unless it was detached meanwhile.
// Upstream: actual_state_of_world.go addVolumeToReportAsAttached, v1.37.
func (w *actualStateOfWorld) report(at place) {
	if w.get(at) == nil || w.reports[at.node][at.volume] {
		return
	}
	put(w.reports, at)
	w.due[at.node] = true
}

// unreport removes a volume from those that its node's status lists as attached.
// Upstream: actual_state_of_world.go removeVolumeFromReportAsAttached, v1.37.
func (w *actualStateOfWorld) unreport(at place) {
	if w.reports[at.node][at.volume] {
		delete(w.reports[at.node], at.volume)
		w.due[at.node] = true
	}
}

// at returns the attachments of a volume, also uncertain ones, in order of the nodes' names.
func (w *actualStateOfWorld) at(name v1.UniqueVolumeName) []*attachedVolume {
	byNode := w.volumes[name]
	list := make([]*attachedVolume, 0, len(byNode))
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		list = append(list, byNode[node])
	}
	return list
}

// nodesOf returns the nodes that a volume is attached to for certain, in order.
// Upstream: actual_state_of_world.go GetNodesForAttachedVolume, v1.37.
func (w *actualStateOfWorld) nodesOf(name v1.UniqueVolumeName) []string {
	var nodes []string
	for _, v := range w.at(name) {
		if v.state == attached {
			nodes = append(nodes, v.node)
		}
	}
	return nodes
}

// volumesOn returns the volumes of a node, in order.
func (w *actualStateOfWorld) volumesOn(node string) []v1.UniqueVolumeName {
	return slices.Sorted(maps.Keys(w.onNode[node]))
}
