// Package emptydir is the volume plugin "kubernetes.io/empty-dir": a directory
// that lives as long as its pod.
//
// Upstream: pkg/volume/emptydir/empty_dir.go, v1.37.
//
// A volume that was set up is noted in pods/<uid>/plugins/kubernetes.io~empty-dir/
// <volume>/ready: it is not set up again after a restart of the kubelet, since what is
// in it, and its mode, is the pod's by then.
//
// A pod whose volume holds more than its sizeLimit is evicted by the kubelet, which asks GetMetrics.
//
// Deviations: medium Memory is an ordinary directory too, with a tmpfs's mode, since a
// tmpfs needs privilege, and its sizeLimit is not enforced; internal/gaps says so. The HugePages media
// are refused, and so is a directory that was replaced by a link.
package emptydir

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// PluginName is the plugin's name.
const PluginName = "kubernetes.io/empty-dir"

// The directory's mode lets a container of any user write. A file system in memory
// also has the sticky bit, as a new tmpfs has.
const (
	perm       fs.FileMode = 0o777
	memoryPerm             = perm | fs.ModeSticky
)

// NewPlugin makes the plugin, for one kubelet.
func NewPlugin() volume.VolumePlugin { return &emptyDirPlugin{} }

type emptyDirPlugin struct{ host volume.VolumeHost }

func (plugin *emptyDirPlugin) Init(host volume.VolumeHost) error {
	plugin.host = host
	return nil
}

func (plugin *emptyDirPlugin) GetPluginName() string { return PluginName }

// GetVolumeName returns the volume's name; it identifies nothing outside of its pod.
func (plugin *emptyDirPlugin) GetVolumeName(spec *volume.Spec) (string, error) {
	if !plugin.CanSupport(spec) {
		return "", fmt.Errorf("spec does not reference an EmptyDir volume type: %s", spec)
	}
	return spec.Name(), nil
}

func (plugin *emptyDirPlugin) CanSupport(spec *volume.Spec) bool {
	return spec.Volume != nil && spec.Volume.EmptyDir != nil
}

func (plugin *emptyDirPlugin) RequiresRemount(*volume.Spec) bool { return false }

func (plugin *emptyDirPlugin) SupportsMountOption() bool { return false }

func (plugin *emptyDirPlugin) SupportsSELinuxContextMount(*volume.Spec) (bool, error) {
	return false, nil
}

func (plugin *emptyDirPlugin) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	ed := &emptyDir{plugin: plugin, volName: spec.Name(), podUID: pod.UID, pod: pod}
	if spec.Volume.EmptyDir != nil {
		ed.source = *spec.Volume.EmptyDir
	}
	return ed, nil
}

func (plugin *emptyDirPlugin) NewUnmounter(name string, podUID types.UID) (volume.Unmounter, error) {
	return &emptyDir{plugin: plugin, volName: name, podUID: podUID}, nil
}

// ConstructVolumeSpec makes an emptyDir volume of that name.
func (plugin *emptyDirPlugin) ConstructVolumeSpec(volumeName, _ string) (volume.ReconstructedVolume, error) {
	return volume.ReconstructedVolume{Spec: volume.NewSpecFromVolume(&v1.Volume{
		Name: volumeName, VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}},
	})}, nil
}

// emptyDir is both mounter and unmounter of one pod's directory.
type emptyDir struct {
	plugin  *emptyDirPlugin
	volName string
	podUID  types.UID
	pod     *v1.Pod // nil when unmounting
	source  v1.EmptyDirVolumeSource
}

// GetPath returns the directory.
func (ed *emptyDir) GetPath() string {
	return ed.plugin.host.GetPodVolumeDir(ed.podUID, volume.EscapeQualifiedName(PluginName), ed.volName)
}

func (ed *emptyDir) GetAttributes() volume.Attributes { return volume.Attributes{Managed: true} }

// SetUp calls SetUpAt with the pod's directory.
func (ed *emptyDir) SetUp(ctx context.Context, args volume.MounterArgs) error {
	return ed.SetUpAt(ctx, ed.GetPath(), args)
}

