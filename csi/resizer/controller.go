package resizer

import (
	"context"
	"fmt"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
)

// resizeController makes volumes of one driver larger.
//
// Upstream: pkg/controller/controller.go resizeController, v2.3.
type resizeController struct {
	cfg      Config
	env      control.Env
	client   kubernetes.Interface
	conn     grpc.ClientConnInterface
	recorder control.Recorder

	claims  *control.Cache[*v1.PersistentVolumeClaim]
	volumes *control.Cache[*v1.PersistentVolume]
	// pods is nil if it does not matter whether a volume is in use.
	pods  *control.Cache[*v1.Pod]
	queue control.Queue
	// ownClaims and ownVolumes hold the last written versions until the caches have them.
	ownClaims  written[*v1.PersistentVolumeClaim]
	ownVolumes written[*v1.PersistentVolume]

	// reported holds the driver's name and capabilities at the start of the resizer.
	reported sidecar.Driver
	// inUse holds claims whose volume cannot grow while it is in use.
	inUse map[types.UID]bool
	// final holds claims, by key, after whose last failure nothing can still be running.
	final map[string]bool
	// slow holds claims that are retried slowly.
	slow slowSet
}

// New returns the factory of a resizer, which refuses an invalid cfg.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		cfg, err := cfg.checked()
		if err != nil {
			return err
		}
		c := &resizeController{
			cfg: cfg, env: env, client: env.Client(), conn: cfg.Dial(env), recorder: env.Recorder("external-resizer " + cfg.Driver),
			ownClaims: written[*v1.PersistentVolumeClaim]{}, ownVolumes: written[*v1.PersistentVolume]{},
			inUse: map[types.UID]bool{}, final: map[string]bool{}, slow: slowSet{},
		}
		c.queue = env.Queue(control.QueueConfig{
			Name: "csi-resizer-pvc", About: control.KeysOf("PersistentVolumeClaim"), Workers: cfg.Workers, Reconcile: c.syncPVC,
			Limiter: control.RateLimiter{Base: cfg.RetryIntervalStart, Max: cfg.RetryIntervalMax, QPS: -1},
		})
		env.Go("start", c.start)
		return nil
	}
}

// syncedPollPeriod is the interval at which start asks whether the caches have had their first lists.
//
// Upstream: client-go tools/cache/shared_informer.go syncedPollPeriod, v1.37.
const syncedPollPeriod = 100 * time.Millisecond

// start meets the driver. If the driver cannot make volumes larger, the process ends, also if the driver can modify
// them.
//
// Upstream: cmd/csi-resizer/main.go main, v2.3.
func (c *resizeController) start(ctx context.Context) {
	c.reported = sidecar.Meet(ctx, c.env, c.conn, c.cfg.Driver, c.cfg.Timeout)
	why := "CSI driver does not support controller service"
	if c.reported.HasController() {
		why = ""
		if !c.expandsInController() {
			why = c.cannotExpandOnNodes(ctx)
		}
	}
	if why != "" {
		control.End(c.env, control.Ending{Why: "Failed to create CSI resizer: " + why, Background: true})
		return
	}
	c.volumes = control.NewCache[*v1.PersistentVolume](c.env, control.PersistentVolumes())
	c.claims = control.NewCache[*v1.PersistentVolumeClaim](c.env, control.PersistentVolumeClaims())
	if !c.cfg.IgnoreVolumeInUseError {
		c.pods = control.NewCache[*v1.Pod](c.env, control.Pods())
		c.pods.AddIndex(byClaim, claimsOf)
	}
	var modify *modifyController
	if c.modifies() {
		modify = newModifyController(c)
	}
	synced := func(context.Context) (bool, error) {
		return c.volumes.Synced() && c.claims.Synced() && (c.pods == nil || c.pods.Synced()) && (modify == nil || modify.classes.Synced()), nil
	}
	if done, _ := synced(ctx); !done {
		if err := c.env.Poll(ctx, syncedPollPeriod, 0, synced); err != nil {
			return
		}
	}
	c.followForSize()
	if modify != nil {
		modify.begin()
	}
}

// followForSize queues claims that request more than they have.
func (c *resizeController) followForSize() {
	c.claims.Handle(control.Handler[*v1.PersistentVolumeClaim]{Update: c.updatePVC, Delete: c.deletePVC, Add: c.addPVC})
	c.volumes.Handle(control.Handler[*v1.PersistentVolume]{Delete: func(pv *v1.PersistentVolume) { delete(c.ownVolumes, pv.Name) }})
	c.enqueueAll()
	c.env.Every("resync", c.cfg.Resync, func(context.Context) { c.enqueueAll() })
}

func (c *resizeController) expandsInController() bool {
	return c.reported.Controller[csi.ControllerServiceCapability_RPC_EXPAND_VOLUME]
}

