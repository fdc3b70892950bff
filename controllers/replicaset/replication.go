package replicaset

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
)

// ReplicationActorName is the source of the events of the controller of ReplicationControllers.
const ReplicationActorName = "replication-controller"

// NewReplication returns the factory of the controller of ReplicationControllers. It is that of ReplicaSets, which sees each as a ReplicaSet.
// Upstream: replication_controller.go NewReplicationManager, v1.37.2.
func NewReplication() control.Factory {
	return factory(kind[*v1.ReplicationController]{
		actor: ReplicationActorName, queue: "replicationmanager", resource: "replicationcontrollers",
		GroupVersionKind: v1.SchemeGroupVersion.WithKind("ReplicationController"), view: asReplicaSet,
		get: func(ctx context.Context, client kubernetes.Interface, namespace, name string) (control.Object, error) {
			return client.CoreV1().ReplicationControllers(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		updateStatus: func(ctx context.Context, client kubernetes.Interface, rc *v1.ReplicationController, status *appsv1.ReplicaSetStatus) error {
			next := rc.DeepCopy()
			next.Status = v1.ReplicationControllerStatus{
				Replicas: status.Replicas, FullyLabeledReplicas: status.FullyLabeledReplicas, ReadyReplicas: status.ReadyReplicas,
				AvailableReplicas: status.AvailableReplicas, ObservedGeneration: status.ObservedGeneration,
			}
			for _, c := range status.Conditions {
				next.Status.Conditions = append(next.Status.Conditions, v1.ReplicationControllerCondition{
					Type: v1.ReplicationControllerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
				})
			}
			_, err := client.CoreV1().ReplicationControllers(rc.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
			return err
		},
	})
}

// asReplicaSet returns a ReplicationController as a ReplicaSet. The API server accepts none without a template.
// Upstream: conversion.go convertRCtoRS, v1.37.2.
func asReplicaSet(rc *v1.ReplicationController) *appsv1.ReplicaSet {
	set := &appsv1.ReplicaSet{
		ObjectMeta: rc.ObjectMeta,
		Spec: appsv1.ReplicaSetSpec{
			Replicas: rc.Spec.Replicas, MinReadySeconds: rc.Spec.MinReadySeconds, Selector: &metav1.LabelSelector{MatchLabels: rc.Spec.Selector},
			Template: *rc.Spec.Template,
		},
		Status: appsv1.ReplicaSetStatus{
			Replicas: rc.Status.Replicas, FullyLabeledReplicas: rc.Status.FullyLabeledReplicas, ReadyReplicas: rc.Status.ReadyReplicas,
			AvailableReplicas: rc.Status.AvailableReplicas, ObservedGeneration: rc.Status.ObservedGeneration,
		},
	}
	for _, c := range rc.Status.Conditions {
		set.Status.Conditions = append(set.Status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
		})
	}
	return set
}