// SetUpAt makes the directory, unless it was set up already. What goes wrong with its
// ownership, or with noting that it is ready, does not fail it.
//
// Upstream: empty_dir.go SetUpAt, v1.37.
func (ed *emptyDir) SetUpAt(_ context.Context, dir string, args volume.MounterArgs) error {
	node := ed.plugin.host.GetFS()
	if volume.IsReady(node, ed.getMetaDir()) {
		if info, err := node.Lstat(dir); err == nil && info.IsDir() {
			return nil
		}
	}
	if err := checkMedium(ed.source.Medium); err != nil {
		return err
	}
	if err := ed.setupDir(dir); err != nil {
		return err
	}
	if err := volume.SetVolumeOwnership(node, dir, false, args.FsGroup, nil, ed.note); err != nil {
		ed.note(fmt.Sprintf("the ownership of volume %s is not changed: %v", ed.volName, err))
	}
	if isHugePages(ed.source.Medium) {
		return noHugePages(ed.source.Medium, ed.pod)
	}
	if err := volume.SetReady(node, ed.getMetaDir()); err != nil {
		ed.note(fmt.Sprintf("volume %s is not noted as ready: %v", ed.volName, err))
	}
	return nil
}

// getMetaDir has the file that says that the volume is ready.
func (ed *emptyDir) getMetaDir() string {
	return path.Join(ed.plugin.host.GetPodPluginDir(ed.podUID, volume.EscapeQualifiedName(PluginName)), ed.volName)
}

// setupDir makes the directory, with its mode whatever the umask.
//
// Upstream: empty_dir.go setupDir and setupTmpfs, v1.37.
func (ed *emptyDir) setupDir(dir string) error {
	node := ed.plugin.host.GetFS()
	if err := node.MkdirAll(dir, perm); err != nil {
		return err
	}
	info, err := node.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	mode := perm
	if ed.source.Medium == v1.StorageMediumMemory {
		mode = memoryPerm
	}
	if info.Mode()&(fs.ModePerm|fs.ModeSticky) == mode {
		return nil
	}
	return node.Chmod(dir, mode)
}

// checkMedium refuses what is not known.
//
// Upstream: empty_dir.go SetUpAt, v1.37.
func checkMedium(medium v1.StorageMedium) error {
	if medium == v1.StorageMediumDefault || medium == v1.StorageMediumMemory || isHugePages(medium) {
		return nil
	}
	return fmt.Errorf("unknown storage medium %q", medium)
}

func isHugePages(medium v1.StorageMedium) bool {
	return medium == v1.StorageMediumHugePages || strings.HasPrefix(string(medium), string(v1.StorageMediumHugePagesPrefix))
}

// noHugePages says why a pod has no huge pages: it requests none, or those of another size, or of several; or the node has none, as here.
//
// Upstream: empty_dir.go getPageSizeMountOption, v1.37.2.
func noHugePages(medium v1.StorageMedium, pod *v1.Pod) error {
	wanted := strings.TrimPrefix(string(medium), string(v1.StorageMediumHugePagesPrefix)) // of HugePages-<size>
	sizes := map[string]bool{}
	request := func(list v1.ResourceList) {
		for name := range list {
			if size, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix); ok && (medium == v1.StorageMediumHugePages || size == wanted) {
				sizes[size] = true
			}
		}
	}
	if pod.Spec.Resources != nil {
		request(pod.Spec.Resources.Requests)
	}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		request(c.Resources.Requests)
	}
	switch len(sizes) {
	case 0:
		return fmt.Errorf("medium %s: hugePages storage requested, but there is no resource request for huge pages", medium)
	case 1:
		return fmt.Errorf("storage medium %q is not supported by this kubelet, which has no huge pages", medium)
	}
	return fmt.Errorf("medium: %s can't be used if container requests multiple huge page sizes", medium)
}

func (ed *emptyDir) note(text string) {
	ed.plugin.host.Trace(trace.RefOf("Pod", ed.pod), text)
}

// GetMetrics counts what is in the directory.
//
// Upstream: empty_dir.go newMounterInternal, v1.37.2.
func (ed *emptyDir) GetMetrics(context.Context) (*volume.Metrics, error) {
	return volume.MetricsDu(ed.plugin.host.GetFS(), ed.GetPath())
}

// TearDown calls TearDownAt with the pod's directory.
func (ed *emptyDir) TearDown(ctx context.Context) error { return ed.TearDownAt(ctx, ed.GetPath()) }

// TearDownAt removes the directory and what is in it. If there is a link in
// its place, the link goes and nothing else.
//
// Upstream: empty_dir.go TearDownAt, v1.37.
func (ed *emptyDir) TearDownAt(_ context.Context, dir string) error {
	if err := ed.plugin.host.GetFS().RemoveAll(ed.getMetaDir()); err != nil {
		return fmt.Errorf("failed to remove ready dir [%s]: %w", ed.getMetaDir(), err)
	}
	return ed.plugin.host.GetFS().RemoveAll(dir)
}
