package kubelet

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// How long a node's lease holds, and how often the kubelet renews it.
//
// Upstream: pkg/kubelet/apis/config NodeLeaseDurationSeconds, and kubelet.go
// NewMainKubelet, which renews it after a quarter of that, v1.36.
const (
	nodeLeaseDurationSeconds = 40
	nodeLeaseRenewInterval   = 10 * time.Second
)

// maxUpdateRetries is how often the kubelet tries to write its lease before it waits for
// the next round.
//
// Upstream: component-helpers apimachinery/lease maxUpdateRetries, v0.36.
const maxUpdateRetries = 5

func (k *kubelet) leases() typedcoordinationv1.LeaseInterface {
	return k.env.Client().CoordinationV1().Leases(v1.NamespaceNodeLease)
}

// renewNodeLease says that the node lives. After a round that failed, the node's status
// has a turn as well: somebody may have called the node lost meanwhile.
//
// Upstream: component-helpers apimachinery/lease controller.go sync, v0.36.
func (k *kubelet) renewNodeLease(ctx context.Context) {
	if k.lease != nil && k.retryUpdateLease(ctx, k.lease) {
		return
	}
	lost := k.lease != nil
	lease, created := k.ensureLease(ctx)
	k.lease = lease
	if lease == nil || !created && !k.retryUpdateLease(ctx, lease) {
		return
	}
	if lost && k.registered {
		k.reportLater()
	}
}

// ensureLease reads the lease, or creates it. It is nil if neither can be done now, for
// example since there is no such node.
//
// Upstream: component-helpers apimachinery/lease controller.go ensureLease, v0.36.
func (k *kubelet) ensureLease(ctx context.Context) (lease *coordinationv1.Lease, created bool) {
	lease, err := k.leases().Get(ctx, k.node.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		return lease, false
	case !apierrors.IsNotFound(err):
		return nil, false
	}
	if lease, err = k.newLease(ctx, nil); err != nil {
		return nil, false
	}
	if lease, err = k.leases().Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		return nil, false
	}
	return lease, true
}

// retryUpdateLease renews the lease that was read, and says whether it could.
//
// Upstream: component-helpers apimachinery/lease controller.go retryUpdateLease, v0.36.
func (k *kubelet) retryUpdateLease(ctx context.Context, base *coordinationv1.Lease) bool {
	for range maxUpdateRetries {
		lease, err := k.newLease(ctx, base)
		if err == nil {
			lease, err = k.leases().Update(ctx, lease, metav1.UpdateOptions{})
		}
		switch {
		case err == nil:
			k.lease = lease
			return true
		case apierrors.IsConflict(err):
			if base, _ = k.ensureLease(ctx); base == nil {
				return false
			}
		}
	}
	return false
}

// newLease is the lease as it is to be written. Its owner is the node.
//
// Upstream: component-helpers apimachinery/lease controller.go newLease, and
// pkg/kubelet/util SetNodeOwnerFunc, v1.36.
func (k *kubelet) newLease(ctx context.Context, base *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	seconds, holder := int32(nodeLeaseDurationSeconds), k.node.Name
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: k.node.Name, Namespace: v1.NamespaceNodeLease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds},
	}
	if base != nil {
		lease = base.DeepCopy()
	}
	now := metav1.NewMicroTime(k.env.Now())
	lease.Spec.RenewTime = &now
	if len(lease.OwnerReferences) > 0 {
		return lease, nil
	}
	node, err := k.env.Client().CoreV1().Nodes().Get(ctx, k.node.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	return lease, nil
}
