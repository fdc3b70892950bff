package volumetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// Slow is a driver of CSI volumes whose calls take time. It outlives the kubelet, which
// asks NewPlugin for a plugin at each start.
type Slow struct {
	// Driver is its name in volumes, csi.driver.
	Driver string
	// Takes is the time that making a volume ready takes, and taking it away.
	Takes time.Duration
	// Calls are the calls so far: "SetUpAt began", "SetUpAt ended", and so on.
	Calls []string
}

// NewPlugin makes the plugin, as kubelet.Config.Plugins wants it.
func (s *Slow) NewPlugin() volume.VolumePlugin { return &slowPlugin{Slow: s} }

// SlowPlugin is the name of its plugin.
const SlowPlugin = "example.com/slow"

type slowPlugin struct {
	*Slow
	host volume.VolumeHost
}

func (p *slowPlugin) Init(host volume.VolumeHost) error                      { p.host = host; return nil }
func (p *slowPlugin) GetPluginName() string                                  { return SlowPlugin }
func (p *slowPlugin) RequiresRemount(*volume.Spec) bool                      { return false }
func (p *slowPlugin) SupportsMountOption() bool                              { return false }
func (p *slowPlugin) SupportsSELinuxContextMount(*volume.Spec) (bool, error) { return false, nil }

func (p *slowPlugin) CanSupport(spec *volume.Spec) bool {
	pv := spec.PersistentVolume
	return pv != nil && pv.Spec.CSI != nil && pv.Spec.CSI.Driver == p.Driver
}

func (p *slowPlugin) GetVolumeName(spec *volume.Spec) (string, error) {
	if !p.CanSupport(spec) {
		return "", fmt.Errorf("%s is not a CSI volume of %s", spec, p.Driver)
	}
	return spec.PersistentVolume.Spec.CSI.VolumeHandle, nil
}

func (p *slowPlugin) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	return &slowVolume{p, p.dir(spec.Name(), pod.UID)}, nil
}

func (p *slowPlugin) NewUnmounter(name string, podUID types.UID) (volume.Unmounter, error) {
	return &slowVolume{p, p.dir(name, podUID)}, nil
}

func (p *slowPlugin) dir(name string, pod types.UID) string {
	return p.host.GetPodVolumeDir(pod, volume.EscapeQualifiedName(p.GetPluginName()), name)
}

// ConstructVolumeSpec makes a volume of that name that says nothing more than the
// driver.
func (p *slowPlugin) ConstructVolumeSpec(name, _ string) (volume.ReconstructedVolume, error) {
	pv := &v1.PersistentVolume{}
	pv.Name, pv.Spec.CSI = name, &v1.CSIPersistentVolumeSource{Driver: p.Driver, VolumeHandle: name}
	return volume.ReconstructedVolume{Spec: volume.NewSpecFromPersistentVolume(pv, false)}, nil
}

// slowVolume is both mounter and unmounter.
type slowVolume struct {
	*slowPlugin
	path string
}

func (v *slowVolume) GetPath() string                    { return v.path }
func (v *slowVolume) GetAttributes() volume.Attributes   { return volume.Attributes{} }
func (v *slowVolume) TearDown(ctx context.Context) error { return v.TearDownAt(ctx, v.path) }
func (v *slowVolume) SetUp(ctx context.Context, args volume.MounterArgs) error {
	return v.SetUpAt(ctx, v.path, args)
}

func (v *slowVolume) SetUpAt(ctx context.Context, dir string, _ volume.MounterArgs) error {
	return v.call(ctx, "SetUpAt", func() error { return v.host.GetFS().MkdirAll(dir, 0o750) })
}

func (v *slowVolume) TearDownAt(ctx context.Context, dir string) error {
	return v.call(ctx, "TearDownAt", func() error { return v.host.GetFS().RemoveAll(dir) })
}

// call does something to a volume, which takes its time. The waiting ends early if the
// kubelet crashes, and with an error if ctx ends.
func (v *slowVolume) call(ctx context.Context, name string, do func() error) error {
	v.Calls = append(v.Calls, name+" began")
	if err := errors.Join(v.host.Sleep(ctx, v.Takes), ctx.Err()); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	v.Calls = append(v.Calls, name+" ended")
	return nil
}
