// Package volumetest runs a volume plugin without a kubelet: for the tests of
// plugins, and for looking at one.
//
// Upstream: pkg/volume/testing, v1.37.
package volumetest

import (
	"context"
	"fmt"
	"path"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

const rootDir = "/var/lib/kubelet"

// Host is a kubelet as a plugin sees it. FS and Mounter are required; what the
// plugin says is in Events and Notes.
type Host struct {
	// FS is the node's file system, Mounter mounts on it.
	FS      *disk.Disk
	Mounter mount.Interface
	// Objects are the API's. What is not here is not found.
	Objects map[volume.ObjectRef]runtime.Object
	// Plugins are other plugins on whose volumes the plugin under test builds its own:
	// NewWrapperMounter finds them.
	Plugins []volume.VolumePlugin
	// Time is the time that Now returns. Sleep and Poll move it without waiting.
	Time time.Time
	// Allocatable holds the node's resources for pods.
	Allocatable v1.ResourceList
	// Client calls the API; nil for plugins that do not.
	Client kubernetes.Interface
	// Drivers are the CSIDriver objects.
	Drivers CSIDrivers

	// Events are "type reason: message", Notes what was traced.
	Events, Notes []string
}

var _ volume.VolumeHost = (*Host)(nil)

// GetNodeName implements volume.VolumeHost.
func (h *Host) GetNodeName() types.NodeName { return "node-1" }

// GetPodsDir implements volume.VolumeHost.
func (h *Host) GetPodsDir() string { return rootDir + "/pods" }

// GetPluginDir implements volume.VolumeHost.
func (h *Host) GetPluginDir(name string) string {
	return path.Join(rootDir, "plugins", name)
}

// GetPodVolumeDir implements volume.VolumeHost.
func (h *Host) GetPodVolumeDir(uid types.UID, plugin, name string) string {
	return path.Join(h.GetPodsDir(), string(uid), "volumes", plugin, name)
}

// GetPodVolumeDeviceDir implements volume.VolumeHost.
func (h *Host) GetPodVolumeDeviceDir(uid types.UID, plugin string) string {
	return path.Join(h.GetPodsDir(), string(uid), "volumeDevices", plugin)
}

// GetPodPluginDir implements volume.VolumeHost.
func (h *Host) GetPodPluginDir(uid types.UID, plugin string) string {
	return path.Join(h.GetPodsDir(), string(uid), "plugins", plugin)
}

// NewWrapperMounter implements volume.VolumeHost.
func (h *Host) NewWrapperMounter(volName string, spec volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	pm, err := volume.InitPlugins(h.Plugins, h)
	if err != nil {
		return nil, err
	}
	return pm.NewWrapperMounter(volName, spec, pod)
}

// NewWrapperUnmounter implements volume.VolumeHost.
func (h *Host) NewWrapperUnmounter(volName string, spec volume.Spec, podUID types.UID) (volume.Unmounter, error) {
	pm, err := volume.InitPlugins(h.Plugins, h)
	if err != nil {
		return nil, err
	}
	return pm.NewWrapperUnmounter(volName, spec, podUID)
}

// GetNodeAllocatable implements volume.VolumeHost.
func (h *Host) GetNodeAllocatable() v1.ResourceList { return h.Allocatable }

// GetObject implements volume.VolumeHost.
func (h *Host) GetObject(ref volume.ObjectRef) (runtime.Object, error) {
	if object, ok := h.Objects[ref]; ok {
		return object, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: ref.Kind}, ref.Name)
}

// GetClient implements volume.VolumeHost.
func (h *Host) GetClient() kubernetes.Interface { return h.Client }

// CSIDrivers implements volume.VolumeHost.
func (h *Host) CSIDrivers() volume.CSIDriverLister { return h.Drivers }

// GetServiceAccountToken implements volume.VolumeHost: the token says whose it is and for
// whom.
func (h *Host) GetServiceAccountToken(_ context.Context, namespace, name string,
	request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	answer := request.DeepCopy()
	answer.Status.Token = fmt.Sprintf("token of %s/%s for %s", namespace, name, request.Spec.Audiences)
	return answer, nil
}

// CSIDrivers is the cluster's CSIDriver objects, by name.
type CSIDrivers map[string]*storagev1.CSIDriver

// Get implements volume.CSIDriverLister.
func (d CSIDrivers) Get(name string) (*storagev1.CSIDriver, bool) {
	driver, ok := d[name]
	return driver, ok
}

// Handle implements volume.CSIDriverLister: nothing changes.
func (d CSIDrivers) Handle(control.Handler[*storagev1.CSIDriver]) {}

// Now implements control.Clock.
func (h *Host) Now() time.Time { return h.Time }

// Sleep implements control.Clock: Time moves on by d, unless ctx is at its end.
func (h *Host) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h.Time = h.Time.Add(d)
	return nil
}

// Poll implements control.Clock with Sleep.
func (h *Host) Poll(ctx context.Context, interval, timeout time.Duration, cond func(ctx context.Context) (bool, error)) error {
	for end := h.Time.Add(timeout); timeout == 0 || !h.Time.Add(interval).After(end); {
		if err := h.Sleep(ctx, interval); err != nil {
			return err
		}
		if done, err := cond(ctx); done || err != nil {
			return err
		}
	}
	return control.ErrTimeout
}

// GetMounter implements volume.VolumeHost.
func (h *Host) GetMounter() mount.Interface { return h.Mounter }

// GetFS implements volume.VolumeHost.
func (h *Host) GetFS() *disk.Disk { return h.FS }

// GetEventRecorder implements volume.VolumeHost.
func (h *Host) GetEventRecorder() control.Recorder { return h }

// Trace implements volume.VolumeHost.
func (h *Host) Trace(about trace.Ref, text string) {
	h.Notes = append(h.Notes, fmt.Sprintf("%s: %s", about, text))
}

// Event implements control.Recorder.
func (h *Host) Event(_ runtime.Object, eventtype, reason, message string) {
	h.Events = append(h.Events, eventtype+" "+reason+": "+message)
}

// Eventf implements control.Recorder.
func (h *Host) Eventf(object runtime.Object, eventtype, reason, format string, args ...any) {
	h.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}
