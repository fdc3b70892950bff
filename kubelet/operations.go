package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// What an operation does.
const (
	mountVolume   = "mount"
	unmountVolume = "unmount"
	unmountDevice = "unmount-device"
	expandVolume  = "expand"
)

// operation is work on one volume of one pod, or of the node. Its key is in the
// operations queue, which backs off per key.
type operation struct {
	verb string
	podVolume
}

// key has a slash after the pod: a UID read back from a directory's name can
// have any other character.
func (op operation) key() string { return op.verb + " " + string(op.pod) + "/" + string(op.volume) }

// aboutOperation is what a key of the operations queue stands for.
func (k *kubelet) aboutOperation(key string) string {
	op := parseOperation(key)
	if op.verb == unmountDevice {
		return fmt.Sprintf("to unmount the device of volume %s", op.volume)
	}
	return fmt.Sprintf("to %s volume %s of %s", op.verb, op.volume, k.aboutPod(string(op.pod)))
}

func parseOperation(key string) operation {
	verb, rest, _ := strings.Cut(key, " ")
	pod, name, _ := strings.Cut(rest, "/")
	return operation{verb, podVolume{pod: types.UID(pod), volume: v1.UniqueVolumeName(name)}}
}

// startOperation puts an operation in line, unless it failed and its backoff is
// not over.
//
// Upstream: nestedpendingoperations.go Run, v1.36.
func (k *kubelet) startOperation(op operation) {
	if key := op.key(); !k.backingOff[key] {
		k.operationQueue.Add(key)
	}
}

// runOperation carries out one operation if it is still due.
func (k *kubelet) runOperation(ctx context.Context, key string) error {
	op := parseOperation(key)
	var err error
	switch op.verb {
	case mountVolume:
		err = k.mountVolume(ctx, op.podVolume)
	case unmountVolume:
		err = k.unmountVolume(ctx, op.podVolume)
	case unmountDevice:
		err = k.unmountDevice(ctx, op.volume)
	case expandVolume:
		err = k.expandInUseVolume(ctx, op.podVolume)
	}
	if err != nil {
		k.backingOff[key] = true
		return err
	}
	delete(k.backingOff, key)
	k.touch(op.podVolume)
	if op.pod != "" {
		k.podQueue.Add(string(op.pod))
	}
	return nil
}

// mountVolume mounts a volume for a pod; the pod hears of what fails.
//
// Upstream: operation_generator.go GenerateMountVolumeFunc, v1.36.
func (k *kubelet) mountVolume(ctx context.Context, key podVolume) error {
	v := k.desired.get(key)
	if v == nil || k.actual.isUpToDate(key) {
		return nil
	}
	if err := k.verifyControllerAttachedVolume(ctx, v); err != nil {
		return err
	}
	reason, err := "FailedMount", k.checkNodeAffinity(ctx, v)
	if err == nil {
		k.objects = k.fetchObjects(ctx, v)
		if v = k.desired.get(key); v == nil {
			return nil // the pod ended meanwhile
		}
		k.mounting = key
		if v.block {
			reason, err = "FailedMapVolume", k.mapVolume(ctx, v)
		} else {
			err = k.mount(ctx, v)
		}
		k.mounting = podVolume{}
		if k.desired.get(key) == nil { // the pod ended meanwhile
			k.touch(key)
		}
	}
	if err != nil {
		k.recorder.Event(v.about, v1.EventTypeWarning, reason, err.Error())
	}
	return err
}

// checkNodeAffinity refuses a PersistentVolume that this node, as its labels are now,
// must not have; and any, if there is no Node object to know them from.
//
// Upstream: operation_generator.go checkNodeAffinity, v1.36.
func (k *kubelet) checkNodeAffinity(ctx context.Context, v *volumeToMount) error {
	pv := v.spec.PersistentVolume
	if pv == nil {
		return nil
	}
	node, err := k.env.Client().CoreV1().Nodes().Get(ctx, k.node.Name, metav1.GetOptions{})
	if err != nil {
		err = fmt.Errorf("error retrieving node: %w", err)
	} else {
		err = binding.CheckNodeAffinity(pv, node.Labels)
	}
	if err == nil {
		return nil
	}
	verb := "MountVolume"
	if v.block {
		verb = "MapVolume"
	}
	return fmt.Errorf("%s.NodeAffinity check failed for volume %q : %w", verb, v.spec.Name(), err)
}

