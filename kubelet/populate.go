package kubelet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/volume"
)

// pvcProtection is the finalizer that keeps a claim in use alive.
const pvcProtection = "kubernetes.io/pvc-protection"

// backOffPeriod is how long a pod some of whose volumes could not be processed waits
// until they are processed again, and one whose image could not be pulled until it is
// looked at.
//
// Upstream: kubelet.go backOffPeriod, v1.36, and up to half as long again.
const backOffPeriod = 10 * time.Second

// podAttachAndMountRetryInterval is how often a pod that waits for its volumes looks
// for them.
//
// Upstream: volume_manager.go podAttachAndMountRetryInterval, v1.36.
const podAttachAndMountRetryInterval = 300 * time.Millisecond

// populatePod adds a pod's volumes to the desired state of the world. Of those that are there
// it looks at the size.
func (k *kubelet) populatePod(ctx context.Context, key string) error {
	w := k.workers[types.UID(key)]
	switch {
	case w == nil || !w.wantsVolumes():
		k.seen(types.UID(key))
		return nil
	case w.populated:
		k.seen(types.UID(key))
		k.checkVolumeFSResize(ctx, w)
		return nil
	}
	if k.processPodVolumes(ctx, w); k.cannotProcess(w) {
		k.processAgain(w)
	}
	return nil
}

// cannotProcess says whether some of the volumes of a pod that wants them could not be
// processed.
func (k *kubelet) cannotProcess(w *podWorker) bool { return !w.populated && w.wantsVolumes() }

// processAgain tells a pod which of its volumes could not be processed, when the others
// had time to be mounted, and has them processed again and again. Whoever waits for the
// cluster to come to rest waits for that as long as the world changes.
//
// Upstream: kubelet.go SyncPod and pod_workers.go completeWork, v1.36.
func (k *kubelet) processAgain(w *podWorker) {
	if w.processing {
		return
	}
	w.processing = true
	k.env.Go("volumes of "+w.ref().String(), func(ctx context.Context) {
		defer func() { w.processing = false }()
		if err := k.env.Sleep(ctx, podAttachAndMountRetryInterval); err != nil || !k.cannotProcess(w) {
			return
		}
		k.failedMount(w)
		_ = k.env.Poll(ctx, backOffPeriod, 0, func(ctx context.Context) (bool, error) { // it ends when all are processed
			if k.cannotProcess(w) {
				k.processPodVolumes(ctx, w)
			}
			if !k.cannotProcess(w) {
				return true, nil
			}
			k.failedMount(w)
			return false, nil
		})
	})
}

// processPodVolumes adds those of a pod's volumes that its containers use to the desired
// state of the world.
//
// Upstream: desired_state_of_world_populator.go processPodVolumes, v1.36.
func (k *kubelet) processPodVolumes(ctx context.Context, w *podWorker) {
	pod := w.pod
	mounts, devices := podVolumeNames(pod)
	var errs []string
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if !mounts[v.Name] && !devices[v.Name] {
			continue // no container uses it
		}
		if err := k.desireVolume(ctx, w, pod, v, mounts, devices); err != nil {
			errs = append(errs, err.Error())
		}
	}
	slices.Sort(errs)
	w.errors = slices.Compact(errs)
	w.populated = len(errs) == 0
	k.seen(w.uid)
}

// seen notes that a pod was looked at, and has it and the volumes looked at
// again. After the last one that was waited for, unmounting may begin, and pods
// that wait to end can.
func (k *kubelet) seen(uid types.UID) {
	waited := !k.allPodsSeen()
	delete(k.unseen, uid)
	k.touchPod(uid)
	k.podQueue.Add(string(uid))
	if !waited || !k.allPodsSeen() {
		return
	}
	for _, other := range slices.Sorted(maps.Keys(k.waiting)) {
		k.podQueue.Add(string(other))
	}
	clear(k.waiting)
}

// desireVolume finds out what a pod's volume is, and desires it.
func (k *kubelet) desireVolume(ctx context.Context, w *podWorker, pod *v1.Pod, v *v1.Volume, mounts, devices map[string]bool) error {
	spec, err := k.createVolumeSpec(ctx, pod, v)
	if err != nil {
		return err
	}
	if err := checkVolumeMode(spec, v.Name, mounts[v.Name], devices[v.Name]); err != nil {
		return err
	}
	plugin, err := k.plugins.FindPluginBySpec(spec)
	if err != nil {
		return fmt.Errorf("failed to get Plugin from volumeSpec for volume %q err=%w", spec.Name(), err)
	}
	device, err := k.plugins.FindDeviceMountablePluginBySpec(spec)
	if err != nil {
		return err
	}
	attachable, err := isAttachable(plugin, spec)
	if err != nil {
		return err
	}
	name, err := getUniqueVolumeName(spec, plugin, device != nil || attachable, pod.UID)
	if err != nil {
		return fmt.Errorf("failed to get unique name of volume %q: %w", v.Name, err)
	}
	if w.wantsVolumes() { // it may have ended while the API was asked
		k.desired.add(&volumeToMount{
			podVolume: podVolume{volume: name, pod: pod.UID}, outerName: v.Name,
			about: pod, spec: spec, plugin: plugin, device: device, block: devices[v.Name], attachable: attachable,
		})
		if attachable {
			k.noteAttachable(name)
		}
	}
	return nil
}

