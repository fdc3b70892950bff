package attachdetach

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// ActorName is the name of this controller in upstream's controller manager.
const ActorName = "attachdetach-controller"

// controllerManaged is the annotation of nodes whose volumes this controller attaches.
// Upstream: pkg/volume/util ControllerManagedAttachAnnotation, v1.37.
const controllerManaged = "volumes.kubernetes.io/controller-managed-attach-detach"

// Timers. Upstream: attach_detach_controller.go DefaultTimerConfig, v1.37.
const (
	loopPeriod      = 100 * time.Millisecond
	populatorPeriod = time.Minute
	listPodsPeriod  = 3 * time.Minute
)

// defaultMaxWaitForUnmount replaces Config.MaxWaitForUnmount if it is 0.
const defaultMaxWaitForUnmount = 6 * time.Minute

// Config configures the controller. The zero value behaves as upstream.
type Config struct {
	// MaxWaitForUnmount is the time from the end of the last pod after which a volume is detached from a node that
	// is not ready; default 6 minutes. It must not be negative.
	MaxWaitForUnmount time.Duration
	// DisableForceDetachOnTimeout keeps such a volume attached until the node reports that it is unmounted, or is
	// declared out of service.
	// Upstream: kube-controller-manager --disable-force-detach-on-timeout.
	DisableForceDetachOnTimeout bool
	// ForceDetach reports whether to detach a volume that a node still uses, six minutes after its last pod has
	// gone. ready tells whether the node is ready. Default: only if the node is not ready. Upstream's versions
	// before 1.26 detached from ready nodes, too (kubernetes/kubernetes 106710).
	ForceDetach func(ready bool) bool
	// Remember reports whether a controller that starts treats a VolumeAttachment that no node's status lists as an
	// uncertain attachment. Default: always. Upstream's versions before 1.21 ignored all of them
	// (kubernetes/kubernetes 96617).
	Remember func(*storagev1.VolumeAttachment) bool
	// InUseLast makes a controller that starts believe the nodes' status about the volumes in use at once. Default
	// false, as upstream: a volume that it knows from a VolumeAttachment only counts as in use until the Node changes,
	// so that it is detached late.
	InUseLast bool
	// DropOld takes a volume from a pod if the claim that led to it is gone and another claim of its name leads to another volume.
	// Default false, as upstream: a pod that was seen before the new claim keeps the old claim's volume attached until the pod goes.
	DropOld bool
	// Late lets the controller look at a VolumeAttachment, which it does again and again until the volume is attached or detached, up to a tenth of each
	// wait later, by choice. Default false; upstream's is later at random.
	Late bool
}

func (cfg Config) maxWaitForUnmount() time.Duration {
	if cfg.MaxWaitForUnmount == 0 {
		return defaultMaxWaitForUnmount
	}
	return cfg.MaxWaitForUnmount
}

func (cfg Config) forceDetach(ready bool) bool {
	if cfg.ForceDetach != nil {
		return cfg.ForceDetach(ready)
	}
	return !ready
}

func (cfg Config) remembers(va *storagev1.VolumeAttachment) bool {
	return cfg.Remember == nil || cfg.Remember(va)
}

// New returns the factory of the controller.
// Upstream: attach_detach_controller.go NewAttachDetachController, v1.37.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		if cfg.MaxWaitForUnmount < 0 {
			return fmt.Errorf("attachdetach.Config.MaxWaitForUnmount is %s; it must not be negative (0 is %s)", cfg.MaxWaitForUnmount, defaultMaxWaitForUnmount)
		}
		c := &controller{
			cfg: cfg, env: env, client: env.Client(), recorder: env.Recorder(ActorName),
			desired: newDesiredStateOfWorld(), actual: newActualStateOfWorld(), operations: operations{},
			touched: map[v1.UniqueVolumeName]bool{}, began: env.Now(),

			pods:        control.NewCache[*v1.Pod](env, control.Pods()),
			nodes:       control.NewCache[*v1.Node](env, control.Nodes()),
			claims:      control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims()),
			volumes:     control.NewCache[*v1.PersistentVolume](env, control.PersistentVolumes()),
			drivers:     control.NewCache[*storagev1.CSIDriver](env, control.CSIDrivers()),
			attachments: control.NewCache[*storagev1.VolumeAttachment](env, control.VolumeAttachments()),
		}
		c.pods.AddIndex(byClaim, binding.ClaimKeysOfPod)
		c.loop = env.Queue(control.QueueConfig{Name: "attachdetach",
			About: func(string) string { return "to compare what is attached with what is to be" }, Reconcile: c.reconcile})
		c.claimQueue = env.Queue(control.QueueConfig{Name: "pvcs", About: control.KeysOf("PersistentVolumeClaim"), Reconcile: c.syncClaim})
		c.loop.Add(loopKey)
		return nil
	}
}

