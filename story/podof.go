package story

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/podstatus"
)

// podNamed returns the pod "web", "pod/web" or "NAMESPACE/web", or one of the pods of a workload or a Service: "deployment/web". The namespace is
// that of what is named.
func (c *call) podNamed(ref string) (pod storagesim.Machine, namespace string, err error) {
	kinds := c.cluster.Engine().Server().Registry()
	if kind, _, ok := strings.Cut(ref, "/"); ok {
		if resource, err := manifest.FindResource(kinds, kind); err == nil && resource.Kind != "Pod" {
			of, err := manifest.ParseRefOf(kinds, kind, ref)
			if err != nil {
				return storagesim.Machine{}, "", err
			}
			pod, err := c.attachablePod(of)
			return c.cluster.Machine("pod/" + of.Namespace + "/" + pod), of.Namespace, err
		}
	}
	at, err := manifest.ParseRefOf(kinds, "pod", ref)
	return c.cluster.Machine("pod/" + at.Namespace + "/" + at.Name), at.Namespace, err
}

// inNamespace returns a reference with the namespace of -n, if there is one and the reference has none: "web" and "pod/web" become "shop/web" and
// "pod/shop/web". What has no namespace stays as it is.
func (c *call) inNamespace(ref string) string {
	namespace := c.flag("namespace")
	kind, name, isKind := strings.Cut(ref, "/")
	switch {
	case namespace == "" || strings.Contains(name, "/"):
		return ref
	case !isKind:
		return namespace + "/" + ref
	}
	resource, err := manifest.FindResource(c.kinds(), kind)
	if err != nil || !resource.Namespaced {
		return ref
	}
	return kind + "/" + namespace + "/" + name
}

// attachablePod returns the name of the pod of a workload, or behind a Service, in which to look first: one that runs, is ready, and has been for longest.
//
// Upstream: kubectl pkg/polymorphichelpers attachablePodForObject and GetFirstPod, v1.37, which waits for a pod if there is none.
func (c *call) attachablePod(of manifest.Ref) (string, error) {
	obj, err := c.cluster.Lab().Do(about("get", of))
	if err != nil {
		return "", err
	}
	selector, err := podsOf(obj, of)
	if err != nil {
		return "", err
	}
	list, err := c.cluster.Client().CoreV1().Pods(of.Namespace).List(context.Background(), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(selector)})
	if err != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		return "", fmt.Errorf("%s %s/%s has no pods", strings.ToLower(of.Resource.Kind), of.Namespace, of.Name)
	}
	return slices.MinFunc(list.Items, byLogging).Name, nil
}

// podsOf returns the selector of the pods of a workload, or behind a Service.
//
// Upstream: kubectl pkg/polymorphichelpers SelectorsForObject, v1.37.
func podsOf(obj runtime.Object, of manifest.Ref) (*metav1.LabelSelector, error) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return o.Spec.Selector, nil
	case *appsv1.StatefulSet:
		return o.Spec.Selector, nil
	case *appsv1.DaemonSet:
		return o.Spec.Selector, nil
	case *appsv1.ReplicaSet:
		return o.Spec.Selector, nil
	case *batchv1.Job:
		return o.Spec.Selector, nil
	case *v1.ReplicationController:
		return metav1.SetAsLabelSelector(o.Spec.Selector), nil
	case *v1.Service:
		if len(o.Spec.Selector) == 0 {
			return nil, fmt.Errorf("invalid service '%s': Service is defined without a selector", o.Name)
		}
		return metav1.SetAsLabelSelector(o.Spec.Selector), nil
	}
	return nil, fmt.Errorf("a %s has no pods; expected a pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job or Service",
		of.Resource.Kind)
}

// byLogging orders pods: those first that have a node, run, are ready, have been for longer, have restarted more often, and are older.
//
// Upstream: kubectl pkg/util/podutils ByLogging, v1.37.
func byLogging(a, b v1.Pod) int {
	later := map[v1.PodPhase]int{v1.PodRunning: 0, v1.PodUnknown: 1, v1.PodPending: 2}
	first := func(yes, other bool) int {
		switch {
		case yes == other:
			return 0
		case yes:
			return -1
		}
		return 1
	}
	sinceA, readyA := podstatus.ReadySince(&a)
	sinceB, readyB := podstatus.ReadySince(&b)
	return cmp.Or(
		first(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(later[a.Status.Phase], later[b.Status.Phase]),
		first(readyA, readyB),
		sinceA.Compare(sinceB),
		cmp.Compare(restarts(&b), restarts(&a)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
	)
}

// restarts returns the largest restart count of a pod's containers.
func restarts(pod *v1.Pod) (most int32) {
	for _, s := range pod.Status.ContainerStatuses {
		most = max(most, s.RestartCount)
	}
	return most
}
