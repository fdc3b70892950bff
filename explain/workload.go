package explain

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/controllers/daemonset"
	"github.com/storagesim/storagesim/controllers/deployment"
	"github.com/storagesim/storagesim/controllers/replicaset"
	"github.com/storagesim/storagesim/controllers/statefulset"
	"github.com/storagesim/storagesim/internal/podstatus"
)

// workload is a StatefulSet, Deployment, ReplicaSet, ReplicationController or DaemonSet as its explanation sees it.
type workload struct {
	kind, name, actor string
	uid               types.UID
	paused            bool
	unseen            bool // its controller has not looked at its present generation
	want, made, ready int32
	updated           int32
	template          *v1.PodTemplateSpec
}

func (w workload) ref(ns string) string { return strings.ToLower(w.kind) + "/" + ns + "/" + w.name }

// workload explains a workload: how many of its pods are ready, why none is made, and the first that is not ready.
func (x *explainer) workload(kind, ns, name string) error {
	w, err := x.readWorkload(kind, ns, name)
	if err != nil {
		return err
	}
	ref := w.ref(ns)
	return x.within(ref, func() error {
		x.found.Objects = append(x.found.Objects, ref)
		x.setState(w.ready >= w.want && w.updated >= w.want && !w.paused && !w.unseen && (w.want > 0 || kind != "DaemonSet"), "%d of %d ready", w.ready, w.want)
		x.say("%s %s/%s has %d of %d pods, %d of them ready", strings.ToLower(kind), ns, name, w.made, w.want, w.ready)
		if w.paused {
			x.waits(Paused, "", "resume the rollout", "its rollout is paused (spec.paused)")
		}
		x.events(ref, kind, w.uid, "")
		if x.well {
			return nil
		}
		if kind == "DaemonSet" && w.want == 0 && !w.unseen {
			x.waits(NoNodeFits, "", "give a node the labels that its nodeSelector and affinity ask for, or tolerate the nodes' taints", "no node fits it")
		}
		x.needs(w.actor, "makes its pods")
		if e, failed := x.lastWarning(kind, w.uid, "FailedCreate"); failed && w.made < w.want {
			x.ill(FailedCreate, "", mend(e.Message), "it cannot make a pod: %s", e.Message)
		}
		if kind == "Deployment" {
			return x.replicaSets(ns, w)
		}
		return x.firstNotReady(ns, w)
	})
}

// readWorkload reads a workload.
func (x *explainer) readWorkload(kind, ns, name string) (workload, error) {
	w := workload{kind: kind, name: name}
	switch kind {
	case "StatefulSet":
		set, err := x.Client.AppsV1().StatefulSets(ns).Get(x.ctx, name, metav1.GetOptions{})
		if err != nil {
			return w, err
		}
		w.actor, w.uid, w.want, w.made, w.ready, w.template = statefulset.ActorName, set.UID, replicas(set.Spec.Replicas), set.Status.Replicas,
			set.Status.ReadyReplicas, &set.Spec.Template
		w.updated = w.want // an OnDelete set keeps its old pods
	case "Deployment":
		d, err := x.Client.AppsV1().Deployments(ns).Get(x.ctx, name, metav1.GetOptions{})
		if err != nil {
			return w, err
		}
		w.actor, w.uid, w.want, w.made, w.ready, w.template = deployment.ActorName, d.UID, replicas(d.Spec.Replicas), d.Status.Replicas,
			d.Status.ReadyReplicas, &d.Spec.Template
		w.updated, w.paused = d.Status.UpdatedReplicas, d.Spec.Paused && d.Status.UpdatedReplicas < w.want
	case "DaemonSet":
		set, err := x.Client.AppsV1().DaemonSets(ns).Get(x.ctx, name, metav1.GetOptions{})
		if err != nil {
			return w, err
		}
		w.actor, w.uid, w.want, w.made, w.ready, w.template = daemonset.ActorName, set.UID, set.Status.DesiredNumberScheduled,
			set.Status.CurrentNumberScheduled, set.Status.NumberReady, &set.Spec.Template
		w.updated, w.unseen = set.Status.UpdatedNumberScheduled, set.Status.ObservedGeneration < set.Generation
		if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
			w.updated = w.want // it keeps its old pods
		}
	case "ReplicationController":
		rc, err := x.Client.CoreV1().ReplicationControllers(ns).Get(x.ctx, name, metav1.GetOptions{})
		if err != nil {
			return w, err
		}
		w.actor, w.uid, w.want, w.made, w.ready, w.template = replicaset.ReplicationActorName, rc.UID, replicas(rc.Spec.Replicas), rc.Status.Replicas,
			rc.Status.ReadyReplicas, rc.Spec.Template
		w.updated = w.want
	default:
		rs, err := x.Client.AppsV1().ReplicaSets(ns).Get(x.ctx, name, metav1.GetOptions{})
		if err != nil {
			return w, err
		}
		w.actor, w.uid, w.want, w.made, w.ready, w.template = replicaset.ActorName, rs.UID, replicas(rs.Spec.Replicas), rs.Status.Replicas,
			rs.Status.ReadyReplicas, &rs.Spec.Template
		w.updated = w.want
	}
	return w, nil
}

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

