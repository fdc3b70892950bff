package resizer

import (
	"context"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/control"
)

func (c *resizeController) modifies() bool {
	return c.reported.Controller[csi.ControllerServiceCapability_RPC_MODIFY_VOLUME]
}

// newModifyController returns the controller, whose queue starts at once.
//
// Upstream: controller.go NewModifyController, v2.3.
func newModifyController(c *resizeController) *modifyController {
	m := &modifyController{
		resizeController: c, uncertain: map[string]bool{}, slow: slowSet{},
		classes: control.NewCache[*storage.VolumeAttributesClass](c.env, control.VolumeAttributesClasses()),
	}
	m.queue = c.env.Queue(control.QueueConfig{
		Name: "csi-modifier-pvc", About: control.KeysOf("PersistentVolumeClaim"), Workers: c.cfg.Workers, Reconcile: m.syncPVC,
		Limiter: control.RateLimiter{Base: c.cfg.RetryIntervalStart, Max: c.cfg.RetryIntervalMax, QPS: -1},
	})
	return m
}

// begin follows the claims. A change that an earlier life had in progress is uncertain.
//
// Upstream: controller.go init and initUncertainPVCs, v2.3.
func (c *modifyController) begin() {
	for claim := range c.claims.All() {
		if last := claim.Status.ModifyVolumeStatus; last != nil && last.Status == v1.PersistentVolumeClaimModifyVolumeInProgress {
			c.uncertain[control.Key(claim)] = true
		}
		c.queue.Add(control.Key(claim))
	}
	c.claims.Handle(control.Handler[*v1.PersistentVolumeClaim]{
		Add: func(claim *v1.PersistentVolumeClaim) { c.queue.Add(control.Key(claim)) }, Update: c.updatePVC, Delete: c.deletePVC,
	})
	c.env.Every("resync for modify", c.cfg.Resync, func(context.Context) {
		for claim := range c.claims.All() {
			c.updatePVC(claim, claim)
		}
	})
}

// updatePVC queues a claim unless the change does not matter for the class.
//
// Upstream: controller.go updatePVC, v2.3.
func (c *modifyController) updatePVC(old, claim *v1.PersistentVolumeClaim) {
	changed := deref(old.Spec.VolumeAttributesClassName) != deref(claim.Spec.VolumeAttributesClassName)
	if !changed && claim.Status.ModifyVolumeStatus != nil || claim.Status.Phase != v1.ClaimBound {
		return
	}
	if _, ok := c.volumes.Get(old.Spec.VolumeName); ok {
		c.queue.Add(control.Key(claim))
	}
}

func (c *modifyController) deletePVC(claim *v1.PersistentVolumeClaim) {
	key := control.Key(claim)
	c.queue.Forget(key)
	delete(c.uncertain, key)
	delete(c.slow, key)
}

// syncPVC syncs a claim that is bound to a volume of the driver.
//
// Upstream: controller.go syncPVC, v2.3.
func (c *modifyController) syncPVC(ctx context.Context, key string) error {
	claim, ok := c.claims.Get(key)
	if !ok || claim.Spec.VolumeName == "" {
		return nil
	}
	pv, ok := c.volumes.Get(claim.Spec.VolumeName)
	switch {
	case !ok:
		return fmt.Errorf("Get PV %q of pvc %q in PVInformer cache failed: persistentvolume %q not found", claim.Spec.VolumeName, key, claim.Spec.VolumeName)
	case pv.Spec.CSI == nil || pv.Spec.CSI.Driver != c.cfg.Driver || claim.Status.Phase != v1.ClaimBound:
		return nil
	}
	return c.modify(ctx, claim, pv)
}
