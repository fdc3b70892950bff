package volumemanager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// mountOperations mounts and unmounts volumes, for pods and for the node.
//
// Upstream: operation_generator.go, v1.37.
type mountOperations struct {
	*given
	*states

	host        *host
	attachments *attachments
	subPaths    *subPaths
	maps        *mapOperations
	expansion   *expandOperations
	populator   *populator
}

// mountVolume mounts a volume for a pod. A failure is an event of the pod.
//
// Upstream: operation_generator.go GenerateMountVolumeFunc, v1.37.
func (m *mountOperations) mountVolume(ctx context.Context, key podVolume) error {
	v := m.desired.get(key)
	if v == nil || m.actual.isUpToDate(key) {
		return nil
	}
	if err := m.attachments.verifyControllerAttachedVolume(ctx, v); err != nil {
		return err
	}
	reason, err := "FailedMount", m.checkNodeAffinity(ctx, v)
	if err == nil {
		m.host.objects = m.fetchObjects(ctx, v)
		if v = m.desired.get(key); v == nil {
			return nil // the pod ended meanwhile
		}
		m.actual.mounting[key] = true
		if v.block {
			reason, err = "FailedMapVolume", m.maps.mapVolume(ctx, v)
		} else {
			err = m.mount(ctx, v)
		}
		delete(m.actual.mounting, key)
		if m.desired.get(key) == nil { // the pod ended meanwhile
			m.touch(key)
		}
	}
	if _, unsaid := errors.AsType[notBegun](err); err != nil && !unsaid {
		m.recorder.Event(v.about, v1.EventTypeWarning, reason, err.Error())
	}
	return err
}

// checkNodeAffinity refuses a PersistentVolume whose node affinity does not match the labels
// that this node has now, and any PersistentVolume if the Node object cannot be read.
//
// Upstream: operation_generator.go checkNodeAffinity, v1.37.
func (m *mountOperations) checkNodeAffinity(ctx context.Context, v *volumeToMount) error {
	pv := v.spec.PersistentVolume
	if pv == nil {
		return nil
	}
	node, err := m.env.Client().CoreV1().Nodes().Get(ctx, m.node.Name, metav1.GetOptions{})
	if err != nil {
		err = fmt.Errorf("error retrieving node: %w", err)
	} else {
		err = binding.CheckNodeAffinity(pv, node.Labels)
	}
	if err == nil {
		return nil
	}
	operation := "MountVolume"
	if v.block {
		operation = "MapVolume"
	}
	return fmt.Errorf("%s.NodeAffinity check failed for volume %q : %w", operation, v.spec.Name(), err)
}

// mount carries out the steps from a volume to its directory in the pod.
func (m *mountOperations) mount(ctx context.Context, v *volumeToMount) error {
	name := v.spec.Name()
	mounter, err := v.plugin.NewMounter(v.spec, v.about)
	if err != nil {
		return fmt.Errorf("MountVolume.NewMounter initialization failed for volume %q : %w", name, err)
	}
	if len(v.spec.MountOptions()) > 0 && !v.plugin.SupportsMountOption() {
		return fmt.Errorf("MountVolume.MountOptionSupport check failed for volume %q : mount options are not supported for this volume type", name)
	}
	if err := m.actual.checkReadWriteOncePod(v); err != nil {
		return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", name, err)
	}
	if err := waitForAttach(ctx, v); err != nil {
		return fmt.Errorf("MountVolume.WaitForAttach failed for volume %q : %w", name, err)
	}
	if step, err := m.mountDevice(ctx, v); err != nil {
		return fmt.Errorf("MountVolume.%s failed for volume %q : %w", step, name, err)
	}
	if err := m.setUp(ctx, v, mounter); err != nil {
		return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", name, err)
	}
	stage, _ := stagePath(v) // the volume is staged there, so that it is known
	if err := m.expansion.expandVolumeDuringMount(ctx, v, volume.NodeResizeOptions{DeviceMountPath: mounter.GetPath(), DeviceStagePath: stage}); err != nil {
		m.actual.markUncertain(v.podVolume) // it is mounted, and no pod may use it yet
		return fmt.Errorf("MountVolume.Setup failed while expanding volume for volume %q : %w", name, err)
	}
	return nil
}

