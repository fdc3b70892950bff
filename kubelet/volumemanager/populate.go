package volumemanager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/migration"
	"github.com/storagesim/storagesim/internal/readonly"
	"github.com/storagesim/storagesim/volume"
)

// pvcProtection is the finalizer that keeps a claim in use alive.
const pvcProtection = "kubernetes.io/pvc-protection"

// backOffPeriod is the time after which volumes that could not be processed are processed
// again.
//
// Upstream: kubelet.go backOffPeriod, v1.37, and up to half as long again.
const backOffPeriod = 10 * time.Second

// PodAttachAndMountRetryInterval is the interval at which a pod looks for the volumes that it
// waits for.
//
// Upstream: volume_manager.go podAttachAndMountRetryInterval, v1.37.
const PodAttachAndMountRetryInterval = 300 * time.Millisecond

// syncFrequency is the time after which a pod is synced again, so that its volumes made of API objects are brought up to date.
//
// Upstream: pkg/kubelet/apis/config SyncFrequency, v1.37, and up to half as long again.
const syncFrequency = time.Minute

// populator adds the volumes of the node's pods to the desired state of the world: from the
// pod to its claim, to the claim's PersistentVolume.
//
// Upstream: desired_state_of_world_populator.go, v1.37.
type populator struct {
	*given
	*states

	attachments *attachments
	queue       control.Queue
	// waiting holds the pods that are woken when all pods have been looked at.
	waiting map[types.UID]bool
}

// populatePod adds a pod's volumes to the desired state of the world. If they are there
// already, it only checks their sizes.
func (p *populator) populatePod(ctx context.Context, key string) error {
	if err := p.ComesRound(ctx, loopPeriod); err != nil {
		return err
	}
	uid := types.UID(key)
	switch {
	case !p.pods.WantsVolumes(uid):
		p.seen(uid)
		return nil
	case p.desired.isPopulated(uid):
		p.seen(uid)
		p.checkVolumeFSResize(ctx, uid)
		return nil
	}
	if p.processPodVolumes(ctx, uid); p.cannotProcess(uid) {
		p.processAgain(uid)
	}
	return nil
}

// cannotProcess reports whether the pod wants volumes that could not be processed.
func (p *populator) cannotProcess(uid types.UID) bool {
	return !p.desired.isPopulated(uid) && p.pods.WantsVolumes(uid)
}

// processAgain starts a task that processes a pod's volumes until it has succeeded. The task
// first waits until the other volumes had time to be mounted, and then tells the pod which
// volumes failed, after each round. Settling waits for the task as long as the world changes.
//
// Upstream: kubelet.go SyncPod and pod_workers.go completeWork, v1.37.
func (p *populator) processAgain(uid types.UID) {
	state := p.desired.pods[uid]
	if state.retrying {
		return
	}
	state.retrying = true
	p.env.Go("volumes of "+p.podRef(uid).String(), func(ctx context.Context) {
		defer func() { state.retrying = false }() // the pod may go out of sight, and come back
		if err := p.env.Sleep(ctx, PodAttachAndMountRetryInterval); err != nil || !p.cannotProcess(uid) {
			return
		}
		p.failedMount(uid)
		_ = p.env.Poll(ctx, backOffPeriod, 0, func(ctx context.Context) (bool, error) { // it ends when all are processed
			if err := p.ComesRound(ctx, backOffPeriod/2); err != nil {
				return false, err
			}
			if p.cannotProcess(uid) {
				p.processPodVolumes(ctx, uid)
			}
			if !p.cannotProcess(uid) {
				return true, nil
			}
			p.failedMount(uid)
			return false, nil
		})
	})
}

// failedMount tells the pod which of its volumes could not be processed, and why.
//
// Upstream: volume_manager.go WaitForAttachAndMount and kubelet.go SyncPod, v1.37.
func (p *populator) failedMount(uid types.UID) {
	pod := p.pods.GetPodByUID(uid)
	p.recorder.Eventf(pod, v1.EventTypeWarning, "FailedMount",
		"Unable to attach or mount volumes: %s: %s", p.missing(pod), strings.Join(p.desired.pods[uid].errors, "; "))
}

// processPodVolumes adds the volumes that the pod's containers use to the desired state of
// the world.
//
// Upstream: desired_state_of_world_populator.go processPodVolumes, v1.37.
func (p *populator) processPodVolumes(ctx context.Context, uid types.UID) {
	pod, state := p.pods.GetPodByUID(uid), p.desired.pods[uid]
	mounts, devices := podVolumeNames(pod)
	var errs []string
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if !mounts[v.Name] && !devices[v.Name] {
			continue // no container uses it
		}
		if err := p.addVolume(ctx, pod, v, mounts, devices); err != nil {
			errs = append(errs, err.Error())
		}
	}
	slices.Sort(errs)
	state.errors = slices.Compact(errs)
	state.populated = len(errs) == 0
	p.seen(uid)
}

