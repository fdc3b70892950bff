package pvcontroller

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
)

// podRecycler scrubs volumes in a pod that mounts them and deletes everything in
// there. The scheduler chooses the node, also for a hostPath, whose data is on one.
// Upstream: pkg/volume/util/recyclerclient, and the Recycle of the plugins host_path and
// nfs, v1.37.
type podRecycler struct {
	client   kubernetes.Interface
	clock    control.Clock
	recorder control.Recorder
	// source is the pod's volume for volumes of the plugin's kind, nil for others.
	source func(volume *v1.PersistentVolume) *v1.VolumeSource
	// A pod may run this long, and longer for each GiB of the volume.
	minimum, perGi time.Duration
}

// Recycler pods are in this namespace, and are looked at this often.
const (
	recyclerNamespace = metav1.NamespaceDefault
	recyclerInterval  = time.Second
)

// builtinRecyclers returns the recyclers upstream has, with its default timeouts.
// Upstream: cmd/kube-controller-manager/app/plugins.go
// ProbeProvisionableRecyclableVolumePlugins, v1.37.
func builtinRecyclers(client kubernetes.Interface, clock control.Clock, recorder control.Recorder) map[string]Recycler {
	recycler := func(minimum time.Duration, source func(*v1.PersistentVolume) *v1.VolumeSource) Recycler {
		return &podRecycler{
			client: client, clock: clock, recorder: recorder,
			source: source, minimum: minimum, perGi: 30 * time.Second,
		}
	}
	return map[string]Recycler{
		HostPathPlugin: recycler(time.Minute, func(volume *v1.PersistentVolume) *v1.VolumeSource {
			if volume.Spec.HostPath == nil {
				return nil
			}
			return &v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: volume.Spec.HostPath.Path}}
		}),
		NFSPlugin: recycler(5*time.Minute, func(volume *v1.PersistentVolume) *v1.VolumeSource {
			nfs := volume.Spec.NFS
			if nfs == nil {
				return nil
			}
			return &v1.VolumeSource{NFS: &v1.NFSVolumeSource{Server: nfs.Server, Path: nfs.Path}}
		}),
	}
}

// CanSupport implements Recycler.
func (r *podRecycler) CanSupport(volume *v1.PersistentVolume) bool { return r.source(volume) != nil }

// Recycle implements Recycler: it runs a recycler pod to its end and deletes it. A pod
// that is there already was left behind by a crash; it is deleted, and the next attempt
// makes a new one.
// Upstream: recycler_client.go internalRecycleVolumeByWatchingPodUntilCompletion, v1.37.
func (r *podRecycler) Recycle(ctx context.Context, volume *v1.PersistentVolume) error {
	pod, err := r.client.CoreV1().Pods(recyclerNamespace).Create(ctx, r.pod(volume), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if err := r.deletePod(ctx, "recycler-for-"+volume.Name); err != nil {
			return fmt.Errorf("failed to delete old recycler pod: %w", err)
		}
		return errors.New("old recycler pod found, will retry later")
	}
	if err != nil {
		return fmt.Errorf("unexpected error creating recycler pod: %w", err)
	}
	failed := r.waitForPod(ctx, volume, pod)
	left := r.deletePod(ctx, pod.Name)
	switch {
	case failed != nil: // the pod, if it is left, is deleted in the next attempt
		return fmt.Errorf("failed to recycle volume: %w", failed)
	case left != nil:
		return fmt.Errorf("failed to delete recycler pod: %w", left)
	}
	return nil
}

// scrub deletes all that is in /scrub, and fails if something is left.
// Upstream: pkg/volume NewPersistentVolumeRecyclerPodTemplate, v1.37.
const scrub = `test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1`

// pod returns the recycler pod.
// Upstream: pkg/volume NewPersistentVolumeRecyclerPodTemplate, v1.37.
func (r *podRecycler) pod(volume *v1.PersistentVolume) *v1.Pod {
	deadline := r.deadline(volume)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: recyclerNamespace, Name: "recycler-for-" + volume.Name},
		Spec: v1.PodSpec{
			ActiveDeadlineSeconds: &deadline,
			RestartPolicy:         v1.RestartPolicyNever,
			Volumes:               []v1.Volume{{Name: "vol", VolumeSource: *r.source(volume)}},
			Containers: []v1.Container{{
				Name:         "pv-recycler",
				Image:        "registry.k8s.io/build-image/debian-base:bookworm-v1.0.6",
				Command:      []string{"/bin/sh"},
				Args:         []string{"-c", scrub},
				VolumeMounts: []v1.VolumeMount{{Name: "vol", MountPath: "/scrub"}},
			}},
		},
	}
}

// deadline returns the time that the pod may run, in seconds.
// Upstream: pkg/volume/util CalculateTimeoutForVolume, v1.37.
func (r *podRecycler) deadline(volume *v1.PersistentVolume) int64 {
	size := volume.Spec.Capacity[v1.ResourceStorage]
	return max(int64(r.minimum/time.Second), size.Value()>>30*int64(r.perGi/time.Second))
}

// waitForPod waits until the pod has ended and passes on what is said of it.
// Upstream: recycler_client.go waitForPod, v1.37.
func (r *podRecycler) waitForPod(ctx context.Context, volume *v1.PersistentVolume, launched *v1.Pod) error {
	said := map[string]bool{}
	phase := v1.PodPending
	limit := time.Duration(*launched.Spec.ActiveDeadlineSeconds) * time.Second
	err := r.clock.Poll(ctx, recyclerInterval, limit, func(ctx context.Context) (bool, error) {
		if err := r.passOn(ctx, volume, launched, said); err != nil {
			return false, err
		}
		pod, err := r.client.CoreV1().Pods(recyclerNamespace).Get(ctx, launched.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && pod.UID != launched.UID:
			return false, errors.New("recycler pod was deleted")
		case err != nil:
			return false, err
		case pod.Status.Phase == v1.PodFailed && pod.Status.Message != "":
			return false, errors.New(pod.Status.Message)
		case pod.Status.Phase == v1.PodFailed:
			return false, errors.New("pod failed, pod.Status.Message unknown")
		}
		phase = pod.Status.Phase
		return phase == v1.PodSucceeded, nil
	})
	if errors.Is(err, control.ErrTimeout) && ctx.Err() == nil { // and not the caller's own deadline
		return fmt.Errorf("recycler pod is still %s after %s", phase, limit)
	}
	return err
}

// passOn repeats the pod's events on the volume, each once.
// Upstream: recycler_client.go waitForPod and WatchPod, v1.37.
func (r *podRecycler) passOn(ctx context.Context, volume *v1.PersistentVolume, pod *v1.Pod, said map[string]bool) error {
	events, err := r.client.CoreV1().Events(recyclerNamespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(pod.UID)).String(),
	})
	if err != nil {
		return err
	}
	for i := range events.Items {
		if event := &events.Items[i]; !said[event.Name] {
			said[event.Name] = true
			r.recorder.Eventf(volume, event.Type, recyclerPod, "Recycler pod: %s", event.Message)
		}
	}
	return nil
}

// deletePod deletes the pod; one that is gone is deleted.
func (r *podRecycler) deletePod(ctx context.Context, name string) error {
	err := r.client.CoreV1().Pods(recyclerNamespace).Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
