package pvcontroller

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/readonly"
)

const (
	// ActorName is the name of this controller in upstream's controller manager.
	ActorName = "persistent-volume-binder"
	// Component is the source of its events.
	Component = "persistentvolume-controller"
)

// Config configures the controller. The zero value works.
type Config struct {
	// ResyncPeriod is the interval at which all claims and volumes are looked at again; default
	// 15 s.
	ResyncPeriod time.Duration
	// Deleters are the in-tree plugins that can delete a volume's asset, by plugin name,
	// for example HostPathPlugin. Default none: then a Delete volume that no external
	// provisioner made becomes Failed.
	Deleters map[string]Deleter
	// Recyclers are the in-tree plugins that can scrub a volume, by plugin name, besides
	// HostPathPlugin and NFSPlugin, which scrub in a pod and are always there; one of
	// these names replaces it.
	Recyclers map[string]Recycler
	// SameClaim reports whether claim is the one with the UID in a volume's claimRef; default: its
	// UID is that one. Upstream once compared only the names (kubernetes/kubernetes 43592).
	SameClaim func(claim *v1.PersistentVolumeClaim, uid types.UID) bool
	// Remember reports whether the answer to a write of a volume is kept in the controller's own
	// cache. known is the volume in the informer, nil if it has none; default: the two are one
	// object. Upstream's versions keep every answer (kubernetes/kubernetes 124224).
	Remember func(known, written *v1.PersistentVolume) bool
	// DropFailed leaves a claim or a volume whose sync failed until the next resync, as before v1.36; default false: it
	// is tried again after 5 ms, 10 ms and so on (kubernetes/kubernetes 85659 and 135127).
	DropFailed bool
}

// New makes the controller. It refuses a negative ResyncPeriod and nil plugins.
// Upstream: pv_controller_base.go NewController, v1.37.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		_, err := newController(cfg, env)
		return err
	}
}

func newController(cfg Config, env control.Env) (*controller, error) {
	if cfg.ResyncPeriod < 0 {
		return nil, fmt.Errorf("pvcontroller: Config.ResyncPeriod is %s, it must not be negative", cfg.ResyncPeriod)
	}
	if cfg.ResyncPeriod == 0 {
		cfg.ResyncPeriod = 15 * time.Second
	}
	if cfg.SameClaim == nil {
		cfg.SameClaim = func(claim *v1.PersistentVolumeClaim, uid types.UID) bool { return claim.UID == uid }
	}
	if cfg.Remember == nil {
		cfg.Remember = func(known, written *v1.PersistentVolume) bool { return known != nil && known.UID == written.UID }
	}
	if err := checkPlugins(cfg); err != nil {
		return nil, err
	}
	c := &controller{
		cfg: cfg, plugins: newPlugins(cfg, builtinRecyclers(env.Client(), env, env.Recorder(Component))), env: env, client: env.Client(),
		recorder:       env.Recorder(Component),
		volumeInformer: control.NewCache[*v1.PersistentVolume](env, control.PersistentVolumes()),
		claimInformer:  control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims()),
		classes:        control.NewCache[*storagev1.StorageClass](env, control.StorageClasses()),
		pods:           control.NewCache[*v1.Pod](env, control.Pods()),
		claims:         newClaimCache(), volumes: newVolumeCache(), operations: map[string]*operation{},
	}
	c.pods.AddIndex(podsByClaim, binding.ClaimKeysOfPod)
	// Volumes first, as upstream: then a claim finds those that were there before it.
	c.volumeQueue = env.Queue(control.QueueConfig{Name: "volumes", About: control.KeysOf("PersistentVolume"), Reconcile: c.volumeWork})
	c.claimQueue = env.Queue(control.QueueConfig{Name: "claims", About: control.KeysOf("PersistentVolumeClaim"), Reconcile: c.claimWork})
	c.follow()
	env.Every("resync", cfg.ResyncPeriod, c.resync)
	return c, nil
}

// controller is the PV controller.
type controller struct {
	cfg      Config
	plugins  plugins
	env      control.Env
	client   kubernetes.Interface
	recorder control.Recorder

	// What the API server has told.
	claimInformer  *control.Cache[*v1.PersistentVolumeClaim]
	volumeInformer *control.Cache[*v1.PersistentVolume]
	classes        *control.Cache[*storagev1.StorageClass]
	pods           *control.Cache[*v1.Pod]

	// The same, and the controller's own writes that the informers have not seen yet.
	claims  *claimCache
	volumes *volumeCache

	claimQueue  control.Queue
	volumeQueue control.Queue
	operations  map[string]*operation
}

// resync adds all keys again, claims before volumes. Upstream lists a Go map, so any
// order may come; in order it is that of the keys.
// Upstream: pv_controller_base.go resync, v1.37.
func (c *controller) resync(context.Context) {
	addAll(c.env, c.claimQueue, c.claimInformer.Keys())
	addAll(c.env, c.volumeQueue, c.volumeInformer.Keys())
}

func addAll(env control.Env, queue control.Queue, keys []string) {
	control.Shuffle(env, keys)
	for _, key := range keys {
		queue.Add(key)
	}
}

// claimWork reconciles one claim. One that is gone has been dealt with when that was
// delivered, and an older version than the controller's own last write is not looked
// at: its event is still to come.
// Upstream: pv_controller_base.go claimWorker and updateClaim, v1.37.
func (c *controller) claimWork(ctx context.Context, key string) error {
	claim, found := c.claimInformer.Get(key)
	if !found || c.claims.newer(key, claim) {
		return nil
	}
	return c.failed(c.syncClaim(readonly.Answers(ctx), claim))
}

// volumeWork reconciles one volume, as claimWork does one claim.
// Upstream: pv_controller_base.go volumeWorker and updateVolume, v1.37.
func (c *controller) volumeWork(ctx context.Context, name string) error {
	volume, found := c.volumeInformer.Get(name)
	if !found || c.volumes.newer(volume) {
		return nil
	}
	return c.failed(c.syncVolume(readonly.Answers(ctx), volume))
}

// failed returns the error with which a queue tries a key again.
func (c *controller) failed(err error) error {
	if c.cfg.DropFailed {
		return nil
	}
	return err
}
