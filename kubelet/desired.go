package kubelet

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// volumeToMount is a volume that a pod is to have.
//
// Upstream: desired_state_of_world.go, operation_executor.go VolumeToMount, v1.36.
type volumeToMount struct {
	podVolume
	// outerName is the volume's name in the pod.
	outerName string
	about     *v1.Pod
	spec      *volume.Spec
	plugin    volume.VolumePlugin
	// device is not nil if the volume is mounted for the node first.
	device volume.DeviceMountableVolumePlugin
	// block says that the pod is to have the raw device.
	block bool
	// attachable says that it must be attached to the node first.
	attachable bool
	// order is when it was added.
	order int
}

func (v *volumeToMount) mounterArgs() volume.MounterArgs {
	if sc := v.about.Spec.SecurityContext; sc != nil {
		return volume.MounterArgs{FsGroup: sc.FSGroup, FSGroupChangePolicy: sc.FSGroupChangePolicy}
	}
	return volume.MounterArgs{}
}

func (v *volumeToMount) ref() trace.Ref { return trace.RefOf("Pod", v.about) }

// desiredStateOfWorld is which volumes are to be mounted for which pods.
//
// Upstream: desired_state_of_world.go, v1.36.
type desiredStateOfWorld struct {
	volumes podVolumes[*volumeToMount]
	added   int
}

func newDesiredStateOfWorld() *desiredStateOfWorld {
	return &desiredStateOfWorld{volumes: newPodVolumes[*volumeToMount]()}
}

// add adds a volume of a pod; one that is there already stays.
func (dsw *desiredStateOfWorld) add(v *volumeToMount) {
	if dsw.volumes.has(v.podVolume) {
		return
	}
	dsw.added++
	v.order = dsw.added
	dsw.volumes.put(v.podVolume, v)
}

// update has the volumes of a pod know it as it is now, so that no earlier version of it is
// kept for them.
func (dsw *desiredStateOfWorld) update(pod *v1.Pod) {
	for _, v := range dsw.volumes.byPod[pod.UID] {
		v.value.about = pod
	}
}

func (dsw *desiredStateOfWorld) get(key podVolume) *volumeToMount { return dsw.volumes.get(key) }

// deletePod takes all volumes of a pod away.
func (dsw *desiredStateOfWorld) deletePod(uid types.UID) {
	for _, key := range dsw.volumes.ofPod(uid) {
		dsw.volumes.remove(key)
	}
}

// ofPod is what is desired for one pod, in the order of its volumes.
func (dsw *desiredStateOfWorld) ofPod(uid types.UID) []*volumeToMount {
	list := make([]*volumeToMount, 0, len(dsw.volumes.byPod[uid]))
	for _, v := range dsw.volumes.byPod[uid] {
		list = append(list, v.value)
	}
	return inOrder(list)
}

func inOrder(list []*volumeToMount) []*volumeToMount {
	slices.SortFunc(list, func(a, b *volumeToMount) int { return a.order - b.order })
	return list
}

// getUniqueVolumeName names a volume by what is behind it if pods share a mount
// of it on the node, else by pod.
//
// Upstream: pkg/volume/util GetUniqueVolumeNameFromSpec and
// GetUniqueVolumeNameFromSpecWithPod, v1.36.
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
