package kubelet_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/volume"
)

// devices plays what is below a node's plugins: it notes what is done with devices
// and fails on demand. It outlives the kubelet.
type devices struct {
	calls []string
	fail  error // of the next calls
	noAt  error // of the next GetDeviceMountPath
	// pods is the number of pod mounts there are, asked at each UnmountDevice.
	pods func() int
	seen []int
}

// newPlugins returns the local plugin with volumes that are mounted for the node first.
func (d *devices) newPlugins() []volume.VolumePlugin {
	return []volume.VolumePlugin{&devicePlugin{local.NewPlugin(), d}}
}

type devicePlugin struct {
	volume.VolumePlugin
	*devices
}

func (p *devicePlugin) NewDeviceMounter() (volume.DeviceMounter, error)     { return p, nil }
func (p *devicePlugin) NewDeviceUnmounter() (volume.DeviceUnmounter, error) { return p, nil }
func (p *devicePlugin) GetDeviceMountRefs(string) ([]string, error)         { return nil, nil }
func (p *devicePlugin) CanDeviceMount(*volume.Spec) (bool, error)           { return true, nil }
func (p *devicePlugin) GetDeviceMountPath(spec *volume.Spec) (string, error) {
	return "/global/" + spec.Name(), p.noAt
}
func (p *devicePlugin) NewMounter(s *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	m, err := p.VolumePlugin.NewMounter(s, pod)
	return deviceUser{m, p.devices}, err
}

func (p *devicePlugin) MountDevice(_ context.Context, _ *volume.Spec, _, at string, _ volume.DeviceMounterArgs) error {
	p.calls = append(p.calls, "MountDevice "+at)
	return p.fail
}

func (p *devicePlugin) UnmountDevice(_ context.Context, at string) error {
	p.calls = append(p.calls, "UnmountDevice "+at)
	p.seen = append(p.seen, p.pods())
	return p.fail
}

type deviceUser struct {
	volume.Mounter
	*devices
}

func (m deviceUser) SetUp(ctx context.Context, args volume.MounterArgs) error {
	m.calls = append(m.calls, "SetUp")
	return m.Mounter.SetUp(ctx, args)
}

func newDeviceWorld(t *testing.T) (*world, *devices) {
	t.Helper()
	d := &devices{}
	w := newWorld(t, engine.Config{}, kubelet.Config{Plugins: d.newPlugins})
	d.pods = func() int { return len(w.mounts()) }
	w.boundVolume("data", nil)
	return w, d
}

// semantics 5 must 1 and must 5.
func TestADeviceIsMountedOnceBeforeAllPodsAndUnmountedAfterThem(t *testing.T) {
	w, d := newDeviceWorld(t)
	w.create(pod("one", claim("data")))
	w.create(pod("two", claim("data")))
	w.settle()
	require.Equal(t, []string{"MountDevice /global/pv-data", "SetUp", "SetUp"}, d.calls)
	require.Len(t, w.mounts(), 2)
	w.delete("one")
	w.settle()
	require.Len(t, d.calls, 3, "the other pod has it still")
	w.delete("two")
	w.settle()
	require.Equal(t, "UnmountDevice /global/pv-data", d.calls[len(d.calls)-1])
	require.Len(t, d.calls, 4)
	require.Equal(t, []int{0}, d.seen, "no pod has it any more")
	w.requireNothingLeft()
}

// semantics 5 must 1: no SetUp without it.
func TestADeviceThatCannotBeMountedIsAnEventAndTriedAgain(t *testing.T) {
	w, d := newDeviceWorld(t)
	d.fail = errors.New("wrong fs type")
	w.create(pod("one", claim("data")))
	w.settle()
	w.requireEvent("one", "FailedMount", `MountVolume.MountDevice failed for volume "pv-data" : wrong fs type`)
	require.NotContains(t, d.calls, "SetUp")
	calls := len(d.calls)
	d.fail, d.noAt = nil, errors.New("no such place")
	require.NoError(t, w.e.RunFor(3*time.Minute))
	w.requireEvent("one", "FailedMount", `MountVolume.GetDeviceMountPath failed for volume "pv-data" : no such place`)
	require.Len(t, d.calls, calls)
	d.noAt = nil
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("one").Status.Phase)

	d.fail = errors.New("device is busy")
	w.delete("one")
	w.settle()
	require.Equal(t, "UnmountDevice /global/pv-data", d.calls[len(d.calls)-1])
	calls = len(d.calls)
	d.fail = nil
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Len(t, d.calls, calls+1, "it is tried again, and once is enough")
	w.requireNothingLeft()
}

// semantics 5 must 5 and bug 29: what an earlier life mounted is unmounted where it
// was mounted, though the pod and its volume are gone.
func TestADeviceOfAnEarlierLifeIsUnmountedWhereItWas(t *testing.T) {
	w, d := newDeviceWorld(t)
	w.create(pod("one", claim("data")))
	w.settle()
	require.NoError(t, w.e.Hold(actor, "pods"))
	require.NoError(t, w.e.Crash(actor))
	w.delete("one", 0)
	require.NoError(t, w.user.CoreV1().PersistentVolumes().Delete(context.Background(), "pv-data", metav1.DeleteOptions{}))
	w.settle()
	require.Len(t, d.calls, 2, "not before all pods are known")
	require.NoError(t, w.e.Release(actor, "pods"))
	w.settle()
	require.Equal(t, []string{"UnmountDevice /global/pv-data"}, d.calls[2:])
	require.Equal(t, []int{0}, d.seen)
	w.requireNothingLeft()
}
