package daemonset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/workload"
)

// burstReplicas is the number of pods that are created, and deleted, in one go.
// Upstream: daemon_controller.go BurstReplicas, v1.37.
const burstReplicas = 250

// manage creates pods on the nodes that lack one and deletes those that are too many, or on nodes that they do not fit.
// Upstream: daemon_controller.go manage, v1.37.
func (l *look) manage(ctx context.Context) error {
	on, err := l.podsByNode(ctx, false)
	if err != nil {
		return err
	}
	var lacking []string
	var surplus []*v1.Pod
	for node := range l.nodes.All() {
		lacks, tooMany := l.podsShouldBeOnNode(node, on[node.Name])
		if lacks {
			lacking = append(lacking, node.Name)
		}
		surplus = append(surplus, tooMany...)
	}
	return l.syncNodes(ctx, append(surplus, l.unscheduledWithoutNode(on)...), lacking)
}

// unscheduledWithoutNode returns pods for nodes that are gone: the scheduler never places them, and the pod garbage collector does not find them.
// Upstream: daemon_controller.go getUnscheduledPodsWithoutNode, v1.37.
func (l *look) unscheduledWithoutNode(on map[string][]*v1.Pod) (pods []*v1.Pod) {
	for _, name := range slices.Sorted(maps.Keys(on)) {
		if _, exists := l.nodes.Get(name); exists {
			continue
		}
		for _, pod := range on[name] {
			if pod.Spec.NodeName == "" {
				pods = append(pods, pod)
			}
		}
	}
	return pods
}

// podsShouldBeOnNode reports whether the node lacks a pod, and which of its pods are to be deleted.
// Upstream: daemon_controller.go podsShouldBeOnNode, v1.37.
func (l *look) podsShouldBeOnNode(node *v1.Node, pods []*v1.Pod) (lacks bool, surplus []*v1.Pod) {
	shouldRun, shouldContinue := shouldRunOn(node, l.set, l.tolerations)
	if shouldRun && len(pods) == 0 {
		return true, nil
	}
	alive := slices.DeleteFunc(slices.Clone(pods), func(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil })
	if !shouldContinue {
		return false, alive
	}
	var running []*v1.Pod
	for _, pod := range alive {
		switch {
		case !workload.HasEnded(pod):
			running = append(running, pod)
		case l.mayReplace(node, pod):
			surplus = append(surplus, pod)
		}
	}
	switch {
	case allowsSurge(l.set) && len(running) == 0:
		return shouldRun, surplus
	case allowsSurge(l.set):
		return false, append(surplus, l.beyondSurge(running)...)
	case len(running) > 1:
		surplus = append(surplus, running[1:]...)
	}
	return false, surplus
}

// beyondSurge returns the pods of one node that go while a new pod may run beside an old one: all but the oldest of each
// template, and the old one if it is not ready or if the new one is available. pods are ordered by age.
func (l *look) beyondSurge(pods []*v1.Pod) (surplus []*v1.Pod) {
	if len(pods) < 2 {
		return nil
	}
	var newest, old *v1.Pod
	for _, pod := range pods {
		of := &old
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] == l.hash {
			of = &newest
		}
		if *of == nil {
			*of = pod
		} else {
			surplus = append(surplus, pod)
		}
	}
	if newest != nil && old != nil && (!podstatus.IsReady(old) || l.isAvailable(newest)) {
		surplus = append(surplus, old)
	}
	return surplus
}

// mayReplace reports, with an event, that a pod which has ended goes now, so that another is made. A failed one may have to wait: the next would fail as well.
func (l *look) mayReplace(node *v1.Node, pod *v1.Pod) bool {
	if pod.Status.Phase == v1.PodSucceeded {
		l.recorder.Eventf(l.set, v1.EventTypeNormal, "SucceededDaemonPod", "Found succeeded daemon pod %s/%s on node %s, will try to delete it",
			pod.Namespace, pod.Name, node.Name)
		return true
	}
	key, now := failureKey(l.set, node.Name), l.env.Now()
	last := l.failures[key]
	if wait := last.backoff - now.Sub(last.at); wait > 0 {
		l.later(last.backoff)
		return false
	}
	l.failures[key] = last.next(now)
	l.recorder.Eventf(l.set, v1.EventTypeWarning, "FailedDaemonPod", "Found failed daemon pod %s/%s on node %s, will try to kill it", pod.Namespace,
		pod.Name, node.Name)
	return true
}

