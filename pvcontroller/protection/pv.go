package protection

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/readonly"
)

// PVActorName is the name of the controller of volumes in upstream's controller manager.
const PVActorName = "pv-protection-controller"

// NewPV makes the controller that protects bound volumes.
// Upstream: pkg/controller/volume/pvprotection NewPVProtectionController, v1.37.
func NewPV() control.Factory {
	return func(env control.Env) error {
		c := &pvController{
			client:  env.Client(),
			volumes: control.NewCache[*v1.PersistentVolume](env, control.PersistentVolumes()),
		}
		queue := env.Queue(control.QueueConfig{Name: "volumes", About: control.KeysOf("PersistentVolume"), Reconcile: c.processPV})
		c.volumes.Handle(control.Handler[*v1.PersistentVolume]{
			Add:    func(volume *v1.PersistentVolume) { enqueue(queue, volume, binding.PVProtectionFinalizer) },
			Update: func(_, volume *v1.PersistentVolume) { enqueue(queue, volume, binding.PVProtectionFinalizer) },
		})
		return nil
	}
}

// enqueue adds an object that may need a change.
func enqueue(queue control.Queue, obj metav1.Object, finalizer string) {
	if isDeletionCandidate(obj, finalizer) || needToAddFinalizer(obj, finalizer) {
		queue.Add(control.Key(obj))
	}
}

type pvController struct {
	client  kubernetes.Interface
	volumes *control.Cache[*v1.PersistentVolume]
}

// processPV adds or removes one volume's finalizer.
// Upstream: pv_protection_controller.go processPV, v1.37.
func (c *pvController) processPV(ctx context.Context, name string) error {
	volume, found := c.volumes.Get(name)
	switch {
	case !found:
		return nil
	case isDeletionCandidate(volume, binding.PVProtectionFinalizer):
		if volume.Status.Phase == v1.VolumeBound {
			return nil // the update that changes the phase brings it here again
		}
		return c.update(ctx, volume, without(volume.Finalizers, binding.PVProtectionFinalizer))
	case needToAddFinalizer(volume, binding.PVProtectionFinalizer):
		return c.update(ctx, volume, with(volume.Finalizers, binding.PVProtectionFinalizer))
	}
	return nil
}

func (c *pvController) update(ctx context.Context, volume *v1.PersistentVolume, finalizers []string) error {
	clone := volume.DeepCopy()
	clone.Finalizers = finalizers
	_, err := c.client.CoreV1().PersistentVolumes().Update(readonly.Answers(ctx), clone, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}
