package protection

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/readonly"
)

// VACActorName is the name of the controller of VolumeAttributesClasses in upstream's controller
// manager.
const VACActorName = "volumeattributesclass-protection-controller"

// byVAC is an index by the names of VolumeAttributesClasses.
const byVAC = "vac"

// syncedPollPeriod is the interval at which the caches are asked whether they have had their first lists.
//
// Upstream: client-go tools/cache/shared_informer.go syncedPollPeriod, v1.37.
const syncedPollPeriod = 100 * time.Millisecond

// NewVAC makes the controller that protects VolumeAttributesClasses that are in use. It follows
// claims and volumes from the first class on.
//
// Upstream: pkg/controller/volume/vacprotection NewVACProtectionController, v1.37.
func NewVAC() control.Factory {
	return func(env control.Env) error {
		c := &vacController{
			env: env, client: env.Client(),
			classes: control.NewCacheAtOnce[*storage.VolumeAttributesClass](env, control.VolumeAttributesClasses()),
		}
		c.queue = env.Queue(control.QueueConfig{Name: "vacs", About: control.KeysOf("VolumeAttributesClass"), Reconcile: c.processVAC})
		c.classes.Handle(control.Handler[*storage.VolumeAttributesClass]{
			Add: c.vacAddedUpdated, Update: func(_, class *storage.VolumeAttributesClass) { c.vacAddedUpdated(class) },
		})
		for class := range c.classes.All() { // where the driver had them at once
			c.vacAddedUpdated(class)
		}
		return nil
	}
}

type vacController struct {
	env     control.Env
	client  kubernetes.Interface
	classes *control.Cache[*storage.VolumeAttributesClass]
	queue   control.Queue
	// claims and volumes are nil before there is a class; followed is set from the first
	// class on, also while they are being made.
	claims   *control.Cache[*v1.PersistentVolumeClaim]
	volumes  *control.Cache[*v1.PersistentVolume]
	followed bool
}

// vacAddedUpdated looks at a class that may need a change.
//
// Upstream: vac_protection_controller.go vacAddedUpdated, v1.37.
func (c *vacController) vacAddedUpdated(class *storage.VolumeAttributesClass) {
	if !c.followed {
		c.followed = true
		c.env.Go("follow claims and volumes", c.follow)
	}
	enqueue(c.queue, class, binding.VACProtectionFinalizer)
}

// follow begins to follow claims and volumes, and then looks at all classes.
func (c *vacController) follow(ctx context.Context) {
	claims := control.NewCache[*v1.PersistentVolumeClaim](c.env, control.PersistentVolumeClaims())
	claims.AddIndex(byVAC, getPVCReferencedVACNames)
	volumes := control.NewCache[*v1.PersistentVolume](c.env, control.PersistentVolumes())
	volumes.AddIndex(byVAC, getPVReferencedVACNames)
	synced := func(context.Context) (bool, error) { return claims.Synced() && volumes.Synced(), nil }
	if done, _ := synced(ctx); !done {
		if err := c.env.Poll(ctx, syncedPollPeriod, 0, synced); err != nil {
			return
		}
	}
	c.claims, c.volumes = claims, volumes
	claims.Handle(control.Handler[*v1.PersistentVolumeClaim]{
		Update: func(old, claim *v1.PersistentVolumeClaim) {
			c.left(getPVCReferencedVACNames(old), getPVCReferencedVACNames(claim))
		},
		Delete: func(claim *v1.PersistentVolumeClaim) { c.left(getPVCReferencedVACNames(claim), nil) },
	})
	volumes.Handle(control.Handler[*v1.PersistentVolume]{
		Update: func(old, pv *v1.PersistentVolume) { c.left(getPVReferencedVACNames(old), getPVReferencedVACNames(pv)) },
		Delete: func(pv *v1.PersistentVolume) { c.left(getPVReferencedVACNames(pv), nil) },
	})
	for class := range c.classes.All() {
		enqueue(c.queue, class, binding.VACProtectionFinalizer)
	}
}

// left looks at the classes that an object does not name any more.
//
// Upstream: vac_protection_controller.go pvcUpdated, pvcDeleted, pvUpdated and pvDeleted, v1.37.
func (c *vacController) left(before, after []string) {
	for _, name := range before {
		if !slices.Contains(after, name) {
			c.queue.Add(name)
		}
	}
}

// processVAC adds or removes one class's finalizer.
//
// Upstream: vac_protection_controller.go processVAC, v1.37.
func (c *vacController) processVAC(ctx context.Context, name string) error {
	class, found := c.classes.Get(name)
	switch {
	case !found || c.claims == nil: // follow brings it here again
		return nil
	case isDeletionCandidate(class, binding.VACProtectionFinalizer):
		if c.volumes.HasIndex(byVAC, name) || c.claims.HasIndex(byVAC, name) {
			return nil // the update that ends the use brings it here again
		}
		return c.update(ctx, class, without(class.Finalizers, binding.VACProtectionFinalizer))
	case needToAddFinalizer(class, binding.VACProtectionFinalizer):
		return c.update(ctx, class, with(class.Finalizers, binding.VACProtectionFinalizer))
	}
	return nil
}

func (c *vacController) update(ctx context.Context, class *storage.VolumeAttributesClass, finalizers []string) error {
	clone := class.DeepCopy()
	clone.Finalizers = finalizers
	_, err := c.client.StorageV1().VolumeAttributesClasses().Update(readonly.Answers(ctx), clone, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

// getPVCReferencedVACNames returns the classes that a claim asks for, has, or is being changed to.
//
// Upstream: vac_protection_controller.go getPVCReferencedVACNames, v1.37.
func getPVCReferencedVACNames(claim *v1.PersistentVolumeClaim) []string {
	names := append(nameOf(claim.Spec.VolumeAttributesClassName), nameOf(claim.Status.CurrentVolumeAttributesClassName)...)
	if status := claim.Status.ModifyVolumeStatus; status != nil {
		names = append(names, nameOf(&status.TargetVolumeAttributesClassName)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Upstream: vac_protection_controller.go getPVReferencedVACNames, v1.37.
func getPVReferencedVACNames(pv *v1.PersistentVolume) []string {
	return nameOf(pv.Spec.VolumeAttributesClassName)
}

func nameOf(name *string) []string {
	if name == nil || *name == "" {
		return nil
	}
	return []string{*name}
}
