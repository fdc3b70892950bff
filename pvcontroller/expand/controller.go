package expand

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/migration"
)

const (
	// ActorName is the name of this controller in upstream's controller manager.
	ActorName = "expand-controller"
	// Component is the source of its events.
	Component = "volume_expand"
)

// externalExpanding is the reason of the event on a claim that has grown.
// Upstream: pkg/controller/volume/events/event.go, v1.37.
const externalExpanding = "ExternalExpanding"

// annStorageResizer names the CSI driver that expands the volume of a migrated plugin.
// Upstream: pkg/volume/util/util.go VolumeResizerKey, v1.37.2.
const annStorageResizer = "volume.kubernetes.io/storage-resizer"

// New makes the controller.
// Upstream: pkg/controller/volume/expand/expand_controller.go NewExpandController, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		c := &controller{
			client: env.Client(), recorder: env.Recorder(Component),
			claims: control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims()),
		}
		queue := env.Queue(control.QueueConfig{Name: "claims", About: control.KeysOf("PersistentVolumeClaim"), Reconcile: c.syncHandler})
		c.claims.Handle(control.Handler[*v1.PersistentVolumeClaim]{
			Add: func(claim *v1.PersistentVolumeClaim) {
				if hasGrown(claim) {
					queue.Add(control.Key(claim))
				}
			},
			Update: func(old, claim *v1.PersistentVolumeClaim) {
				asksForMore, hasMore := larger(requested(claim), requested(old)), larger(capacity(claim), capacity(old))
				if hasGrown(claim) && (asksForMore || hasMore) || wasResized(old, claim) {
					queue.Add(control.Key(claim))
				}
			},
		})
		return nil
	}
}

type controller struct {
	client   kubernetes.Interface
	recorder control.Recorder
	claims   *control.Cache[*v1.PersistentVolumeClaim]
}

// syncHandler says in an event of a claim that has grown which resizer must expand its volume; no
// plugin here can. It says so again when the volume has grown, as long as the resizer
// has not removed its annotation.
// Upstream: expand_controller.go syncHandler, v1.37.
func (c *controller) syncHandler(ctx context.Context, key string) error {
	claim, found := c.claims.Get(key)
	if !found || claim.Status.Phase != v1.ClaimBound {
		return nil
	}
	volume, err := c.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("claim %s: %w", key, err)
	}
	if ref := volume.Spec.ClaimRef; ref == nil || ref.Namespace != claim.Namespace || ref.UID != claim.UID {
		return fmt.Errorf("claim %s: persistent volume %s is not bound to it", key, volume.Name)
	}
	if !hasGrown(claim) && !metav1.HasAnnotation(volume.ObjectMeta, binding.AnnPreResizeCapacity) {
		return nil
	}
	if plugin := migration.OfVolume(volume); plugin != "" {
		c.recorder.Eventf(claim, v1.EventTypeNormal, externalExpanding, "CSI migration enabled for %s; waiting for external resizer to expand the pvc", plugin)
		return c.setClaimResizer(ctx, claim, migration.Driver(plugin))
	}
	c.recorder.Event(claim, v1.EventTypeNormal, externalExpanding, "waiting for an external controller to expand this PVC")
	return nil
}

// setClaimResizer writes on a claim which CSI driver is to expand its volume.
// Upstream: pkg/volume/util/resize_util.go SetClaimResizer, v1.37.2.
func (c *controller) setClaimResizer(ctx context.Context, claim *v1.PersistentVolumeClaim, driver string) error {
	meta := map[string]any{"uid": claim.UID, "resourceVersion": claim.ResourceVersion}
	if claim.Annotations[annStorageResizer] != driver {
		meta["annotations"] = map[string]string{annStorageResizer: driver}
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if err == nil {
		return nil
	}
	err = fmt.Errorf("error setting resizer annotation to pvc %s, with error patchPVCStatus failed to patch PVC %q: %w", control.Key(claim), claim.Name, err)
	c.recorder.Event(claim, v1.EventTypeWarning, externalExpanding, err.Error())
	return err
}
