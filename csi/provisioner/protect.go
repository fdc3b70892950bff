package provisioner

import (
	"context"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
)

// FollowClaims implements provisioner.ClaimFollower.
func (p *csiProvisioner) FollowClaims(claims *control.Cache[*v1.PersistentVolumeClaim]) {
	p.claims = claims
	p.cloned = p.env.Queue(control.QueueConfig{
		Name: "cloning-protection", About: control.KeysOf("PersistentVolumeClaim"), Workers: p.cfg.WorkerThreads, Reconcile: p.syncCloned,
		Limiter: control.RateLimiter{Base: p.cfg.RetryIntervalStart, Max: p.cfg.RetryIntervalMax, QPS: -1},
	})
}

// protect starts the removal of the finalizers of sources.
//
// Upstream: clone_controller.go and snapshot_finalizer_controller.go, v6.4.
func (p *csiProvisioner) protect(ctx context.Context) {
	if p.can(csi.ControllerServiceCapability_RPC_CLONE_VOLUME) {
		p.claims.Handle(control.Handler[*v1.PersistentVolumeClaim]{Add: p.enqueueCloned, Update: func(_, claim *v1.PersistentVolumeClaim) { p.enqueueCloned(claim) }})
		for claim := range p.claims.All() {
			p.enqueueCloned(claim)
		}
	}
	if p.can(csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT) && p.cfg.SnapshotOrphanSweepInterval > 0 {
		p.sweep(ctx)
		p.env.Every("snapshot finalizers", p.cfg.SnapshotOrphanSweepInterval, p.sweep)
	}
}

func (p *csiProvisioner) enqueueCloned(claim *v1.PersistentVolumeClaim) {
	if claim.DeletionTimestamp != nil && slices.Contains(claim.Finalizers, cloneFinalizer) {
		p.cloned.Add(control.Key(claim))
	}
}

// setCloneFinalizer protects a claim that is being cloned.
//
// Upstream: controller.go setCloneFinalizer, v6.4.
func (p *csiProvisioner) setCloneFinalizer(ctx context.Context, source *v1.ObjectReference) error {
	claim, ok := p.claims.Get(source.Namespace + "/" + source.Name)
	if !ok {
		return noClaim(source.Name)
	}
	if slices.Contains(claim.Finalizers, cloneFinalizer) {
		return nil
	}
	changed := claim.DeepCopy()
	changed.Finalizers = append(changed.Finalizers, cloneFinalizer)
	_, err := p.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

// syncCloned removes the finalizer of a claim that is being deleted when no clone of it is pending.
//
// Upstream: clone_controller.go syncClaim, v6.4.
func (p *csiProvisioner) syncCloned(ctx context.Context, key string) error {
	claim, ok := p.claims.Get(key)
	if !ok || !slices.Contains(claim.Finalizers, cloneFinalizer) {
		return nil
	}
	for other := range p.claims.All() {
		source := other.Spec.DataSource
		if other.Namespace == claim.Namespace && source != nil && source.Kind == pvcKind && source.Name == claim.Name && other.Status.Phase == v1.ClaimPending {
			return fmt.Errorf("PVC '%s' is in 'Pending' state, cloning in progress", other.Name)
		}
	}
	changed := claim.DeepCopy()
	changed.Finalizers = without(changed.Finalizers, cloneFinalizer)
	_, err := p.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func without(list []string, one string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == one })
}

// setSnapshotFinalizer protects a snapshot that a volume is being restored from.
//
// Upstream: controller.go setSnapshotFinalizer, v6.4.
func (p *csiProvisioner) setSnapshotFinalizer(ctx context.Context, source *v1.ObjectReference) error {
	client := snapshots.SnapshotClient(p.env)
	s, err := client.Get(ctx, source.Namespace, source.Name)
	if err != nil || slices.Contains(s.Finalizers, snapshots.RestoredFinalizer) {
		return err
	}
	s.Finalizers = append(s.Finalizers, snapshots.RestoredFinalizer)
	_, err = client.Update(ctx, s)
	return err
}

// removeSnapshotFinalizer removes the finalizer when the claim's volume is restored. If that fails, or
// KeepSnapshotFinalizer is set, the sweep does it.
//
// Upstream: controller.go Provision and removeSnapshotFinalizer, v6.4.
func (p *csiProvisioner) removeSnapshotFinalizer(ctx context.Context, claim *v1.PersistentVolumeClaim) {
	source := claim.Spec.DataSource
	if p.cfg.KeepSnapshotFinalizer || source == nil || source.Kind != snapshotKind {
		return
	}
	client := snapshots.SnapshotClient(p.env)
	s, err := client.Get(ctx, claim.Namespace, source.Name)
	if err == nil && slices.Contains(s.Finalizers, snapshots.RestoredFinalizer) {
		s.Finalizers = without(s.Finalizers, snapshots.RestoredFinalizer)
		_, _ = client.Update(ctx, s) // the sweep tries again
	}
}

// sweep removes the finalizers of snapshots from which no pending claim is restored. In a cluster without snapshots
// it makes no call.
//
// Upstream: snapshot_finalizer_controller.go sweepOrphanedFinalizers, v6.4.
func (p *csiProvisioner) sweep(ctx context.Context) {
	resources, _ := p.env.Objects().Resources(ctx)
	if !slices.ContainsFunc(resources, func(r metav1.APIResource) bool { return r.Group == snapshots.Group && r.Kind == snapshotKind }) {
		return
	}
	all, err := p.env.Objects().List(ctx, snapshots.Snapshots(), "")
	if err != nil {
		return
	}
	for _, s := range all {
		if !slices.Contains(s.GetFinalizers(), snapshots.RestoredFinalizer) || p.isBeingRestored(control.Key(s)) {
			continue
		}
		client := snapshots.SnapshotClient(p.env)
		if latest, err := client.Get(ctx, s.GetNamespace(), s.GetName()); err == nil && latest.ResourceVersion == s.GetResourceVersion() {
			latest.Finalizers = without(latest.Finalizers, snapshots.RestoredFinalizer)
			_, _ = client.Update(ctx, latest) // the next sweep tries again
		}
	}
}

// isBeingRestored reports whether a pending claim is to be restored from the snapshot with this key.
//
// Upstream: snapshot_finalizer_controller.go buildPendingSnapshotIndex, v6.4.
func (p *csiProvisioner) isBeingRestored(key string) bool {
	for claim := range p.claims.All() {
		if phase := claim.Status.Phase; phase != v1.ClaimPending && phase != "" {
			continue
		}
		if source := namedSource(claim); source != nil && source.Kind == snapshotKind &&
			(source.APIVersion == "" || source.APIVersion == snapshots.Group) && source.Namespace+"/"+source.Name == key {
			return true
		}
	}
	return false
}