// waitForAttach fails if the attach/detach controller has not finished its work on the volume.
func waitForAttach(ctx context.Context, v *volumeToMount) error {
	if attacher, ok := v.plugin.(volume.Attacher); ok && v.attachable {
		return attacher.WaitForAttach(ctx, v.spec)
	}
	return nil
}

// mountDevice mounts the volume for the node, unless it is already. It returns the name of the
// step that failed.
func (m *mountOperations) mountDevice(ctx context.Context, v *volumeToMount) (step string, err error) {
	if v.device == nil || m.actual.isDeviceMounted(v.volume) {
		return "", nil
	}
	mounter, err := v.device.NewDeviceMounter()
	if err != nil {
		return "MountDevice", err
	}
	path, err := mounter.GetDeviceMountPath(v.spec)
	if err != nil {
		return "GetDeviceMountPath", err
	}
	err = m.answered(ctx, v.ref(), v.spec.Name(), func() error {
		return mounter.MountDevice(ctx, v.spec, "", path, volume.DeviceMounterArgs{FsGroup: v.mounterArgs().FsGroup})
	})
	m.actual.markDevice(v, path, err)
	if err != nil {
		return "MountDevice", err
	}
	return "", nil
}

// setUp mounts the volume for the pod, and adds that to the trace unless it is known already.
func (m *mountOperations) setUp(ctx context.Context, v *volumeToMount, mounter volume.Mounter) error {
	old, args := m.actual.volumes.get(v.podVolume), v.mounterArgs()
	if old != nil {
		args.Reconstructed, args.Remount = old.reconstructed, old.remount
	}
	err := m.answered(ctx, v.ref(), v.spec.Name(), func() error { return mounter.SetUp(ctx, args) })
	if inPodDir(mounter.GetPath()) && (err != nil || old == nil) {
		m.traceMount(v, mounter, err)
	}
	m.markSetUp(v, mounter, err)
	return err
}

// The first and the longest time after which an operation is tried again that gets no answer.
const (
	firstSilence   = time.Second
	longestSilence = time.Minute
)

// The text of an operation that hangs, round the volume's name.
const (
	hangPrefix = "the operation on volume "
	hangs      = " hangs: "
)

// Hang returns the volume and the error of a note, in the trace, that an operation hangs; ok is false for any other text.
func Hang(note string) (volume, err string, ok bool) {
	note, ok = strings.CutPrefix(note, hangPrefix)
	if !ok {
		return "", "", false
	}
	return strings.Cut(note, hangs)
}

// answered carries out a part of an operation until it gets an answer: a mount that hangs does not time out. Until then the operation is
// pending, and others of its volume wait. Settling does not wait for it.
//
// Upstream: operation_generator.go GenerateMountVolumeFunc, which ends when mount(8) does, v1.37.
func (m *mountOperations) answered(ctx context.Context, about trace.Ref, volume string, try func() error) error {
	err := try()
	for wait := firstSilence; errors.Is(err, disk.ErrSilent); wait = min(2*wait, longestSilence) {
		if wait == firstSilence {
			m.note(about, hangPrefix+volume+hangs+err.Error())
		}
		if err := m.env.Sleep(control.InBackground(ctx), wait); err != nil {
			return err
		}
		err = try()
	}
	return err
}

func (m *mountOperations) traceMount(v *volumeToMount, mounter volume.Mounter, failure error) {
	record := trace.Mount{Op: "mount", About: v.ref(), Volume: v.spec.Name(), Target: mounter.GetPath()}
	if d := m.actual.devices[v.volume]; d != nil {
		record.Source = d.path
	} else if from, ok := mounter.(volume.MountedFrom); ok {
		record.Source = from.GetSource()
	}
	if mounter.GetAttributes().ReadOnly {
		record.Options = []string{"ro"}
	}
	if failure != nil {
		record.Err = failure.Error()
	}
	m.env.Trace(record)
}