// waitForAPIServerSyncPeriod is the time after which a kubelet that starts asks for its pods, and the
// populator's first look at them.
//
// Upstream: pkg/kubelet/config/apiserver.go WaitForAPIServerSyncPeriod, and volume_manager.go
// desiredStateOfWorldPopulatorLoopSleepPeriod, v1.37.
const waitForAPIServerSyncPeriod = time.Second + 100*time.Millisecond

// awaitSources keeps what was found on the disk mounted until a real kubelet would know its pods.
//
// Upstream: desired_state_of_world_populator.go Run, v1.37.
func (p *populator) awaitSources(ctx context.Context) {
	if err := p.env.Sleep(ctx, waitForAPIServerSyncPeriod); err == nil {
		p.seen("")
	}
}

// seen notes that a pod was looked at, wakes it, and touches its volumes. After the last pod
// unmounting may begin, and the pods wake that waited for that.
func (p *populator) seen(uid types.UID) {
	delete(p.desired.unseen, uid)
	p.touchPod(uid)
	if uid != "" {
		p.kubelet.WakePod(uid)
	}
	if !p.desired.hasAddedPods() {
		return
	}
	for _, other := range slices.Sorted(maps.Keys(p.waiting)) {
		p.kubelet.WakePod(other)
	}
	clear(p.waiting)
}

// addVolume finds out what a pod's volume is, and adds it to the desired state of the world.
func (p *populator) addVolume(ctx context.Context, pod *v1.Pod, v *v1.Volume, mounts, devices map[string]bool) error {
	spec, err := p.createVolumeSpec(ctx, pod, v)
	if err != nil {
		return err
	}
	if err := checkVolumeMode(spec, v.Name, mounts[v.Name], devices[v.Name]); err != nil {
		return err
	}
	plugin, err := p.plugins.FindPluginBySpec(spec)
	if err != nil {
		return fmt.Errorf("failed to get Plugin from volumeSpec for volume %q err=%w", spec.Name(), err)
	}
	device, err := p.plugins.FindDeviceMountablePluginBySpec(spec)
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
	if p.pods.WantsVolumes(pod.UID) { // it may have ended during the API calls
		p.desired.add(&volumeToMount{
			podVolume: podVolume{volume: name, pod: pod.UID}, outerNames: []string{v.Name},
			about: pod, spec: spec, plugin: plugin, device: device, block: devices[v.Name], attachable: attachable,
		})
		if attachable {
			p.attachments.add(name)
		}
	}
	return nil
}

// createVolumeSpec returns the spec of a pod's volume: of the PersistentVolume that its claim is
// bound to, or of the volume itself if it has no claim. A volume of a plugin that a CSI driver has
// replaced is one of that driver.
//
// Upstream: desired_state_of_world_populator.go createVolumeSpec, v1.37.
func (p *populator) createVolumeSpec(ctx context.Context, pod *v1.Pod, v *v1.Volume) (*volume.Spec, error) {
	name := binding.ClaimOfVolume(pod, v)
	if name == "" {
		pv, err := migration.Inline(v, pod.Namespace)
		if pv == nil {
			return volume.NewSpecFromVolume(v.DeepCopy()), err
		}
		return &volume.Spec{PersistentVolume: pv, Inline: true}, nil
	}
	pvc, err := p.getPVC(ctx, pod.Namespace, name)
	if err == nil && v.Ephemeral != nil && !metav1.IsControlledBy(pvc, pod) {
		return nil, fmt.Errorf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", pvc.Namespace, pvc.Name, pod.Namespace, pod.Name)
	}
	var pv *v1.PersistentVolume
	if err == nil {
		pv, err = p.getPV(ctx, pvc)
	}
	if err != nil {
		return nil, fmt.Errorf("error processing PVC %s/%s: %w", pod.Namespace, name, err)
	}
	pv, err = migration.Volume(pv)
	if err != nil {
		return nil, err
	}
	return volume.NewSpecFromPersistentVolume(pv, v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly), nil
}

