package volumemanager

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

// Each name of a mounted directory or device is told, with its claim. Of what may not be mounted, and of what cannot tell nothing is told.
func TestHowFullIsToldOfEachNameOfAMountedVolume(t *testing.T) {
	r, p := newFakeRig(t, nil, nil)
	p.metrics = &volume.Metrics{Used: resource.NewQuantity(7, resource.BinarySI)}
	r.Settle()
	pod := podOf("pod-1", false)
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		v1.Volume{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}, v1.Volume{Name: "plain"})
	told := func(metrics volume.Metrics) []VolumeStats {
		return []VolumeStats{{"data", "data", metrics}, {"scratch", "web-scratch", metrics}, {"plain", "", metrics}}
	}
	for name, c := range map[string]struct {
		actual *mountedVolume
		fails  error
		in     string
		want   []VolumeStats
		noted  []string
	}{
		"nothing":            {nil, nil, "", nil, nil},
		"mounted":            {&mountedVolume{state: stateMounted}, nil, "", told(*p.metrics), nil},
		"uncertain":          {&mountedVolume{state: stateUncertain}, nil, "", nil, nil},
		"a device":           {&mountedVolume{state: stateMounted, block: true}, nil, "", told(*p.metrics), nil},
		"no mounter":         {&mountedVolume{state: stateMounted}, errFake, "NewMounter", nil, nil},
		"no unmapper":        {&mountedVolume{state: stateMounted, block: true}, errFake, "NewBlockVolumeUnmapper", nil, nil},
		"it cannot now":      {&mountedVolume{state: stateMounted}, errFake, "GetMetrics", nil, []string{"how full volume data is cannot be told: broken"}},
		"it does not answer": {&mountedVolume{state: stateMounted}, disk.ErrSilent, "GetMetrics", nil, nil},
	} {
		p.fails = map[string]error{c.in: c.fails}
		r.vm.desired, r.vm.actual = newDesiredStateOfWorld(), newActualStateOfWorld()
		r.vm.desired.add(&volumeToMount{podVolume: fakeKey, outerNames: []string{"data", "scratch", "plain"}})
		if c.actual != nil {
			c.actual.plugin, c.actual.spec = p, fakeSpec("pv-data")
			r.vm.actual.volumes.put(fakeKey, c.actual)
		}
		before := len(r.noted())
		list, err := r.vm.VolumeStats(context.Background(), pod, nil)
		assert.Equal(t, errors.Is(c.fails, disk.ErrSilent), err != nil, name)
		assert.Equal(t, c.want, list, name)
		assert.Equal(t, c.noted, append([]string(nil), r.noted()[before:]...), name)
	}

	p.fails = nil
	r.vm.actual = newActualStateOfWorld()
	r.vm.actual.volumes.put(fakeKey, &mountedVolume{state: stateMounted, plugin: p, spec: fakeSpec("pv-data")})
	only := func(wanted string) []VolumeStats {
		list, err := r.vm.VolumeStats(context.Background(), pod, func(name string) bool { return name == wanted })
		assert.NoError(t, err)
		return list
	}
	assert.Equal(t, told(*p.metrics)[1:2], only("scratch"))
	assert.Empty(t, only("other"))

	local := newRig(t, engine.Config{})
	local.add("pod-1")
	local.Settle()
	assert.True(t, local.vm.AreMounted("pod-1"))
	list, err := local.vm.VolumeStats(context.Background(), pod, nil)
	assert.NoError(t, err)
	assert.Len(t, list, 1)
	assert.Equal(t, disk.DefaultSize, list[0].Capacity.Value(), "that of the disk")
}
