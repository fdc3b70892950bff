package volumemanager

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podVolume identifies one volume as one pod uses it. It is the key of both states of the world.
type podVolume struct {
	// volume is the unique name, the same for all pods that share the volume.
	volume v1.UniqueVolumeName
	pod    types.UID
}

func comparePodVolumes(a, b podVolume) int {
	if c := strings.Compare(string(a.pod), string(b.pod)); c != 0 {
		return c
	}
	return strings.Compare(string(a.volume), string(b.volume))
}

// podVolumes maps each volume of each pod to a value. The cost of a lookup does not depend on
// how many other pods the node has.
type podVolumes[T any] struct {
	byPod map[types.UID][]volumeOf[T]
	users map[v1.UniqueVolumeName][]types.UID
}

// volumeOf is one entry of a pod's list, which is short.
type volumeOf[T any] struct {
	name  v1.UniqueVolumeName
	value T
}

func newPodVolumes[T any]() podVolumes[T] {
	return podVolumes[T]{byPod: map[types.UID][]volumeOf[T]{}, users: map[v1.UniqueVolumeName][]types.UID{}}
}

// find returns the index of the volume in its pod's list, or -1.
func (p podVolumes[T]) find(key podVolume) int {
	return slices.IndexFunc(p.byPod[key.pod], func(v volumeOf[T]) bool { return v.name == key.volume })
}

// get returns the value of key, or the zero value.
func (p podVolumes[T]) get(key podVolume) T {
	if i := p.find(key); i >= 0 {
		return p.byPod[key.pod][i].value
	}
	var none T
	return none
}

func (p podVolumes[T]) has(key podVolume) bool { return p.find(key) >= 0 }

func (p podVolumes[T]) put(key podVolume, value T) {
	if i := p.find(key); i >= 0 {
		p.byPod[key.pod][i].value = value
		return
	}
	p.byPod[key.pod] = append(p.byPod[key.pod], volumeOf[T]{key.volume, value})
	p.users[key.volume] = append(p.users[key.volume], key.pod)
}

func (p podVolumes[T]) remove(key podVolume) {
	i := p.find(key)
	if i < 0 {
		return
	}
	if p.byPod[key.pod] = slices.Delete(p.byPod[key.pod], i, i+1); len(p.byPod[key.pod]) == 0 {
		delete(p.byPod, key.pod)
	}
	at := slices.Index(p.users[key.volume], key.pod)
	if p.users[key.volume] = slices.Delete(p.users[key.volume], at, at+1); len(p.users[key.volume]) == 0 {
		delete(p.users, key.volume)
	}
}

// ofPod returns the keys of one pod's volumes, sorted.
func (p podVolumes[T]) ofPod(uid types.UID) []podVolume {
	keys := make([]podVolume, 0, len(p.byPod[uid]))
	for _, v := range p.byPod[uid] {
		keys = append(keys, podVolume{volume: v.name, pod: uid})
	}
	slices.SortFunc(keys, comparePodVolumes)
	return keys
}

// of returns the keys of one volume, sorted: one for each pod that has it.
func (p podVolumes[T]) of(name v1.UniqueVolumeName) []podVolume {
	keys := make([]podVolume, 0, len(p.users[name]))
	for _, uid := range p.users[name] {
		keys = append(keys, podVolume{volume: name, pod: uid})
	}
	slices.SortFunc(keys, comparePodVolumes)
	return keys
}

// uses reports whether any pod has the volume.
func (p podVolumes[T]) uses(name v1.UniqueVolumeName) bool { return len(p.users[name]) > 0 }

// usedElsewhere reports whether a pod other than key.pod has the volume.
func (p podVolumes[T]) usedElsewhere(key podVolume) bool {
	users := p.users[key.volume]
	return len(users) > 1 || len(users) == 1 && users[0] != key.pod
}
