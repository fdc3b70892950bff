package kubelet

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/volume"
)

// podVolume is one volume as one pod uses it: the key of both worlds.
type podVolume struct {
	// volume is the unique name: the same for all pods that share a volume.
	volume v1.UniqueVolumeName
	pod    types.UID
}

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
	// order is when it was added.
	order int
}

func (v *volumeToMount) mounterArgs() volume.MounterArgs {
	if sc := v.about.Spec.SecurityContext; sc != nil {
		return volume.MounterArgs{FsGroup: sc.FSGroup, FSGroupChangePolicy: sc.FSGroupChangePolicy}
	}
	return volume.MounterArgs{}
}

func (v *volumeToMount) ref() control.Ref { return control.RefOf("Pod", v.about) }

// desiredStateOfWorld is which volumes are to be mounted for which pods.
type desiredStateOfWorld struct {
	volumes map[podVolume]*volumeToMount
	added   int
}

func newDesiredStateOfWorld() *desiredStateOfWorld {
	return &desiredStateOfWorld{volumes: map[podVolume]*volumeToMount{}}
}

// add adds a volume of a pod; one that is there already stays.
func (dsw *desiredStateOfWorld) add(v *volumeToMount) {
	if _, exists := dsw.volumes[v.podVolume]; exists {
		return
	}
	dsw.added++
	v.order = dsw.added
	dsw.volumes[v.podVolume] = v
}

func (dsw *desiredStateOfWorld) get(key podVolume) *volumeToMount { return dsw.volumes[key] }

// deletePod takes all volumes of a pod away.
func (dsw *desiredStateOfWorld) deletePod(uid types.UID) {
	for key := range dsw.volumes {
		if key.pod == uid {
			delete(dsw.volumes, key)
		}
	}
}

// has says whether any pod is to have the volume.
func (dsw *desiredStateOfWorld) has(name v1.UniqueVolumeName) bool {
	for key := range dsw.volumes {
		if key.volume == name {
			return true
		}
	}
	return false
}

// list is everything desired, in the order it was added.
func (dsw *desiredStateOfWorld) list() []*volumeToMount {
	list := make([]*volumeToMount, 0, len(dsw.volumes))
	for _, v := range dsw.volumes {
		list = append(list, v)
	}
	return inOrder(list)
}

// ofPod is what is desired for one pod, in the order of its volumes.
func (dsw *desiredStateOfWorld) ofPod(uid types.UID) []*volumeToMount {
	var list []*volumeToMount
	for key, v := range dsw.volumes {
		if key.pod == uid {
			list = append(list, v)
		}
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
