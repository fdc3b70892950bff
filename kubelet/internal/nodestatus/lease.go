package nodestatus

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/readonly"
)

// The time for which a node's lease holds, and the interval at which the kubelet renews it.
//
// Upstream: pkg/kubelet/apis/config NodeLeaseDurationSeconds, and kubelet.go
// NewMainKubelet, which renews it after a quarter of that, v1.37.
const (
	nodeLeaseDurationSeconds = 40
	nodeLeaseRenewInterval   = 10 * time.Second
)

// maxUpdateRetries is the number of attempts to write the lease in one round.
//
// Upstream: component-helpers apimachinery/lease maxUpdateRetries, v1.37.
const maxUpdateRetries = 5

// nodeLease renews the node's lease.
type nodeLease struct {
	env  control.Env
	node string
	// latest is the lease as it was last written, nil if it is not known.
	latest *coordinationv1.Lease
}

func (l *nodeLease) leases() typedcoordinationv1.LeaseInterface {
	return l.env.Client().CoordinationV1().Leases(v1.NamespaceNodeLease)
}

// renewNodeLease renews the lease. After a round that failed it also schedules a write of the
// node's status: the node may have been declared lost meanwhile.
//
// Upstream: component-helpers apimachinery/lease controller.go sync, v0.37.
func (n *Node) renewNodeLease(ctx context.Context) {
	if n.lease.sync(ctx) && n.registered {
		n.ReportLater()
	}
}

// sync renews the lease, or creates it. It reports whether it has renewed it after a round that
// failed.
func (l *nodeLease) sync(ctx context.Context) (recovered bool) {
	ctx = readonly.Answers(ctx)
	if l.latest != nil && l.retryUpdateLease(ctx, l.latest) {
		return false
	}
	lost := l.latest != nil
	lease, created := l.ensureLease(ctx)
	l.latest = lease
	if lease == nil || !created && !l.retryUpdateLease(ctx, lease) {
		return false
	}
	return lost
}

// ensureLease reads the lease, or creates it. It returns nil if neither can be done now, for
// example because the node does not exist.
//
// Upstream: component-helpers apimachinery/lease controller.go ensureLease, v1.37.
func (l *nodeLease) ensureLease(ctx context.Context) (lease *coordinationv1.Lease, created bool) {
	lease, err := l.leases().Get(ctx, l.node, metav1.GetOptions{})
	switch {
	case err == nil:
		return lease, false
	case !apierrors.IsNotFound(err):
		return nil, false
	}
	if lease, err = l.newLease(ctx, nil); err != nil {
		return nil, false
	}
	if lease, err = l.leases().Create(ctx, lease, metav1.CreateOptions{}); err != nil {
		return nil, false
	}
	return lease, true
}

// retryUpdateLease renews the lease that was read, and reports whether it could.
//
// Upstream: component-helpers apimachinery/lease controller.go retryUpdateLease, v1.37.
func (l *nodeLease) retryUpdateLease(ctx context.Context, base *coordinationv1.Lease) bool {
	for range maxUpdateRetries {
		lease, err := l.newLease(ctx, base)
		if err == nil {
			lease, err = l.leases().Update(ctx, lease, metav1.UpdateOptions{})
		}
		switch {
		case err == nil:
			l.latest = lease
			return true
		case apierrors.IsConflict(err):
			if base, _ = l.ensureLease(ctx); base == nil {
				return false
			}
		}
	}
	return false
}

// newLease returns the lease as it is to be written. Its owner is the node.
//
// Upstream: component-helpers apimachinery/lease controller.go newLease, and
// pkg/kubelet/util SetNodeOwnerFunc, v1.37.
func (l *nodeLease) newLease(ctx context.Context, base *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	var lease *coordinationv1.Lease
	if base != nil {
		copied := *base // what it shares is never written to
		lease = &copied
	} else {
		seconds, holder := int32(nodeLeaseDurationSeconds), l.node
		lease = &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: l.node, Namespace: v1.NamespaceNodeLease},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds},
		}
	}
	now := metav1.NewMicroTime(l.env.Now())
	lease.Spec.RenewTime = &now
	if len(lease.OwnerReferences) > 0 {
		return lease, nil
	}
	node, err := l.env.Client().CoreV1().Nodes().Get(ctx, l.node, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	return lease, nil
}
