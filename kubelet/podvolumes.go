package kubelet

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podVolume is one volume as one pod uses it: the key of both worlds.
type podVolume struct {
	// volume is the unique name: the same for all pods that share a volume.
	volume v1.UniqueVolumeName
	pod    types.UID
}

func comparePodVolumes(a, b podVolume) int {
	if c := strings.Compare(string(a.pod), string(b.pod)); c != 0 {
		return c
	}
	return strings.Compare(string(a.volume), string(b.volume))
}

// podVolumes has something for each volume of each pod. What it is asked for costs
// no more for the other pods of the node.
type podVolumes[T any] struct {
	byPod map[types.UID]map[v1.UniqueVolumeName]T
	users map[v1.UniqueVolumeName]map[types.UID]bool
}

func newPodVolumes[T any]() podVolumes[T] {
	return podVolumes[T]{byPod: map[types.UID]map[v1.UniqueVolumeName]T{}, users: map[v1.UniqueVolumeName]map[types.UID]bool{}}
}

// get is the zero value for what is not there.
func (p podVolumes[T]) get(key podVolume) T { return p.byPod[key.pod][key.volume] }

func (p podVolumes[T]) has(key podVolume) bool {
	_, ok := p.byPod[key.pod][key.volume]
	return ok
}

func (p podVolumes[T]) put(key podVolume, value T) {
	if p.byPod[key.pod] == nil {
		p.byPod[key.pod] = map[v1.UniqueVolumeName]T{}
	}
	p.byPod[key.pod][key.volume] = value
	if p.users[key.volume] == nil {
		p.users[key.volume] = map[types.UID]bool{}
	}
	p.users[key.volume][key.pod] = true
}

func (p podVolumes[T]) remove(key podVolume) {
	if delete(p.byPod[key.pod], key.volume); len(p.byPod[key.pod]) == 0 {
		delete(p.byPod, key.pod)
	}
	if delete(p.users[key.volume], key.pod); len(p.users[key.volume]) == 0 {
		delete(p.users, key.volume)
	}
}

// ofPod are the keys of one pod, sorted.
func (p podVolumes[T]) ofPod(uid types.UID) []podVolume {
	keys := make([]podVolume, 0, len(p.byPod[uid]))
	for name := range p.byPod[uid] {
		keys = append(keys, podVolume{volume: name, pod: uid})
	}
	slices.SortFunc(keys, comparePodVolumes)
	return keys
}

// of are the keys of one volume, sorted.
func (p podVolumes[T]) of(name v1.UniqueVolumeName) []podVolume {
	keys := make([]podVolume, 0, len(p.users[name]))
	for uid := range p.users[name] {
		keys = append(keys, podVolume{volume: name, pod: uid})
	}
	slices.SortFunc(keys, comparePodVolumes)
	return keys
}

// uses says whether any pod has the volume.
func (p podVolumes[T]) uses(name v1.UniqueVolumeName) bool { return len(p.users[name]) > 0 }

// usedElsewhere says whether another pod than this one has the volume.
func (p podVolumes[T]) usedElsewhere(key podVolume) bool {
	users := p.users[key.volume]
	return len(users) > 1 || len(users) == 1 && !users[key.pod]
}