// getPVC reads a claim from the API server and checks that it may be used: it is bound, and
// not about to be removed.
//
// Upstream: desired_state_of_world_populator.go getPVCExtractPV, v1.37.
func (p *populator) getPVC(ctx context.Context, namespace, name string) (*v1.PersistentVolumeClaim, error) {
	pvc, err := p.env.Client().CoreV1().PersistentVolumeClaims(namespace).Get(readonly.Answers(ctx), name, metav1.GetOptions{})
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

// getPV reads a claim's PersistentVolume from the API server and checks that it is bound to
// this claim, not to an earlier one of the same name.
//
// Upstream: desired_state_of_world_populator.go getPVSpec, v1.37.
func (p *populator) getPV(ctx context.Context, pvc *v1.PersistentVolumeClaim) (*v1.PersistentVolume, error) {
	pv, err := p.env.Client().CoreV1().PersistentVolumes().Get(readonly.Answers(ctx), pvc.Spec.VolumeName, metav1.GetOptions{})
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

// checkVolumeMode refuses a block volume that is mounted as a directory, and a file system
// that is used as a device.
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

// podVolumeNames returns the names of the volumes that containers mount, and of those that
// they use as devices.
//
// Upstream: pkg/volume/util GetPodVolumeNames, v1.37.
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

// syncRegularly begins, with a pod's first volume that needs it, to look at its volumes a minute after each sync of the pod: at those that must be
// set up again, and at those that may have grown. As long as the pod waits for other volumes its sync goes on.
//
// Upstream: pod_workers.go completeWork, v1.37.
func (p *populator) syncRegularly(uid types.UID) {
	state := p.desired.pods[uid]
	if state == nil || !state.nextSync.IsZero() {
		return
	}
	p.synced(state)
	p.env.Go("sync of "+p.podRef(uid).String(), func(ctx context.Context) {
		for ctx = control.InBackground(ctx); ; p.resync(uid, state) {
			for now := p.env.Now(); now.Before(state.nextSync); now = p.env.Now() {
				if err := p.env.Sleep(ctx, state.nextSync.Sub(now)); err != nil || p.desired.pods[uid] != state {
					return
				}
			}
		}
	})
}

// resync looks at the volumes of a pod that has not been synced for a minute, unless it waits for some of them.
func (p *populator) resync(uid types.UID, state *processedPod) {
	if p.areMounted(uid) {
		p.reprocess(uid)
	} else {
		p.synced(state)
	}
}

// synced notes that a pod is being synced: the next sync is a minute later, if nothing syncs it before.
func (p *populator) synced(state *processedPod) {
	state.nextSync = p.env.Now().Add(syncFrequency + p.Part(syncFrequency/2))
}

// reprocess looks at the volumes of a pod again, because it is synced.
func (p *populator) reprocess(uid types.UID) {
	if state := p.desired.pods[uid]; state != nil && !state.nextSync.IsZero() {
		p.synced(state)
	}
	if p.lacks(uid) {
		p.desired.pods[uid].populated = false
		p.queue.Add(string(uid))
	}
	p.markRemountRequired(uid)
	p.reprocessSizes(uid)
}

// lacks reports whether a container of a pod uses a volume that none used when its volumes were added: an ephemeral container that was added later.
func (p *populator) lacks(uid types.UID) bool {
	if !p.desired.isPopulated(uid) || !p.pods.WantsVolumes(uid) {
		return false
	}
	mounts, devices := podVolumeNames(p.pods.GetPodByUID(uid))
	for _, v := range p.desired.ofPod(uid) {
		for _, name := range v.outerNames {
			delete(mounts, name)
			delete(devices, name)
		}
	}
	return len(mounts)+len(devices) > 0
}

// markRemountRequired makes the pod's volumes whose content comes from API objects be set up
// again.
//
// Upstream: actual_state_of_world.go MarkRemountRequired, v1.37.
func (p *populator) markRemountRequired(uid types.UID) {
	for _, v := range p.desired.ofPod(uid) {
		if m := p.actual.volumes.get(v.podVolume); m != nil && v.plugin.RequiresRemount(v.spec) {
			m.remount = true
			p.touch(v.podVolume)
		}
	}
}

// reprocessSizes queues a pod, if any of its volumes can grow on the node, so that their sizes
// are checked.
func (p *populator) reprocessSizes(uid types.UID) {
	canGrow := func(v *volumeToMount) bool { return expander(v) != nil }
	if p.desired.isPopulated(uid) && slices.ContainsFunc(p.desired.ofPod(uid), canGrow) {
		p.queue.Add(string(uid))
	}
}

// expander returns the plugin of a volume that can grow on the node, nil for others.
//
// Upstream: operation_generator.go checkIfSupportsNodeExpansion, v1.37.
func expander(v *volumeToMount) volume.NodeExpandableVolumePlugin {
	plugin, ok := v.plugin.(volume.NodeExpandableVolumePlugin)
	if !ok || v.spec.PersistentVolume == nil || v.spec.Inline || !plugin.RequiresFSResize() {
		return nil
	}
	return plugin
}

// checkVolumeFSResize reads the sizes that a pod's volumes should have from the API server. If
// one cannot be read, the next round tries again.
//
// Upstream: desired_state_of_world_populator.go checkVolumeFSResize, v1.37.
func (p *populator) checkVolumeFSResize(ctx context.Context, uid types.UID) {
	for _, v := range p.desired.ofPod(uid) {
		if expander(v) == nil || v.spec.ReadOnly {
			continue
		}
		ref := v.spec.PersistentVolume.Spec.ClaimRef
		pvc, err := p.getPVC(ctx, ref.Namespace, ref.Name)
		if err != nil {
			continue
		}
		pv, err := p.getPV(ctx, pvc)
		if err != nil {
			continue
		}
		if pv, err = migration.Volume(pv); err != nil {
			continue
		}
		p.sizes.desired[v.volume] = pv.Spec.Capacity[v1.ResourceStorage]
		p.sizes.initialize(v.volume, pvc.Status.Capacity[v1.ResourceStorage])
		if p.sizes.needsExpansion(v.volume) {
			v.spec = volume.NewSpecFromPersistentVolume(pv, v.spec.ReadOnly)
			p.touch(v.podVolume)
		}
	}
}
