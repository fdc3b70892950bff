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
	"k8s.io/apimachinery/pkg/types"
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
	template *v1.Pod // of all pods, as it was filled in last
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
//
// All recyclings of a plugin fill in one template, a bug of upstream's: those that run at the
// same time create and delete each other's pods.
// Upstream: recycler_client.go internalRecycleVolumeByWatchingPodUntilCompletion, v1.37.
func (r *podRecycler) Recycle(ctx context.Context, volume *v1.PersistentVolume) error {
	r.fillIn(volume)
	w, err := r.watchPod(ctx, volume)
	if err != nil {
		return err
	}
	created, err := r.client.CoreV1().Pods(recyclerNamespace).Create(ctx, r.template.DeepCopy(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if err := r.deletePod(ctx); err != nil {
			return fmt.Errorf("failed to delete old recycler pod %s/%s: %w", recyclerNamespace, r.template.Name, err)
		}
		return errors.New("old recycler pod found, will retry later")
	}
	if err != nil {
		return fmt.Errorf("unexpected error creating recycler pod:  %w", err)
	}
	if created.Name == w.name {
		w.pod = created.UID
	}
	failed := r.waitForPod(ctx, w)
	left := r.deletePod(ctx)
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

// newRecyclerPod returns the template of the recycler pods of a plugin.
// Upstream: pkg/volume NewPersistentVolumeRecyclerPodTemplate, v1.37.
func newRecyclerPod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: recyclerNamespace},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyNever,
			Volumes:       []v1.Volume{{Name: "vol"}},
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

// fillIn makes the template that of the volume's pod, also if another recycling uses it.
// Upstream: the Recycle of the plugins host_path and nfs, v1.37.
func (r *podRecycler) fillIn(volume *v1.PersistentVolume) {
	if r.template == nil {
		r.template = newRecyclerPod()
	}
	deadline := r.deadline(volume)
	r.template.Name = "recycler-for-" + volume.Name
	r.template.Spec.ActiveDeadlineSeconds = &deadline
	r.template.Spec.Volumes[0].VolumeSource = *r.source(volume)
}

// deadline returns the time that the pod may run, in seconds.
// Upstream: pkg/volume/util CalculateTimeoutForVolume, v1.37.
func (r *podRecycler) deadline(volume *v1.PersistentVolume) int64 {
	size := volume.Spec.Capacity[v1.ResourceStorage]
	return max(int64(r.minimum/time.Second), size.Value()>>30*int64(r.perGi/time.Second))
}

// watched has the pods at which a recycling looks, all those of one name, and their events.
type watched struct {
	volume *v1.PersistentVolume
	name   string
	pod    types.UID       // the one that is there, as last seen
	said   map[string]bool // the events that were passed on
}

// watchPod begins to look at the pods of the name in the template. It only notes what is there: that is told to waitForPod.
// Upstream: recycler_client.go WatchPod, v1.37.
func (r *podRecycler) watchPod(ctx context.Context, volume *v1.PersistentVolume) (*watched, error) {
	w := &watched{volume: volume, name: r.template.Name, said: map[string]bool{}}
	pod, err := r.client.CoreV1().Pods(recyclerNamespace).Get(ctx, w.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return w, nil
	}
	if err == nil {
		w.pod = pod.UID
	}
	return w, err
}

// waitForPod waits until the pod has ended and passes on what is said of it.
// Upstream: recycler_client.go waitForPod, v1.37.
func (r *podRecycler) waitForPod(ctx context.Context, w *watched) error {
	return r.clock.Poll(ctx, recyclerInterval, 0, func(ctx context.Context) (bool, error) {
		if err := r.passOn(ctx, w); err != nil {
			return false, err
		}
		pod, err := r.client.CoreV1().Pods(recyclerNamespace).Get(ctx, w.name, metav1.GetOptions{})
		gone := apierrors.IsNotFound(err)
		switch {
		case gone && w.pod == "":
			return false, nil // it never was: another recycling has made its own of the template
		case gone, err == nil && w.pod != "" && pod.UID != w.pod:
			return false, errors.New("recycler pod was deleted")
		case err != nil:
			return false, err
		case pod.Status.Phase == v1.PodFailed && pod.Status.Message != "":
			return false, errors.New(pod.Status.Message)
		case pod.Status.Phase == v1.PodFailed:
			return false, errors.New("pod failed, pod.Status.Message unknown")
		}
		w.pod = pod.UID
		return pod.Status.Phase == v1.PodSucceeded, nil
	})
}

// passOn repeats the events of pods of that name on the volume, each once.
// Upstream: recycler_client.go waitForPod and WatchPod, v1.37.
func (r *podRecycler) passOn(ctx context.Context, w *watched) error {
	events, err := r.client.CoreV1().Events(recyclerNamespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("involvedObject.name", w.name).String(),
	})
	if err != nil {
		return err
	}
	for i := range events.Items {
		if event := &events.Items[i]; !w.said[event.Name] {
			w.said[event.Name] = true
			r.recorder.Eventf(w.volume, event.Type, recyclerPod, "Recycler pod: %s", event.Message)
		}
	}
	return nil
}

// deletePod deletes the pod that is named in the template.
func (r *podRecycler) deletePod(ctx context.Context) error {
	return r.client.CoreV1().Pods(recyclerNamespace).Delete(ctx, r.template.Name, metav1.DeleteOptions{})
}
