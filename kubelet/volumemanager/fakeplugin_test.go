package volumemanager

import (
	"context"
	"errors"
	"path"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/volume"
)

const fakeName = "example.com/fake"

var errFake = errors.New("broken")

// fakePlugin is a plugin of every kind, for CSI volumes. It notes its calls, and fails where the test says.
type fakePlugin struct {
	// fails holds the errors by the name of the call, and meanwhile what happens during it.
	fails     map[string]error
	meanwhile map[string]func()
	calls     []string

	// attaches, stages and grows say which kinds of plugin it is, as far as a plugin can say that.
	attaches, stages, grows bool
	remounts, exhausted     bool
	readOnly                bool
	at                      string // the volumes' path, if it is not in the pod's directory
	linked                  bool   // its devices are links and nothing more
	options                 bool   // it takes mount options
	takes                   time.Duration
	args                    volume.MounterArgs
	resize                  volume.NodeResizeOptions
	metrics                 *volume.Metrics
	staged                  []volume.StagedVolume
	objects                 []volume.ObjectRef
	host                    volume.VolumeHost
}

func newFakePlugin() *fakePlugin {
	return &fakePlugin{fails: map[string]error{}, meanwhile: map[string]func(){}, stages: true, metrics: &volume.Metrics{}}
}

// called notes a call that does something.
func (p *fakePlugin) called(name string) error {
	p.calls = append(p.calls, name)
	if f := p.meanwhile[name]; f != nil {
		f()
	}
	return p.fails[name]
}

func (p *fakePlugin) Init(host volume.VolumeHost) error { p.host = host; return nil }
func (p *fakePlugin) GetPluginName() string             { return fakeName }
func (p *fakePlugin) CanSupport(spec *volume.Spec) bool {
	return spec.PersistentVolume != nil && spec.PersistentVolume.Spec.CSI != nil
}
func (p *fakePlugin) GetVolumeName(s *volume.Spec) (string, error) {
	return s.Name(), p.fails["GetVolumeName"]
}
func (p *fakePlugin) RequiresRemount(*volume.Spec) bool { return p.remounts }
func (p *fakePlugin) SupportsMountOption() bool         { return p.options }
func (p *fakePlugin) ReportsUncertainty()               {}
func (p *fakePlugin) SupportsSELinuxContextMount(*volume.Spec) (bool, error) {
	return false, nil
}
func (p *fakePlugin) Objects(*volume.Spec) []volume.ObjectRef { return p.objects }

func (p *fakePlugin) ConstructVolumeSpec(name, _ string) (volume.ReconstructedVolume, error) {
	return volume.ReconstructedVolume{Spec: fakeSpec(name)}, p.fails["ConstructVolumeSpec"]
}

func (p *fakePlugin) ConstructBlockVolumeSpec(_ types.UID, name, _ string) (*volume.Spec, error) {
	return fakeSpec(name), p.fails["ConstructBlockVolumeSpec"]
}

// fakeSpec returns what a plugin finds out of a volume from its directory.
func fakeSpec(name string) *volume.Spec {
	pv := &v1.PersistentVolume{}
	pv.Name, pv.Spec.CSI = name, &v1.CSIPersistentVolumeSource{}
	return volume.NewSpecFromPersistentVolume(pv, false)
}

func (p *fakePlugin) CanAttach(*volume.Spec) (bool, error) { return p.attaches, p.fails["CanAttach"] }
func (p *fakePlugin) WaitForAttach(context.Context, *volume.Spec) error {
	return p.called("WaitForAttach")
}
func (p *fakePlugin) VerifyExhaustedResource(context.Context, *volume.Spec) bool { return p.exhausted }

func (p *fakePlugin) CanDeviceMount(*volume.Spec) (bool, error) {
	return p.stages, p.fails["CanDeviceMount"]
}
func (p *fakePlugin) GetDeviceMountRefs(string) ([]string, error) { return nil, nil }
func (p *fakePlugin) Staged() []volume.StagedVolume               { return p.staged }
func (p *fakePlugin) NewDeviceMounter() (volume.DeviceMounter, error) {
	return p, p.fails["NewDeviceMounter"]
}
func (p *fakePlugin) NewDeviceUnmounter() (volume.DeviceUnmounter, error) {
	return p, p.fails["NewDeviceUnmounter"]
}
func (p *fakePlugin) GetDeviceMountPath(spec *volume.Spec) (string, error) {
	return "/stage/" + spec.Name(), p.fails["GetDeviceMountPath"]
}
func (p *fakePlugin) MountDevice(context.Context, *volume.Spec, string, string, volume.DeviceMounterArgs) error {
	return p.called("MountDevice")
}
func (p *fakePlugin) UnmountDevice(_ context.Context, at string) error {
	return p.called("UnmountDevice " + at)
}