// loopKey is the only key of the loop's queue.
const loopKey = "volumes"

// byClaim is the index of pods by the keys of their claims.
const byClaim = "claim"

type controller struct {
	cfg      Config
	env      control.Env
	client   kubernetes.Interface
	recorder control.Recorder

	pods        *control.Cache[*v1.Pod]
	nodes       *control.Cache[*v1.Node]
	claims      *control.Cache[*v1.PersistentVolumeClaim]
	volumes     *control.Cache[*v1.PersistentVolume]
	drivers     *control.Cache[*storagev1.CSIDriver]
	attachments *control.Cache[*storagev1.VolumeAttachment]

	desired    *desiredStateOfWorld
	actual     *actualStateOfWorld
	operations operations
	// touched holds the volumes that have changed since the last turn of the loop.
	touched map[v1.UniqueVolumeName]bool

	loop, claimQueue control.Queue
	// began is the start of this life of the controller.
	began time.Time
	// started: both worlds were filled from the API. looking: periodic work goes on. missed: since all pods were
	// processed last, a pod came whose claim or volume the caches did not show yet. If nothing else happens to them, only
	// the next look at all pods finds the volume.
	started, looking, missed bool
}

// follow registers handlers that bring changes of objects into both worlds.
func (c *controller) follow() {
	c.pods.Handle(control.Handler[*v1.Pod]{
		Add:    c.processPod,
		Update: func(_, pod *v1.Pod) { c.processPod(pod) },
		Delete: func(pod *v1.Pod) { c.processPodVolumes(pod, false) },
	})
	c.nodes.Handle(control.Handler[*v1.Node]{Add: c.nodeAdded, Update: c.nodeUpdated, Delete: c.nodeDeleted})
	c.claims.Handle(control.Handler[*v1.PersistentVolumeClaim]{
		Add:    c.claimChanged,
		Update: func(_, claim *v1.PersistentVolumeClaim) { c.claimChanged(claim) },
	})
}

// nodeAdded records a new node. A node that is created again has lost the list of attached volumes in its status.
// Upstream: attach_detach_controller.go nodeAdd, v1.37.
func (c *controller) nodeAdded(node *v1.Node) {
	c.nodeUpdated(nil, node)
	if len(c.actual.reports[node.Name]) > 0 {
		c.actual.due[node.Name] = true
	}
}

// nodeUpdated records the changes of a node. If its health now allows or forbids to detach volumes, they are
// touched.
// Upstream: attach_detach_controller.go nodeUpdate, v1.37.
func (c *controller) nodeUpdated(old, node *v1.Node) {
	if _, managed := node.Annotations[controllerManaged]; managed {
		c.desired.nodes[node.Name] = true
	}
	c.touch(c.actual.setInUse(node.Name, node.Status.VolumesInUse)...)
	if old == nil || healthOf(old) != healthOf(node) {
		c.touch(c.actual.volumesOn(node.Name)...)
	}
}

// nodeDeleted records that a node is gone: it is then neither ready nor managed.
// Upstream: attach_detach_controller.go nodeDelete, v1.37.
func (c *controller) nodeDeleted(node *v1.Node) {
	c.desired.deleteNode(node.Name)
	c.touch(c.actual.volumesOn(node.Name)...)
}

// touch marks volumes for the next turn of the loop.
func (c *controller) touch(names ...v1.UniqueVolumeName) {
	for _, name := range names {
		c.touched[name] = true
	}
	if len(names) > 0 {
		c.lookRegularly()
		c.wake()
	}
}

// wake schedules a turn of the loop.
func (c *controller) wake() { c.loop.AddAfter(loopKey, loopPeriod) }

// touchAfter touches a volume after d. If d is short, Settle waits for it: it is a retry.
func (c *controller) touchAfter(d time.Duration, name v1.UniqueVolumeName) {
	c.env.Go("wait", func(ctx context.Context) {
		if d > time.Minute {
			ctx = control.InBackground(ctx)
		}
		if c.env.Sleep(ctx, d) == nil {
			c.touch(name)
		}
	})
}

// lookRegularly does the periodic work at whole minutes since the controller's start, as long as there are volumes
// or pods whose volumes were missed.
// Upstream: attach_detach_controller.go Run, v1.37.
func (c *controller) lookRegularly() {
	if c.looking {
		return
	}
	c.looking = true
	c.env.Go("periodic work", func(ctx context.Context) {
		ctx = control.InBackground(ctx)
		for !c.desired.isEmpty() || !c.actual.isEmpty() || c.missed {
			passed := c.env.Now().Sub(c.began)
			if c.env.Sleep(ctx, populatorPeriod-passed%populatorPeriod) != nil {
				return
			}
			c.populate()
			c.verifyVolumesAreAttached(ctx)
		}
		c.looking = false
	})
}