// later queues the DaemonSet after a time. Settling does not wait for longer ones.
func (l *look) later(d time.Duration) {
	if d > time.Minute {
		workload.Later(l.env, l.queue, l.key, d)
		return
	}
	l.queue.AddAfter(l.key, d)
}

// The waits between failed pods of a DaemonSet on a node.
// Upstream: cmd/kube-controller-manager/app/apps.go newDaemonSetController, v1.37.
const (
	firstBackoff = time.Second
	maxBackoff   = 15 * time.Minute
)

// failure is the last deletion of a failed pod. backoff is the time from then on in which no other is deleted; 0 if there was none.
type failure struct {
	at      time.Time
	backoff time.Duration
}

// next returns the failure at that time. It waits twice as long as the last, unless that was long ago.
// Upstream: client-go flowcontrol Backoff.Next, v0.37.
func (f failure) next(now time.Time) failure {
	if f.backoff == 0 || now.Sub(f.at) > 2*maxBackoff {
		return failure{now, firstBackoff}
	}
	return failure{now, min(2*f.backoff, maxBackoff)}
}

// failureKey returns the key of the failures of a DaemonSet on a node. A new generation begins anew.
// Upstream: daemon_controller.go failedPodsBackoffKey, v1.37.
func failureKey(set *appsv1.DaemonSet, node string) string {
	return fmt.Sprintf("%s/%d/%s", set.UID, set.Status.ObservedGeneration, node)
}

// syncNodes creates a pod on each of the nodes, and deletes pods.
// Upstream: daemon_controller.go syncNodes, v1.37.
func (l *look) syncNodes(ctx context.Context, surplus []*v1.Pod, lacking []string) error {
	surplus, lacking = surplus[:min(len(surplus), burstReplicas)], lacking[:min(len(lacking), burstReplicas)]
	uids := make([]types.UID, len(surplus))
	for i, pod := range surplus {
		uids[i] = pod.UID
	}
	l.expectations.Expect(l.key, len(lacking), uids...)
	made, err := workload.SlowStart(len(lacking), func(i int) error {
		err := l.control.Create(ctx, l.set, l.newPod(lacking[i]))
		if apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause) {
			return nil
		}
		return err
	})
	l.expectations.CreationObserved(l.key, len(lacking)-made)
	errs := []error{err}
	for _, pod := range surplus {
		if err := l.control.Delete(ctx, l.set, pod); err != nil {
			l.expectations.DeletionObserved(l.key, pod.UID)
			if !apierrors.IsNotFound(err) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// newPod returns the pod for a node.
// Upstream: daemonset_util.go CreatePodTemplate, v1.37.
func (l *look) newPod(node string) *v1.Pod {
	pod := workload.PodFromTemplate(&l.set.Spec.Template, l.set, controllerKind())
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if n, known := templateGeneration(l.set); known {
		pod.Labels[generationLabel] = strconv.FormatInt(n, 10)
	}
	pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = l.hash
	pod.Spec.Tolerations = podTolerations(l.set)
	pod.Spec.Affinity = withNodeName(pod.Spec.Affinity, node)
	return pod
}

// generationLabel is the label of pods with the generation of their template.
// Upstream: extensions/v1beta1 DaemonSetTemplateGenerationKey, v0.37.
const generationLabel = "pod-template-generation"

// templateGeneration returns the generation of the template, which the API server counts in an annotation.
// Upstream: daemonset_util.go GetTemplateGeneration, v1.37.
func templateGeneration(set *appsv1.DaemonSet) (n int64, known bool) {
	n, err := strconv.ParseInt(set.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	return n, err == nil
}

// isUpdated reports whether the pod is of the present template.
// Upstream: daemonset_util.go IsPodUpdated, v1.37.
func (l *look) isUpdated(pod *v1.Pod) bool {
	n, known := templateGeneration(l.set)
	return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == l.hash || known && pod.Labels[generationLabel] == strconv.FormatInt(n, 10)
}

func (l *look) isAvailable(pod *v1.Pod) bool {
	return workload.IsAvailable(pod, l.set.Spec.MinReadySeconds, l.env.Now())
}