func (p *fakePlugin) RequiresFSResize() bool { return p.grows }
func (p *fakePlugin) NodeExpand(_ context.Context, options volume.NodeResizeOptions) (bool, error) {
	p.resize = options
	err := p.called("NodeExpand")
	return err == nil, err
}

func (p *fakePlugin) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	return fakeVolume{p, spec.Name(), pod.UID}, p.fails["NewMounter"]
}
func (p *fakePlugin) NewUnmounter(name string, uid types.UID) (volume.Unmounter, error) {
	return fakeVolume{p, name, uid}, p.fails["NewUnmounter"]
}
func (p *fakePlugin) NewBlockVolumeMapper(spec *volume.Spec, pod *v1.Pod) (volume.BlockVolumeMapper, error) {
	v := fakeVolume{p, spec.Name(), pod.UID}
	if p.linked {
		return struct{ volume.BlockVolumeMapper }{v}, nil
	}
	return v, p.fails["NewBlockVolumeMapper"]
}
func (p *fakePlugin) NewBlockVolumeUnmapper(name string, uid types.UID) (volume.BlockVolumeUnmapper, error) {
	v := fakeVolume{p, name, uid}
	if p.linked {
		return struct{ volume.BlockVolumeUnmapper }{v}, nil
	}
	return v, p.fails["NewBlockVolumeUnmapper"]
}

// plainPlugin hides all that a plugin can do besides mounting for pods.
type plainPlugin struct{ volume.VolumePlugin }

// devicePlugin hides all but that, and mounting for the node.
type devicePlugin struct {
	volume.DeviceMountableVolumePlugin
}

// fakeVolume is a volume of a pod, as a directory and as a device.
type fakeVolume struct {
	*fakePlugin
	name string
	pod  types.UID
}

func (v fakeVolume) GetPath() string {
	if v.fakePlugin != nil && v.at != "" {
		return v.at
	}
	return layout.PodVolumeDir(v.pod, volume.EscapeQualifiedName(fakeName), v.name)
}
func (v fakeVolume) GetAttributes() volume.Attributes { return volume.Attributes{ReadOnly: v.readOnly} }
func (v fakeVolume) GetSource() string                { return "server:/" + v.name }
func (v fakeVolume) GetMetrics(context.Context) (*volume.Metrics, error) {
	return v.metrics, v.fails["GetMetrics"]
}
func (v fakeVolume) SetUp(ctx context.Context, args volume.MounterArgs) error {
	if v.args = args; v.takes > 0 {
		_ = v.host.Sleep(ctx, v.takes)
	}
	return v.called("SetUp")
}
func (v fakeVolume) SetUpAt(context.Context, string, volume.MounterArgs) error { return nil }
func (v fakeVolume) TearDown(context.Context) error                            { return v.called("TearDown") }
func (v fakeVolume) TearDownAt(context.Context, string) error                  { return nil }

func (v fakeVolume) GetGlobalMapPath(*volume.Spec) (string, error) {
	return path.Join(layout.PluginDir("fake"), v.name), v.fails["GetGlobalMapPath"]
}
func (v fakeVolume) GetPodDeviceMapPath() (dir, name string) {
	return layout.PodVolumeDeviceDir(v.pod, volume.EscapeQualifiedName(fakeName)), v.name
}
func (v fakeVolume) SetUpDevice(context.Context) (string, error) { return "", v.called("SetUpDevice") }
func (v fakeVolume) GetStagingPath() string                      { return "/stage/" + v.name }
func (v fakeVolume) MapPodDevice(context.Context) (string, error) {
	return "/dev/fake", v.called("MapPodDevice")
}
func (v fakeVolume) UnmapPodDevice(context.Context) error { return v.called("UnmapPodDevice") }
func (v fakeVolume) TearDownDevice(context.Context) error { return v.called("TearDownDevice") }
