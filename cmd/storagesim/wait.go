package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/podstatus"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/trace"
)

// readiness is the state of an object for which --wait waits.
type readiness struct {
	// state is the object's state in words; reached is set if the wait for it is over.
	state   string
	reached bool
}

// readinessOf returns the readiness of an object. ok is false if --wait does not wait for it: its kind has no such state, or a workload
// made it, whose own state counts.
func readinessOf(obj runtime.Object) (r readiness, ok bool) {
	counted := func(kind string, ready, want int32, newest bool) (readiness, bool) {
		return readiness{fmt.Sprintf("%d of %d %s", ready, want, kind), ready >= want && newest}, true
	}
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		return readiness{string(o.Status.Phase), o.Status.Phase == v1.ClaimBound}, true
	case *v1.Pod:
		if metav1.GetControllerOf(o) != nil {
			return readiness{}, false
		}
		ready := podstatus.IsReady(o)
		state := string(o.Status.Phase)
		if o.Status.Phase == v1.PodRunning && !ready {
			state += " and not ready"
		}
		return readiness{state, ready || o.Status.Phase == v1.PodSucceeded}, true
	case *appsv1.StatefulSet:
		return counted("ready", o.Status.ReadyReplicas, replicasOf(o.Spec.Replicas), o.Status.ObservedGeneration >= o.Generation)
	case *appsv1.Deployment:
		want := replicasOf(o.Spec.Replicas)
		newest := o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedReplicas >= want && o.Status.Replicas <= o.Status.UpdatedReplicas
		return counted("available", o.Status.AvailableReplicas, want, newest)
	case *appsv1.ReplicaSet:
		if metav1.GetControllerOf(o) != nil {
			return readiness{}, false
		}
		return counted("ready", o.Status.ReadyReplicas, replicasOf(o.Spec.Replicas), o.Status.ObservedGeneration >= o.Generation)
	case *v1.ReplicationController:
		return counted("ready", o.Status.ReadyReplicas, replicasOf(o.Spec.Replicas), o.Status.ObservedGeneration >= o.Generation)
	case *appsv1.DaemonSet:
		newest := o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedNumberScheduled >= o.Status.DesiredNumberScheduled
		return counted("available", o.Status.NumberAvailable, o.Status.DesiredNumberScheduled, newest)
	case *batchv1.Job:
		complete := slices.ContainsFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == v1.ConditionTrue
		})
		return readiness{fmt.Sprintf("%d succeeded, not complete", o.Status.Succeeded), complete}, true
	case *unstructured.Unstructured:
		if gvk := o.GroupVersionKind(); gvk.Group != snapshots.Group || gvk.Kind != "VolumeSnapshot" {
			return readiness{}, false
		}
		ready, _, _ := unstructured.NestedBool(o.Object, "status", "readyToUse")
		return readiness{"not ready to use", ready}, true
	}
	return readiness{}, false
}

func replicasOf(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// errNothingToWaitFor is the error of --wait without an object that it could wait for.
var errNothingToWaitFor = errors.New("--wait: nothing to wait for: the manifests have no claim, pod, StatefulSet, Deployment, ReplicaSet, " +
	"ReplicationController, DaemonSet, Job or VolumeSnapshot")

// canWait returns an error if none of the objects is one that --wait waits for.
func canWait(objects []manifest.Object) error {
	for _, obj := range objects {
		if _, ok := readinessOf(obj.Object); ok {
			return nil
		}
	}
	return errNothingToWaitFor
}

// wait lets virtual time pass until all that --wait waits for is there, at most for so long. It looks once a second.
func wait(c *storagesim.Cluster, patience time.Duration) error {
	for end := c.Now().Add(patience); c.Now().Before(end) && len(behind(c)) > 0; {
		if err := c.RunFor(min(time.Second, end.Sub(c.Now()))); err != nil {
			return err
		}
	}
	return nil
}

// behind names what is not there yet, with its state, in the order of the objects in the cluster.
func behind(c *storagesim.Cluster) (refs []string) {
	for _, obj := range c.Engine().Server().Objects(true) {
		if r, ok := readinessOf(obj); ok && !r.reached {
			refs = append(refs, refOf(obj)+" "+r.state)
		}
	}
	return refs
}

// refOf returns an object as explain takes it: "pvc/default/data".
func refOf(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return trace.Ref{Kind: kindOf(obj), Namespace: m.GetNamespace(), Name: m.GetName()}.Path()
}

// tellBehind says of each object that is not there why, and what the result stands on: what was stood in for, and where the run deviates. It
// returns the error of --wait, nil if all is there.
func tellBehind(errOut io.Writer, c *storagesim.Cluster, patience time.Duration, width int) error {
	for _, e := range c.Trace().Records() {
		if s, ok := e.Record.(trace.StandIn); ok {
			fmt.Fprintln(errOut, "note: storagesim", prose.Printable(s.String()))
		}
	}
	for _, d := range c.Trace().Deviations() {
		fmt.Fprintln(errOut, "note: this run", prose.Printable(d.String()))
	}
	left := behind(c)
	for _, of := range left {
		ref, state, _ := strings.Cut(of, " ")
		text := strings.Replace(ref, "/", " ", 1) + " is " + state
		why, err := c.Lab().Explanation(ref)
		switch {
		case err == nil && why.Verdict.Class != explain.Well:
			text = why.Verdict.String()
		case err != nil && !errors.Is(err, explain.ErrKind):
			return err
		}
		fmt.Fprintln(errOut, prose.Wrap("not there after "+patience.String()+": "+prose.Printable(c.Trace().ShortIDs(text)), width, 2))
	}
	if len(left) == 0 {
		return nil
	}
	return codedError{quietError{fmt.Errorf("%d objects are not there after %s", len(left), patience)}, exitNotThere}
}
