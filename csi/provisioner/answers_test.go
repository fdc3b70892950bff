package provisioner_test

import (
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	storage "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
)

// Upstream does not look at the handle or the segments that a driver answers with: the API
// server refuses the PersistentVolume, and the claim waits until the driver answers correctly.
func TestAnAnswerThatMakesNoVolumeIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*csi.CreateVolumeResponse)
		want   string
	}{
		"no volume": {
			func(a *csi.CreateVolumeResponse) { a.Volume = nil }, // seen in u10a_createvolume_without_volume
			"panics, as upstream's: runtime error: invalid memory address or nil pointer dereference (the CSI driver answered CreateVolume with neither a volume nor " +
				"an error); its process ends, and starts again at once",
		},
		"empty handle": {func(a *csi.CreateVolumeResponse) { a.Volume.VolumeId = "" }, "spec.csi.volumeHandle: Required value"},
		"bad topology": {func(a *csi.CreateVolumeResponse) { a.Volume.AccessibleTopology = segments("no such key!", "a") }, "Invalid value: \"no such key!\""},
		"bad segment": {func(a *csi.CreateVolumeResponse) {
			a.Volume.AccessibleTopology = segments("zone", "not a label value!")
		}, "Invalid value: \"not a label value!\""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, engine.Config{}, func(d *csitest.Driver, _ *provisioner.Config) {
				d.Services = append(d.Services, csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS)
				d.Answer = c.answer
			})
			r.nodes(map[string]string{"node-1": "a"})
			r.class(nil, func(class *storage.StorageClass) {
				class.VolumeBindingMode = ptr(storage.VolumeBindingWaitForFirstConsumer)
			})
			r.claim("data", onNode("node-1"))
			require.NoError(t, r.Engine.RunFor(2*time.Minute))
			assert.Empty(t, r.volumes())
			assert.Contains(t, r.Engine.Trace().Story(engine.Start()), c.want)
			r.driver.Answer = nil
			require.NoError(t, r.Engine.RunFor(20*time.Minute))
			require.Len(t, r.volumes(), 1, r.Engine.Trace().Story(engine.Start()))
			assert.NotEmpty(t, r.volume().Spec.CSI.VolumeHandle)
			assert.Len(t, r.driver.Volumes, 1, "it was made once")
		})
	}
}

func segments(key, value string) []*csi.Topology {
	return []*csi.Topology{{Segments: map[string]string{key: value}}}
}