// mount is the steps from a volume to its directory in the pod.
func (k *kubelet) mount(ctx context.Context, v *volumeToMount) error {
	name := v.spec.Name()
	mounter, err := v.plugin.NewMounter(v.spec, v.about)
	if err != nil {
		return fmt.Errorf("MountVolume.NewMounter initialization failed for volume %q : %w", name, err)
	}
	if len(v.spec.MountOptions()) > 0 && !v.plugin.SupportsMountOption() {
		return fmt.Errorf("MountVolume.MountOptionSupport check failed for volume %q : mount options are not supported for this volume type", name)
	}
	if err := k.checkReadWriteOncePod(v); err != nil {
		return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", name, err)
	}
	if err := waitForAttach(ctx, v); err != nil {
		return fmt.Errorf("MountVolume.WaitForAttach failed for volume %q : %w", name, err)
	}
	if step, err := k.mountDevice(ctx, v); err != nil {
		return fmt.Errorf("MountVolume.%s failed for volume %q : %w", step, name, err)
	}
	if err := k.setUp(ctx, v, mounter); err != nil {
		return fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", name, err)
	}
	stage, _ := stagePath(v) // it is staged there
	if err := k.expandVolumeDuringMount(ctx, v, volume.NodeResizeOptions{DeviceMountPath: mounter.GetPath(), DeviceStagePath: stage}); err != nil {
		k.actual.doubt(v.podVolume) // it is mounted, and no pod may use it yet
		return fmt.Errorf("MountVolume.Setup failed while expanding volume for volume %q : %w", name, err)
	}
	return nil
}

// checkReadWriteOncePod refuses a volume for one pod only that another pod on
// this node has. One that has other access modes as well may be meant for many.
//
// Upstream: actual_state_of_world.go IsVolumeMountedElsewhere, v1.36.
func (k *kubelet) checkReadWriteOncePod(v *volumeToMount) error {
	pv := v.spec.PersistentVolume
	if pv == nil || !slices.Equal(pv.Spec.AccessModes, []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}) {
		return nil
	}
	if k.actual.volumes.usedElsewhere(v.podVolume) {
		return errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")
	}
	return nil
}