// createVolumeSpec is the volume itself, or the PersistentVolume behind it.
//
// Upstream: desired_state_of_world_populator.go createVolumeSpec, v1.36.
func (k *kubelet) createVolumeSpec(ctx context.Context, pod *v1.Pod, v *v1.Volume) (*volume.Spec, error) {
	name := binding.ClaimOfVolume(pod, v)
	if name == "" {
		return volume.NewSpecFromVolume(v.DeepCopy()), nil
	}
	pvc, err := k.getPVC(ctx, pod.Namespace, name)
	if err == nil && v.Ephemeral != nil && !metav1.IsControlledBy(pvc, pod) {
		return nil, fmt.Errorf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", pvc.Namespace, pvc.Name, pod.Namespace, pod.Name)
	}
	var pv *v1.PersistentVolume
	if err == nil {
		pv, err = k.getPV(ctx, pvc)
	}
	if err != nil {
		return nil, fmt.Errorf("error processing PVC %s/%s: %w", pod.Namespace, name, err)
	}
	return volume.NewSpecFromPersistentVolume(pv, v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly), nil
}

// getPVC reads the claim, live, and checks that it may be used: bound, and not
// about to go.
//
// Upstream: desired_state_of_world_populator.go getPVCExtractPV, v1.36.
func (k *kubelet) getPVC(ctx context.Context, namespace, name string) (*v1.PersistentVolumeClaim, error) {
	pvc, err := k.env.Client().CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("failed to fetch PVC from API server: %w", err)
	case pvc.DeletionTimestamp != nil && !slices.Contains(pvc.Finalizers, pvcProtection):
		return nil, errors.New("PVC is being deleted")
	case pvc.Status.Phase != v1.ClaimBound:
		return nil, errors.New("PVC is not bound")
	case pvc.Spec.VolumeName == "":
		return nil, errors.New("PVC has empty pvc.Spec.VolumeName")
	}
	return pvc, nil
}

// getPV reads the claim's volume, live, and checks that the volume means this
// claim and not an earlier one of the same name.
//
// Upstream: desired_state_of_world_populator.go getPVSpec, v1.36.
func (k *kubelet) getPV(ctx context.Context, pvc *v1.PersistentVolumeClaim) (*v1.PersistentVolume, error) {
	pv, err := k.env.Client().CoreV1().PersistentVolumes().Get(ctx, pvc.Spec.VolumeName, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("failed to fetch PV %s from API server: %w", pvc.Spec.VolumeName, err)
	case pv.Spec.ClaimRef == nil:
		return nil, fmt.Errorf("found PV object %s but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim", pv.Name)
	case pv.Spec.ClaimRef.UID != pvc.UID:
		return nil, fmt.Errorf("found PV object %s but its pv.Spec.ClaimRef.UID %s does not point to claim.UID %s", pv.Name, pv.Spec.ClaimRef.UID, pvc.UID)
	}
	return pv, nil
}

// checkVolumeMode refuses a block volume mounted as a directory and the reverse.
func checkVolumeMode(spec *volume.Spec, name string, mounted, device bool) error {
	mode := v1.PersistentVolumeFilesystem
	if pv := spec.PersistentVolume; pv != nil && pv.Spec.VolumeMode != nil {
		mode = *pv.Spec.VolumeMode
	}
	switch {
	case mounted && mode == v1.PersistentVolumeBlock:
		return fmt.Errorf("volume %s has volumeMode Block, but is specified in volumeMounts", name)
	case device && mode != v1.PersistentVolumeBlock:
		return fmt.Errorf("volume %s has volumeMode %s, but is specified in volumeDevices", name, mode)
	}
	return nil
}

// podVolumeNames are the names of the volumes that containers mount, or use as
// devices.
//
// Upstream: pkg/volume/util GetPodVolumeNames, v1.36.
func podVolumeNames(pod *v1.Pod) (mounts, devices map[string]bool) {
	mounts, devices = map[string]bool{}, map[string]bool{}
	add := func(c *v1.Container) {
		for _, m := range c.VolumeMounts {
			mounts[m.Name] = true
		}
		for _, d := range c.VolumeDevices {
			devices[d.Name] = true
		}
	}
	for i := range pod.Spec.InitContainers {
		add(&pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.EphemeralContainers {
		add((*v1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return mounts, devices
}
