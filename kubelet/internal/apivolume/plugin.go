package apivolume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// Names of the plugins.
const (
	ConfigMapPluginName   = "kubernetes.io/configmap"
	SecretPluginName      = "kubernetes.io/secret"
	DownwardAPIPluginName = "kubernetes.io/downward-api"
	ProjectedPluginName   = "kubernetes.io/projected"
)

// NewPlugins makes all four plugins, for one kubelet.
func NewPlugins() []volume.VolumePlugin {
	const memory = v1.StorageMediumMemory
	return []volume.VolumePlugin{
		&apiPlugin{name: ConfigMapPluginName, sources: configMapSource, empty: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}},
		&apiPlugin{name: SecretPluginName, sources: secretSource, empty: v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}, medium: memory},
		&apiPlugin{name: DownwardAPIPluginName, sources: downwardAPISource, empty: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{}}, medium: memory},
		&apiPlugin{name: ProjectedPluginName, sources: projectedSources, empty: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}, medium: memory},
	}
}

// A source is one part of a volume: what it needs of the API, and its files.
type source struct {
	object  *volume.ObjectRef // nil for none
	collect func(host volume.VolumeHost, pod *v1.Pod) (map[string]FileProjection, error)
	// request, where collect is nil, waits for an answer.
	request func(ctx context.Context, host volume.VolumeHost, pod *v1.Pod) (map[string]FileProjection, error)
}

// apiPlugin is each of the four; they differ in how a volume's sources are found.
type apiPlugin struct {
	host volume.VolumeHost
	name string
	// sources returns the sources of a volume of this kind, nil for any other.
	sources func(vs *v1.VolumeSource) []source
	// empty is a source of this kind that says nothing.
	empty v1.VolumeSource
	// medium is the medium of the files: the disk for ConfigMaps, memory for all others.
	medium v1.StorageMedium
}

var _ volume.ObjectsPlugin = (*apiPlugin)(nil)

func (plugin *apiPlugin) Init(host volume.VolumeHost) error {
	plugin.host = host
	return nil
}

func (plugin *apiPlugin) GetPluginName() string { return plugin.name }

// GetVolumeName returns the volume's name; it identifies nothing outside of its pod.
func (plugin *apiPlugin) GetVolumeName(spec *volume.Spec) (string, error) {
	if !plugin.CanSupport(spec) {
		return "", fmt.Errorf("Spec does not reference a %s volume type: %s", volume.NewSpecFromVolume(&v1.Volume{VolumeSource: plugin.empty}).Kind(), spec)
	}
	return spec.Name(), nil
}

// CanSupport takes pods' volumes of the plugin's kind.
func (plugin *apiPlugin) CanSupport(spec *volume.Spec) bool {
	return spec.Volume != nil && plugin.sources(&spec.Volume.VolumeSource) != nil
}

// RequiresRemount returns true: the content changes with the API.
func (plugin *apiPlugin) RequiresRemount(*volume.Spec) bool { return true }

func (plugin *apiPlugin) SupportsMountOption() bool { return false }

func (plugin *apiPlugin) SupportsSELinuxContextMount(*volume.Spec) (bool, error) { return false, nil }

// Objects returns the ConfigMaps and Secrets that the volume names.
func (plugin *apiPlugin) Objects(spec *volume.Spec) (refs []volume.ObjectRef) {
	for _, s := range plugin.sources(&spec.Volume.VolumeSource) {
		if s.object != nil {
			refs = append(refs, *s.object)
		}
	}
	return refs
}

func (plugin *apiPlugin) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	return &apiVolume{plugin, spec.Name(), pod.UID, pod, plugin.sources(&spec.Volume.VolumeSource)}, nil
}

func (plugin *apiPlugin) NewUnmounter(name string, podUID types.UID) (volume.Unmounter, error) {
	return &apiVolume{plugin: plugin, volName: name, podUID: podUID}, nil
}

// ConstructVolumeSpec makes a volume of that name that says nothing more.
func (plugin *apiPlugin) ConstructVolumeSpec(volumeName, _ string) (volume.ReconstructedVolume, error) {
	return volume.ReconstructedVolume{Spec: volume.NewSpecFromVolume(&v1.Volume{Name: volumeName, VolumeSource: plugin.empty})}, nil
}

// apiVolume is both mounter and unmounter of one pod's directory.
type apiVolume struct {
	plugin  *apiPlugin
	volName string
	podUID  types.UID
	pod     *v1.Pod  // nil when unmounting
	sources []source // likewise
}