// mountDevice mounts the volume for the node, unless it is already. step is what
// failed.
func (k *kubelet) mountDevice(ctx context.Context, v *volumeToMount) (step string, err error) {
	if v.device == nil {
		return "", nil
	}
	if d := k.actual.devices[v.volume]; d != nil && d.state == stateMounted {
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
	err = mounter.MountDevice(ctx, v.spec, "", path, volume.DeviceMounterArgs{FsGroup: v.mounterArgs().FsGroup})
	k.markDevice(v, path, err)
	if err != nil {
		return "MountDevice", err
	}
	return "", nil
}

// waitForAttach fails if the attach/detach controller's work on the volume is not done.
func waitForAttach(ctx context.Context, v *volumeToMount) error {
	if attacher, ok := v.plugin.(volume.Attacher); ok && v.attachable {
		return attacher.WaitForAttach(ctx, v.spec)
	}
	return nil
}

// markDevice notes whether the volume is mounted for the node: not after an error that is
// final, unless it was found so on the disk, and perhaps after one that leaves it open.
//
// Upstream: operation_generator.go markDeviceErrorState, v1.36.
func (k *kubelet) markDevice(v *volumeToMount, path string, failure error) {
	old := k.actual.devices[v.volume]
	device := &mountedDevice{state: stateMounted, plugin: v.device, spec: v.spec, path: path, block: v.block}
	switch {
	case failure == nil:
		k.actual.devices[v.volume] = device
	case k.cfg.Rules.uncertain(failure) && old == nil:
		device.state = stateUncertain
		k.actual.devices[v.volume] = device
	case volume.IsFinal(failure) && old != nil && old.state == stateUncertain && !old.reconstructed:
		delete(k.actual.devices, v.volume)
	}
}

// setUp mounts the volume for the pod and says so.
func (k *kubelet) setUp(ctx context.Context, v *volumeToMount, mounter volume.Mounter) error {
	old, args := k.actual.volumes.get(v.podVolume), v.mounterArgs()
	known := old != nil // found on disk: no news
	if known {
		args.Reconstructed, args.Remount = old.reconstructed, old.remount
	}
	err := mounter.SetUp(ctx, args)
	path := mounter.GetPath()
	if inPodDir(path) && (err != nil || !known) {
		record := trace.Mount{Op: "mount", About: v.ref(), Volume: v.spec.Name(), Target: path}
		if d := k.actual.devices[v.volume]; d != nil {
			record.Source = d.path
		} else if from, ok := mounter.(volume.MountedFrom); ok {
			record.Source = from.GetSource()
		}
		if mounter.GetAttributes().ReadOnly {
			record.Options = []string{"ro"}
		}
		if err != nil {
			record.Err = err.Error()
		}
		k.env.Trace(record)
	}
	k.markSetUp(v, mounter, err)
	return err
}

// markSetUp notes what is mounted now. A volume that failed and yet left something behind,
// or of which it is not known, is uncertain, so that it is torn down when its pod ends.
//
// Upstream: operation_generator.go markVolumeErrorState, v1.36.
func (k *kubelet) markSetUp(v *volumeToMount, mounter volume.Mounter, failure error) {
	old := k.actual.volumes.get(v.podVolume)
	state := stateMounted
	if failure != nil {
		state = stateUncertain
		_, err := k.fs.Lstat(mounter.GetPath())
		left := err == nil && inPodDir(mounter.GetPath())
		switch {
		case old != nil && old.remount:
			return // what was there is there
		case left || k.cfg.Rules.uncertain(failure) && old == nil:
		case old != nil && volume.IsFinal(failure) && !old.reconstructed && old.state == stateUncertain:
			k.actual.volumes.remove(v.podVolume)
			return
		default:
			return // as it was before
		}
	}
	k.actual.volumes.put(v.podVolume, &mountedVolume{
		podVolume: v.podVolume, state: state, plugin: v.plugin, spec: v.spec, reconstructed: failure != nil && old != nil && old.reconstructed,
		path: mounter.GetPath(), readOnly: mounter.GetAttributes().ReadOnly, about: v.ref(),
	})
	if v.plugin.RequiresRemount(v.spec) {
		k.syncRegularly()
	}
}

func inPodDir(path string) bool { return strings.HasPrefix(path, podsDir+"/") }

// unmountVolume takes a volume away from a pod, unless it is wanted again.
//
// Upstream: operation_generator.go GenerateUnmountVolumeFunc, v1.36.
func (k *kubelet) unmountVolume(ctx context.Context, key podVolume) error {
	v := k.actual.volumes.get(key)
	if v == nil || k.desired.get(key) != nil {
		return nil
	}
	if v.block {
		return k.unmapVolume(ctx, v)
	}
	if err := k.cleanSubPaths(key.pod, v.spec.Name()); err != nil {
		return fmt.Errorf("error cleaning subPath mounts for volume %q : %w", v.spec.Name(), err)
	}
	unmounter, err := v.plugin.NewUnmounter(v.spec.Name(), key.pod)
	if err == nil {
		err = unmounter.TearDown(ctx)
	}
	about := v.about
	if w := k.workers[key.pod]; w != nil {
		about = w.ref()
	}
	record := trace.Mount{Op: "unmount", About: about, Volume: v.spec.Name(), Target: v.path}
	if err != nil {
		v.state = stateUncertain // SetUp is called for the pod if it wants the volume again
		err = fmt.Errorf("UnmountVolume.TearDown failed for volume %q : %w", v.spec.Name(), err)
		record.Err = err.Error()
	}
	if inPodDir(v.path) {
		k.env.Trace(record)
	}
	if err != nil {
		return err
	}
	k.actual.volumes.remove(key)
	return nil
}

// unmountDevice takes a volume off the node when no pod has it any more.
//
// Upstream: operation_generator.go GenerateUnmountDeviceFunc, v1.36.
func (k *kubelet) unmountDevice(ctx context.Context, name v1.UniqueVolumeName) error {
	d := k.actual.devices[name]
	if d == nil || k.desired.volumes.uses(name) || k.actual.volumes.uses(name) {
		return nil
	}
	if d.block {
		if err := k.unmapDevice(ctx, d); err != nil {
			return err
		}
		delete(k.actual.devices, name)
		k.sizes.forget(name)
		return nil
	}
	unmounter, err := d.plugin.NewDeviceUnmounter()
	if err == nil {
		err = unmounter.UnmountDevice(ctx, d.path)
	}
	if err != nil {
		d.state = stateUncertain // MountDevice is called for the next pod
		return fmt.Errorf("UnmountDevice failed for volume %q : %w", name, err)
	}
	delete(k.actual.devices, name)
	k.sizes.forget(name)
	return nil
}