// replicaSets explains the ReplicaSets of a Deployment that lack pods.
func (x *explainer) replicaSets(ns string, w workload) error {
	list, err := x.Client.AppsV1().ReplicaSets(ns).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		rs := &list.Items[i]
		if !isOwnedBy(rs, w.uid) || replicas(rs.Spec.Replicas) == 0 && rs.Status.Replicas == 0 {
			continue
		}
		if err := x.workload("ReplicaSet", ns, rs.Name); err != nil {
			return err
		}
	}
	return nil
}

func isOwnedBy(obj metav1.Object, uid types.UID) bool {
	owner := metav1.GetControllerOf(obj)
	return owner != nil && owner.UID == uid
}

// firstNotReady explains the first pod of a workload that is not ready.
func (x *explainer) firstNotReady(ns string, w workload) error {
	pods, err := x.Client.CoreV1().Pods(ns).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	slices.SortStableFunc(pods.Items, func(a, b v1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for i := range pods.Items {
		pod := &pods.Items[i]
		ready := podstatus.IsReady(pod)
		if !isOwnedBy(pod, w.uid) || ready && pod.DeletionTimestamp == nil {
			continue
		}
		x.say("  its pod %s is not ready", pod.Name)
		x.silently(func() { x.underWay(PodNotReady, podRef(pod), "its pod %s is not ready yet", pod.Name) })
		return x.pod(ns, pod.Name)
	}
	return nil
}

// workloadsOf returns the workloads whose pods would use a claim, in order of kinds and names. ReplicaSets of Deployments are left out.
func (x *explainer) workloadsOf(claim *v1.PersistentVolumeClaim) (found []workload) {
	for _, obj := range x.Objects() {
		w := workload{}
		var at metav1.Object
		switch o := obj.(type) {
		case *appsv1.Deployment:
			w.kind, w.template, at = "Deployment", &o.Spec.Template, o
		case *appsv1.DaemonSet:
			w.kind, w.template, at = "DaemonSet", &o.Spec.Template, o
		case *appsv1.StatefulSet:
			w.kind, w.template, at = "StatefulSet", &o.Spec.Template, o
		case *appsv1.ReplicaSet:
			if metav1.GetControllerOf(o) != nil {
				continue
			}
			w.kind, w.template, at = "ReplicaSet", &o.Spec.Template, o
		case *v1.ReplicationController:
			w.kind, w.template, at = "ReplicationController", o.Spec.Template, o
		default:
			continue
		}
		w.name = at.GetName()
		uses := func(v v1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name
		}
		if at.GetNamespace() == claim.Namespace && slices.ContainsFunc(w.template.Spec.Volumes, uses) {
			found = append(found, w)
		}
	}
	slices.SortFunc(found, func(a, b workload) int {
		return strings.Compare(fmt.Sprint(a.kind, a.name), fmt.Sprint(b.kind, b.name))
	})
	return found
}