// cannotExpandOnNodes asks the node service at the controller's socket, and returns why it cannot make volumes larger;
// "" if it can.
//
// Upstream: pkg/resizer/csi_resizer.go NewResizerFromClient, v2.3, and pkg/csi/client.go SupportsNodeResize.
func (c *resizeController) cannotExpandOnNodes(ctx context.Context) string {
	answer, err := csi.NewNodeClient(c.conn).NodeGetCapabilities(control.WithTimeout(ctx, c.env, c.cfg.Timeout), &csi.NodeGetCapabilitiesRequest{})
	if err != nil {
		return fmt.Sprintf("failed to check if plugin supports node resize: error getting node capabilities: %v", err)
	}
	for _, capability := range answer.GetCapabilities() {
		if capability.GetRpc().GetType() == csi.NodeServiceCapability_RPC_EXPAND_VOLUME {
			return ""
		}
	}
	return "CSI driver neither supports controller resize nor node resize"
}

func (c *resizeController) enqueueAll() {
	for claim := range c.claims.All() {
		c.addPVC(claim)
	}
}

func (c *resizeController) addPVC(claim *v1.PersistentVolumeClaim) { c.queue.Add(control.Key(claim)) }

// updatePVC queues a claim unless the change does not matter for the size.
//
// Upstream: controller.go updatePVC, v2.3.
func (c *resizeController) updatePVC(old, claim *v1.PersistentVolumeClaim) {
	hasMore, now := capacityOf(old), capacityOf(claim)
	if !requested(old).Equal(requested(claim)) || resizeStatus(old) != resizeStatus(claim) || now.Cmp(hasMore) > 0 {
		c.addPVC(claim)
	}
}

func (c *resizeController) deletePVC(claim *v1.PersistentVolumeClaim) {
	key := control.Key(claim)
	c.queue.Forget(key)
	delete(c.ownClaims, key)
	delete(c.inUse, claim.UID)
	delete(c.final, key)
	delete(c.slow, key)
}

// syncPVC expands the volume of a claim that requests more than it has. It removes the annotation of a volume that a
// node has expanded.
//
// Upstream: controller.go syncPVC, v2.3.
func (c *resizeController) syncPVC(ctx context.Context, key string) error {
	cached, ok := c.claims.Get(key)
	if !ok || cached.Spec.VolumeName == "" {
		return nil
	}
	claim := c.ownClaims.newest(key, cached)
	pv, ok := c.volumes.Get(claim.Spec.VolumeName)
	switch {
	case !ok && c.cfg.DropMissing:
		return nil
	case !ok:
		return fmt.Errorf("PV %q bound to pvc %q not found", claim.Spec.VolumeName, key)
	}
	pv = c.ownVolumes.newest(pv.Name, pv)
	if has, is := capacityOf(claim), pv.Spec.Capacity[v1.ResourceStorage]; c.expands(claim, pv) && has.Cmp(is) >= 0 &&
		metav1.HasAnnotation(pv.ObjectMeta, binding.AnnPreResizeCapacity) {
		if err := c.deletePreResizeCapAnnotation(ctx, pv); err != nil {
			return fmt.Errorf("failed removing annotation %s from pv %q: %w", binding.AnnPreResizeCapacity, pv.Name, err)
		}
	}
	if !pvcNeedResize(claim) || !c.expands(claim, pv) {
		return nil
	}
	return c.expandAndRecover(ctx, claim, pv)
}

// pvcNeedResize reports whether a claim requests more than it has.
//
// Upstream: controller.go pvcNeedResize, v2.3.
func pvcNeedResize(claim *v1.PersistentVolumeClaim) bool {
	asks, has := requested(claim), capacityOf(claim)
	return claim.Status.Phase == v1.ClaimBound && asks.Cmp(has) > 0
}

// expands reports whether the volume belongs to this driver and to the claim.
//
// Upstream: expand_and_recover.go pvCanBeExpanded and csi_resizer.go CanSupport, v2.3.
func (c *resizeController) expands(claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) bool {
	source, ref := sourceOf(pv), pv.Spec.ClaimRef
	return source != nil && source.Driver == c.cfg.Driver && ref != nil && ref.Namespace == claim.Namespace && ref.UID == claim.UID
}

func requested(claim *v1.PersistentVolumeClaim) resource.Quantity {
	return claim.Spec.Resources.Requests[v1.ResourceStorage]
}

func capacityOf(claim *v1.PersistentVolumeClaim) resource.Quantity {
	return claim.Status.Capacity[v1.ResourceStorage]
}

func resizeStatus(claim *v1.PersistentVolumeClaim) v1.ClaimResourceStatus {
	return claim.Status.AllocatedResourceStatuses[v1.ResourceStorage]
}
