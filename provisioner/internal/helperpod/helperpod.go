// Package helperpod runs the pods by which OpenEBS does something on a node: it
// creates one, looks at it every second until it has succeeded or failed or time is
// up, and deletes it in any case. It also creates what the helper pods of this library's
// provisioners need.
//
// Everything may be done twice. A pod of the same name that is there already was
// left behind by a crash. It is not trusted, since it may belong to another node
// or its work may have been undone since, but deleted and made anew.
//
// Upstream: OpenEBS' cmd/provisioner-localpv/app/helper_hostpath.go, which takes a
// leftover pod for its own, and only logs that a pod could not be deleted, where
// this is an error that has the call repeated. OpenEBS 4.0 waits out the time of a
// pod that has failed already.
package helperpod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// Interval is the interval at which a pod is looked at.
const Interval = time.Second

// Runner runs helper pods.
type Runner struct {
	Client kubernetes.Interface
	Clock  control.Clock
	// Timeout is the time that a pod may take.
	Timeout time.Duration
	// Trace, if set, records what deviates from upstream.
	Trace func(trace.Record)
}

// deviate records that a situation arose with a pod.
func (r Runner) deviate(s trace.Situation, pod *v1.Pod) {
	if r.Trace != nil {
		r.Trace(trace.Deviate(s, trace.RefOf("Pod", pod)))
	}
}

// Run runs the pod to its end and deletes it, however it ended. The error says
// why the pod has not succeeded, or that it could not be deleted.
func (r Runner) Run(ctx context.Context, pod *v1.Pod) error {
	launched, err := r.launch(ctx, pod)
	if err != nil {
		return err
	}
	failed := r.await(ctx, launched)
	left := r.delete(ctx, launched)
	if failed != nil && left != nil {
		return fmt.Errorf("%w; and %w", failed, left)
	}
	return cmp.Or(failed, left)
}

// launch creates the pod; one that is there already gives way.
func (r Runner) launch(ctx context.Context, pod *v1.Pod) (*v1.Pod, error) {
	pods := r.Client.CoreV1().Pods(pod.Namespace)
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return created, err
	}
	r.deviate(trace.LeftoverHelper, pod)
	if err := r.delete(ctx, pod); err != nil {
		return nil, err
	}
	err = r.Clock.Poll(ctx, Interval, r.Timeout, func(ctx context.Context) (bool, error) {
		_, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return nil, fmt.Errorf("an earlier pod of that name does not go away: %w", err)
	}
	return pods.Create(ctx, pod, metav1.CreateOptions{})
}

// await waits until the pod has succeeded.
func (r Runner) await(ctx context.Context, launched *v1.Pod) error {
	name := control.Key(launched)
	err := r.Clock.Poll(ctx, Interval, r.Timeout, func(ctx context.Context) (bool, error) {
		pod, err := r.Client.CoreV1().Pods(launched.Namespace).Get(ctx, launched.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if pod.Status.Phase == v1.PodFailed {
			return false, fmt.Errorf("helper pod %s has failed%s", name, whyFailed(pod))
		}
		return pod.Status.Phase == v1.PodSucceeded, nil
	})
	if errors.Is(err, control.ErrTimeout) && ctx.Err() == nil { // and not the caller's own deadline
		return fmt.Errorf("create process timeout after %v seconds", r.Timeout.Seconds())
	}
	return err
}

// delete deletes the pod; one that is gone is deleted.
func (r Runner) delete(ctx context.Context, pod *v1.Pod) error {
	err := r.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		r.deviate(trace.HelperStays, pod)
		return fmt.Errorf("cannot delete helper pod %s: %w", control.Key(pod), err)
	}
	return nil
}

// whyFailed returns what the pod says of its failure, if anything.
func whyFailed(pod *v1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 {
			why := fmt.Sprintf(": %s exited with %d", status.Name, ended.ExitCode)
			if ended.Message != "" {
				why += ": " + ended.Message
			}
			return why
		}
	}
	if pod.Status.Message != "" {
		return ": " + pod.Status.Message
	}
	return ""
}