// markSetUp records the outcome of setting a volume up, in the actual state of the world.
func (m *mountOperations) markSetUp(v *volumeToMount, mounter volume.Mounter, failure error) {
	left := false
	if failure != nil {
		_, err := m.fs.Lstat(mounter.GetPath())
		_, says := v.plugin.(volume.UncertaintyReporter)
		left = err == nil && inPodDir(mounter.GetPath()) && !says
		if old := m.actual.volumes.get(v.podVolume); old != nil && old.remount {
			return // it is mounted as before
		}
		if left && !m.actual.uncertain(failure) {
			m.env.Trace(trace.Deviate(trace.DirectoryLeft, v.ref()))
		}
	}
	marked := m.actual.markSetUp(&mountedVolume{
		podVolume: v.podVolume, plugin: v.plugin, spec: v.spec,
		path: mounter.GetPath(), readOnly: mounter.GetAttributes().ReadOnly, about: v.ref(),
	}, failure, left)
	if marked && v.plugin.RequiresRemount(v.spec) {
		m.populator.syncRegularly(v.pod)
	}
}

func inPodDir(path string) bool { return strings.HasPrefix(path, layout.PodsDir+"/") }

// unmountVolume unmounts a volume of a pod, unless the pod wants it again.
//
// Upstream: operation_generator.go GenerateUnmountVolumeFunc, v1.37.
func (m *mountOperations) unmountVolume(ctx context.Context, key podVolume) error {
	v := m.actual.volumes.get(key)
	if v == nil || m.desired.get(key) != nil {
		return nil
	}
	if v.block {
		return m.maps.unmapVolume(ctx, v)
	}
	if err := m.subPaths.clean(key.pod, v.spec.Name()); err != nil {
		return fmt.Errorf("error cleaning subPath mounts for volume %q : %w", v.spec.Name(), err)
	}
	unmounter, err := v.plugin.NewUnmounter(v.spec.Name(), key.pod)
	if err == nil {
		err = m.answered(ctx, v.about, v.spec.Name(), func() error { return unmounter.TearDown(ctx) })
	}
	about := v.about
	if pod := m.pods.GetPodByUID(key.pod); pod != nil {
		about = trace.RefOf("Pod", pod)
	}
	record := trace.Mount{Op: "unmount", About: about, Volume: v.spec.Name(), Target: v.path}
	if err != nil {
		v.state = stateUncertain // SetUp is called for the pod if it wants the volume again
		err = fmt.Errorf("UnmountVolume.TearDown failed for volume %q : %w", v.spec.Name(), err)
		record.Err = err.Error()
	}
	if inPodDir(v.path) {
		m.env.Trace(record)
	}
	if err != nil {
		return err
	}
	m.actual.volumes.remove(key)
	return nil
}

// unmountDevice unmounts a volume from the node when no pod has it any more.
//
// Upstream: operation_generator.go GenerateUnmountDeviceFunc, v1.37.
func (m *mountOperations) unmountDevice(ctx context.Context, name v1.UniqueVolumeName) error {
	d := m.actual.devices[name]
	if d == nil || m.desired.volumes.uses(name) || m.actual.volumes.uses(name) {
		return nil
	}
	if d.block {
		if err := m.maps.unmapDevice(ctx, d); err != nil {
			return err
		}
	} else {
		unmounter, err := d.plugin.NewDeviceUnmounter()
		if err == nil {
			err = m.answered(ctx, m.nodeRef(), string(name), func() error { return unmounter.UnmountDevice(ctx, d.path) })
		}
		if err != nil {
			d.state = stateUncertain // MountDevice is called for the next pod
			return fmt.Errorf("UnmountDevice failed for volume %q : %w", name, err)
		}
	}
	delete(m.actual.devices, name)
	m.sizes.forget(name)
	return nil
}
