package volumemanager

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// missingVolumes names those of a pod's volumes that containers use and that are not mounted,
// that wait to be attached to the node, and that could not be processed. Each list is sorted.
type missingVolumes struct{ unmounted, unattached, unprocessed []string }

func (m missingVolumes) String() string {
	return fmt.Sprintf("unmounted volumes=%s, unattached volumes=%s, failed to process volumes=%s", m.unmounted, m.unattached, m.unprocessed)
}

// missing returns the volumes that a pod lacks.
func (s *states) missing(pod *v1.Pod) (m missingVolumes) {
	desired := map[string]*volumeToMount{}
	for _, v := range s.desired.ofPod(pod.UID) {
		for _, name := range v.outerNames {
			desired[name] = v
		}
	}
	mounts, devices := podVolumeNames(pod)
	for _, v := range pod.Spec.Volumes {
		if !mounts[v.Name] && !devices[v.Name] {
			continue // no container uses it
		}
		wanted := desired[v.Name]
		if wanted == nil || !s.actual.isMounted(wanted.podVolume) {
			m.unmounted = append(m.unmounted, v.Name)
		}
		if wanted == nil {
			m.unprocessed = append(m.unprocessed, v.Name)
		} else if wanted.attachable && !s.actual.attached[wanted.volume] {
			m.unattached = append(m.unattached, v.Name)
		}
	}
	slices.Sort(m.unmounted)
	slices.Sort(m.unattached)
	slices.Sort(m.unprocessed)
	return m
}

// VolumeAttachLimitExceededError says that a pod lacks volumes because one of them cannot be
// attached: the node has as many as it can have.
//
// Upstream: volume_manager.go VolumeAttachLimitExceededError, v1.37.
type VolumeAttachLimitExceededError struct{ Err error }

func (e *VolumeAttachLimitExceededError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *VolumeAttachLimitExceededError) Unwrap() error { return e.Err }

// WaitTimedOut returns the error of a pod whose volumes are not mounted in time: which ones it
// lacks. It is a *VolumeAttachLimitExceededError if the node is full.
//
// Upstream: volume_manager.go WaitForAttachAndMount, v1.37.
func (vm *VolumeManager) WaitTimedOut(ctx context.Context, uid types.UID) error {
	err := fmt.Errorf("%s: %w", vm.missing(vm.pods.GetPodByUID(uid)), context.DeadlineExceeded)
	if vm.attachLimitExceeded(ctx, uid) {
		return &VolumeAttachLimitExceededError{err}
	}
	return err
}

// areMounted reports whether all volumes of a pod are mounted.
func (s *states) areMounted(uid types.UID) bool {
	return s.desired.isPopulated(uid) &&
		!slices.ContainsFunc(s.desired.ofPod(uid), func(v *volumeToMount) bool { return !s.actual.isMounted(v.podVolume) })
}

// attachLimitExceeded reports whether one of the pod's volumes is not attached because the
// node has as many as it can have.
//
// Upstream: volume_manager.go WaitForAttachAndMount, v1.37.
func (vm *VolumeManager) attachLimitExceeded(ctx context.Context, uid types.UID) bool {
	for _, v := range vm.desired.ofPod(uid) {
		if !v.attachable || vm.actual.attached[v.volume] {
			continue
		}
		plugin, _ := vm.plugins.FindPluginBySpec(v.spec)
		if limited, ok := plugin.(volume.AttachLimitPlugin); ok && limited.VerifyExhaustedResource(ctx, v.spec) {
			return true
		}
	}
	return false
}