// GetPath returns the directory.
func (v *apiVolume) GetPath() string {
	return v.plugin.host.GetPodVolumeDir(v.podUID, volume.EscapeQualifiedName(v.plugin.name), v.volName)
}

// GetAttributes says read-only: only the kubelet writes.
func (v *apiVolume) GetAttributes() volume.Attributes {
	return volume.Attributes{ReadOnly: true, Managed: true}
}

// GetMetrics counts what is in the directory.
//
// Upstream: configmap.go, secret.go, downwardapi.go and projected.go NewMounter, v1.37.2, which keep what the first call has counted until the volume is
// set up again; nothing else changes it.
func (v *apiVolume) GetMetrics(context.Context) (*volume.Metrics, error) {
	return volume.MetricsDu(v.plugin.host.GetFS(), v.GetPath())
}

// SetUp calls SetUpAt with the pod's directory.
func (v *apiVolume) SetUp(ctx context.Context, args volume.MounterArgs) error {
	return v.SetUpAt(ctx, v.GetPath(), args)
}

// SetUpAt brings the files in dir up to date. It looks at the sources first, so
// that nothing is made, or changed, if one of them cannot be had.
//
// Upstream: configmap.go SetUpAt and its like, v1.37.
func (v *apiVolume) SetUpAt(ctx context.Context, dir string, args volume.MounterArgs) error {
	wrapped, err := v.plugin.host.NewWrapperMounter(v.volName, v.plugin.wrappedVolumeSpec(), v.pod)
	if err != nil {
		return err
	}
	payload, err := v.collect(ctx)
	if err != nil {
		return err
	}
	node := v.plugin.host.GetFS()
	_, missing := node.Lstat(path.Join(dir, dataDirName))
	if err := wrapped.SetUpAt(ctx, dir, args); err != nil {
		return err
	}
	writer := &AtomicWriter{Node: node, Dir: dir, Now: v.plugin.host.Now()}
	changed, err := writer.Write(payload, func(string) error { // the links beside the new files belong to the group, too
		return volume.SetVolumeOwnership(node, dir, true, args.FsGroup, nil, v.note)
	})
	switch {
	case err != nil && errors.Is(missing, fs.ErrNotExist):
		return errors.Join(err, v.TearDownAt(ctx, dir)) // no container has seen it
	case err != nil:
		return err
	case changed && missing == nil:
		v.note(fmt.Sprintf("volume %s has new files: %s", v.volName, strings.Join(slices.Sorted(maps.Keys(payload)), ", ")))
	}
	return nil
}

// collect returns all files of the volume. Of two for one path the later source's
// counts; errors are told together. What waits comes last, since the kubelet has the objects only until then.
func (v *apiVolume) collect(ctx context.Context) (map[string]FileProjection, error) {
	parts, errs := make([]map[string]FileProjection, len(v.sources)), make([]error, len(v.sources))
	for i, s := range v.sources {
		if s.collect != nil {
			parts[i], errs[i] = s.collect(v.plugin.host, v.pod)
		}
	}
	payload := map[string]FileProjection{}
	for i, s := range v.sources {
		if s.request != nil {
			parts[i], errs[i] = s.request(ctx, v.plugin.host, v.pod)
		}
		maps.Copy(payload, parts[i])
	}
	return payload, utilerrors.NewAggregate(errs)
}

func (v *apiVolume) note(text string) {
	v.plugin.host.Trace(trace.RefOf("Pod", v.pod), text)
}

// TearDown calls TearDownAt with the pod's directory.
func (v *apiVolume) TearDown(ctx context.Context) error { return v.TearDownAt(ctx, v.GetPath()) }

// TearDownAt removes the directory and what is in it, following no link.
//
// Upstream: pkg/volume/util/util.go UnmountViaEmptyDir, v1.37.
func (v *apiVolume) TearDownAt(ctx context.Context, dir string) error {
	wrapped, err := v.plugin.host.NewWrapperUnmounter(v.volName, v.plugin.wrappedVolumeSpec(), v.podUID)
	if err != nil {
		return err
	}
	return wrapped.TearDownAt(ctx, dir)
}

// wrappedVolumeSpec returns the emptyDir whose directory the files are in.
//
// Upstream: configmap.go wrappedVolumeSpec and its like, v1.37.
func (plugin *apiPlugin) wrappedVolumeSpec() volume.Spec {
	return volume.Spec{Volume: &v1.Volume{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: plugin.medium}}}}
}
