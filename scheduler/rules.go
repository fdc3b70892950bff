package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// Rules can be replaced by wrong ones that were once in use, to show what they did, and by
// better ones than upstream's. The zero value has upstream's.
type Rules struct {
	// NewDecide makes what decides, anew for every start; default: each attempt asks find.
	// Upstream's versions before 1.14 could use what they had found for an earlier attempt
	// (kubernetes/kubernetes 71212).
	NewDecide func() Decide
	// Confirm is called before a pod is bound, with those of its claims that were bound when
	// its node was chosen. An error has the pod tried again. Default: none, as upstream, which
	// believes its cache (kubernetes/kubernetes 128164).
	Confirm func(ctx context.Context, client kubernetes.Interface, claims []*v1.PersistentVolumeClaim) error
}

// Decide says which volumes a pod gets on a node. find looks for them now.
type Decide func(pod *v1.Pod, node string, find func() (*PodVolumes, error)) (*PodVolumes, error)

func (r Rules) newDecide() Decide {
	if r.NewDecide != nil {
		return r.NewDecide()
	}
	return func(_ *v1.Pod, _ string, find func() (*PodVolumes, error)) (*PodVolumes, error) { return find() }
}

func (r Rules) confirm(ctx context.Context, client kubernetes.Interface, claims *podVolumeClaims) *status {
	if r.Confirm == nil || claims == nil {
		return nil
	}
	return asStatus(r.Confirm(ctx, client, claims.boundClaims))
}
