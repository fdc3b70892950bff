package volumemanager

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// volumeToMount is a volume that a pod is to have.
//
// Upstream: desired_state_of_world.go, operation_executor.go VolumeToMount, v1.37.
type volumeToMount struct {
	podVolume
	// outerNames are the volume's names in the pod's spec: several if the pod names one claim twice, or two volumes with the same
	// storage behind them. The volume is mounted once, as spec, which is that of the last.
	outerNames []string
	about      *v1.Pod
	spec       *volume.Spec
	plugin     volume.VolumePlugin
	// device is nil unless the volume is mounted for the whole node first.
	device volume.DeviceMountableVolumePlugin
	// block: the pod is to have the raw device.
	block bool
	// attachable: the volume must be attached to the node first.
	attachable bool
	// order counts the volumes in the order in which they were added.
	order int
}

// mounterArgs returns what the pod's security context asks of its volumes.
func (v *volumeToMount) mounterArgs() volume.MounterArgs {
	if sc := v.about.Spec.SecurityContext; sc != nil {
		return volume.MounterArgs{FsGroup: sc.FSGroup, FSGroupChangePolicy: sc.FSGroupChangePolicy}
	}
	return volume.MounterArgs{}
}

func (v *volumeToMount) ref() trace.Ref { return trace.RefOf("Pod", v.about) }

// processedPod records how far the populator has come with one pod.
type processedPod struct {
	// populated: the desired state has all volumes of the pod.
	populated bool
	// errors are the reasons why volumes of the pod could not be processed.
	errors []string
	// retrying: a task processes them again and again.
	retrying bool
	// nextSync is when the pod is synced again, if nothing syncs it before; zero if its volumes do not need that.
	nextSync time.Time
}

// desiredStateOfWorld holds the volumes that are to be mounted, for each pod.
//
// Upstream: desired_state_of_world.go, v1.37.
type desiredStateOfWorld struct {
	volumes podVolumes[*volumeToMount]
	added   int
	pods    map[types.UID]*processedPod
	// unseen holds the pods that the populator has not looked at yet.
	unseen map[types.UID]bool
}

func newDesiredStateOfWorld() *desiredStateOfWorld {
	return &desiredStateOfWorld{volumes: newPodVolumes[*volumeToMount](), pods: map[types.UID]*processedPod{}, unseen: map[types.UID]bool{}}
}

// awaitsSources reports whether a kubelet that found volumes on its disk when it began would not ask for its pods yet.
//
// Upstream: pkg/kubelet/config/apiserver.go NewSourceApiserver, v1.37.2.
func (dsw *desiredStateOfWorld) awaitsSources() bool { return dsw.unseen[""] }

// hasAddedPods reports whether the populator has looked at every pod that the kubelet knows.
// Until then nothing may be unmounted: a mount that belongs to no pod may belong to one that
// the populator has still to look at.
//
// Upstream: desired_state_of_world_populator.go HasAddedPods, v1.37.
func (dsw *desiredStateOfWorld) hasAddedPods() bool { return len(dsw.unseen) == 0 }

// isPopulated reports whether all volumes of the pod were added.
func (dsw *desiredStateOfWorld) isPopulated(uid types.UID) bool {
	p := dsw.pods[uid]
	return p != nil && p.populated
}

// add adds a volume of a pod. If it is there already it gets one more name, and the new spec, which says whether it is read-only.
//
// Upstream: desired_state_of_world.go AddPodToVolume, v1.37.
func (dsw *desiredStateOfWorld) add(v *volumeToMount) {
	if known := dsw.volumes.get(v.podVolume); known != nil {
		for _, name := range v.outerNames {
			if !slices.Contains(known.outerNames, name) {
				known.outerNames = append(known.outerNames, name)
			}
		}
		known.about, known.spec, known.block = v.about, v.spec, v.block
		return
	}
	dsw.added++
	v.order = dsw.added
	dsw.volumes.put(v.podVolume, v)
}

// update sets the pod of its volumes to the latest version, so that they keep no older one
// alive.
func (dsw *desiredStateOfWorld) update(pod *v1.Pod) {
	for _, v := range dsw.volumes.byPod[pod.UID] {
		v.value.about = pod
	}
}

func (dsw *desiredStateOfWorld) get(key podVolume) *volumeToMount { return dsw.volumes.get(key) }

// ofPod returns a pod's volumes in the order in which they were added, that of its spec.
func (dsw *desiredStateOfWorld) ofPod(uid types.UID) []*volumeToMount {
	list := make([]*volumeToMount, 0, len(dsw.volumes.byPod[uid]))
	for _, v := range dsw.volumes.byPod[uid] {
		list = append(list, v.value)
	}
	return list
}

// inOrder sorts volumes by the order in which they were added.
func inOrder(list []*volumeToMount) []*volumeToMount {
	slices.SortFunc(list, func(a, b *volumeToMount) int { return a.order - b.order })
	return list
}

// getUniqueVolumeName returns the unique name of a volume. If pods share one mount of it on
// the node, the name comes from the device or directory behind the volume, else from the pod.
//
// Upstream: pkg/volume/util GetUniqueVolumeNameFromSpec and
// GetUniqueVolumeNameFromSpecWithPod, v1.37.
func getUniqueVolumeName(spec *volume.Spec, plugin volume.VolumePlugin, shared bool, uid types.UID) (v1.UniqueVolumeName, error) {
	if !shared {
		return v1.UniqueVolumeName(plugin.GetPluginName() + "/" + string(uid) + "-" + spec.Name()), nil
	}
	name, err := plugin.GetVolumeName(spec)
	if err != nil {
		return "", err
	}
	return v1.UniqueVolumeName(plugin.GetPluginName() + "/" + name), nil
}
