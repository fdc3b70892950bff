package daemonset

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/semantic"
)

// updateStatus counts nodes and writes the status if it has changed. observed says that what the present generation asks for has been done.
// Upstream: daemon_controller.go updateDaemonSetStatus, storeDaemonSetStatus, v1.37.
func (l *look) updateStatus(ctx context.Context, observed bool) error {
	status, err := l.calculateStatus(ctx)
	if err != nil {
		return err
	}
	if observed {
		status.ObservedGeneration = l.set.Generation
	}
	if set := l.set; !semantic.Equal(&set.Status, status) {
		next := set.DeepCopy()
		next.Status = *status
		_, err := l.client.AppsV1().DaemonSets(set.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) { // it has just been deleted
			return nil
		}
		if err != nil {
			return fmt.Errorf("error storing status for daemon set %s: %w", l.key, err)
		}
	}
	if l.set.Spec.MinReadySeconds > 0 && status.NumberReady != status.NumberAvailable {
		l.queue.AddAfter(l.key, time.Duration(l.set.Spec.MinReadySeconds)*time.Second)
	}
	return nil
}

// calculateStatus counts the nodes that should have a pod, and of them those whose oldest pod is ready, available and of the
// present template. Nodes that should have none and have one are misscheduled.
func (l *look) calculateStatus(ctx context.Context) (*appsv1.DaemonSetStatus, error) {
	on, err := l.podsByNode(ctx, false)
	if err != nil {
		return nil, err
	}
	status := &appsv1.DaemonSetStatus{
		ObservedGeneration: l.set.Status.ObservedGeneration, CollisionCount: l.set.Status.CollisionCount, Conditions: l.set.Status.Conditions,
	}
	for node := range l.nodes.All() {
		pods := on[node.Name]
		shouldRun, _ := shouldRunOn(node, l.set, l.tolerations)
		switch {
		case shouldRun:
			status.DesiredNumberScheduled++
		case len(pods) > 0:
			status.NumberMisscheduled++
		}
		if !shouldRun || len(pods) == 0 {
			continue
		}
		status.CurrentNumberScheduled++
		if podstatus.IsReady(pods[0]) {
			status.NumberReady++
		}
		if l.isAvailable(pods[0]) {
			status.NumberAvailable++
		}
		if l.isUpdated(pods[0]) {
			status.UpdatedNumberScheduled++
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	return status, nil
}
