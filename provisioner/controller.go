package provisioner

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
)

// uidIndex files claims under their UID, the key of the claim queue: a claim
// that was deleted and made again under its old name is another claim.
const uidIndex = "uid"

// provisionController provisions volumes for claims and deletes them again.
//
// Upstream: controller/controller.go ProvisionController, v13.
type provisionController struct {
	cfg         Config
	provisioner Provisioner

	env    control.Env
	client kubernetes.Interface
	events control.Recorder

	claims  *control.Cache[*v1.PersistentVolumeClaim]
	volumes *control.Cache[*v1.PersistentVolume]
	classes *control.Cache[*storagev1.StorageClass]

	claimQueue  control.Queue
	volumeQueue control.Queue
	volumeStore VolumeStore

	// claimsInProgress are claims, by UID, for which an asset may be in the
	// making. They are worked on even after they have been deleted.
	claimsInProgress map[string]*v1.PersistentVolumeClaim
	// rescheduled holds, by UID, claims from which this controller removed the
	// selected node: without it, but with the version that was edited, until the
	// cache has a newer one.
	rescheduled map[string]rescheduledClaim
	// saved are the names of volumes created here that the cache has not shown
	// yet.
	saved map[string]bool
	// slowSet are claims, by UID, that cannot be satisfied as they stand.
	slowSet map[string]slowRetry
	// calls of the provisioner that have not returned.
	calls []*call
}

// New makes the factory of a provisioner's controller. What is wrong with cfg
// is the factory's error.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		cfg, err := cfg.checked()
		if err != nil {
			return err
		}
		if cfg.New != nil {
			if cfg.Provisioner, err = cfg.New(env); err != nil {
				return fmt.Errorf("provisioner %q: %w", cfg.Name, err)
			}
			if cfg.Provisioner == nil {
				return fmt.Errorf("provisioner %q: Config.New returned nil", cfg.Name)
			}
		}
		newProvisionController(cfg, env)
		return nil
	}
}

// newProvisionController makes the caches and queues of the controller, and the store of its volumes. A provisioner that must
// start first delays the handlers.
//
// Upstream: controller.go NewProvisionController, v13.
func newProvisionController(cfg Config, env control.Env) *provisionController {
	ctrl := &provisionController{
		cfg:         cfg,
		provisioner: cfg.Provisioner,
		env:         env,
		client:      env.Client(),
		events:      env.Recorder(cfg.Name + "_" + cfg.Identity),

		claimsInProgress: map[string]*v1.PersistentVolumeClaim{},
		rescheduled:      map[string]rescheduledClaim{},
		saved:            map[string]bool{},
		slowSet:          map[string]slowRetry{},
	}
	ctrl.classes = control.NewCache[*storagev1.StorageClass](env, control.StorageClasses())
	ctrl.volumes = control.NewCache[*v1.PersistentVolume](env, control.PersistentVolumes())
	ctrl.claims = control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims())
	ctrl.claims.AddIndex(uidIndex, func(claim *v1.PersistentVolumeClaim) []string { return []string{string(claim.UID)} })
	ctrl.claimQueue = env.Queue(ctrl.queueConfig("claims", ctrl.aboutClaim, cfg.FailedProvisionThreshold, cfg.ProvisionTimeout, ctrl.syncClaimHandler))
	ctrl.volumeQueue = env.Queue(ctrl.queueConfig("volumes", control.KeysOf("PersistentVolume"), cfg.FailedDeleteThreshold, cfg.DeletionTimeout,
		ctrl.syncVolumeHandler))
	if cfg.CreateProvisionedPVLimiter != nil {
		ctrl.volumeStore = newQueueStore(ctrl)
	} else {
		ctrl.volumeStore = newBackoffStore(ctrl)
	}
	if follower, ok := ctrl.provisioner.(ClaimFollower); ok {
		follower.FollowClaims(ctrl.claims)
	}
	if starter, ok := ctrl.provisioner.(Starter); ok {
		env.Go("start", func(ctx context.Context) {
			starter.Start(ctx)
			ctrl.watch()
			ctrl.enqueueAll()
		})
		return ctrl
	}
	ctrl.watch()
	return ctrl
}

func (ctrl *provisionController) queueConfig(name string, about func(string) string, threshold int, timeout time.Duration,
	sync func(context.Context, string) error) control.QueueConfig {
	return control.QueueConfig{
		Name:    name,
		About:   about,
		Workers: ctrl.cfg.Threadiness,
		Reconcile: func(ctx context.Context, key string) error {
			if timeout > 0 {
				ctx = control.WithTimeout(ctx, ctrl.env, timeout)
			}
			return sync(ctx, key)
		},
		Limiter:    ctrl.cfg.RateLimiter,
		MaxRetries: max(threshold, 0),
	}
}

// watch connects caches and queues. Classes are only looked up: a class that changes wakes no claim.
//
// Upstream: controller.go NewProvisionController, v13.
func (ctrl *provisionController) watch() {
	ctrl.claims.Handle(control.Handler[*v1.PersistentVolumeClaim]{
		Add:    ctrl.enqueueClaim,
		Update: func(_, claim *v1.PersistentVolumeClaim) { ctrl.enqueueClaim(claim) },
		// A deleted claim is not enqueued: it is in claimsInProgress and in the
		// queue already, or there is nothing to do for it.
		Delete: func(claim *v1.PersistentVolumeClaim) {
			delete(ctrl.rescheduled, string(claim.UID))
			delete(ctrl.slowSet, string(claim.UID))
		},
	})
	ctrl.volumes.Handle(control.Handler[*v1.PersistentVolume]{
		Add: func(volume *v1.PersistentVolume) {
			delete(ctrl.saved, volume.Name)
			ctrl.volumeQueue.Add(volume.Name)
		},
		Update: func(_, volume *v1.PersistentVolume) { ctrl.volumeQueue.Add(volume.Name) },
		Delete: func(volume *v1.PersistentVolume) { ctrl.volumeQueue.Forget(volume.Name) },
	})
	ctrl.env.Every("resync", ctrl.cfg.ResyncPeriod, func(context.Context) {
		ctrl.enqueueAll()
		ctrl.reportBlocked()
	})
}

func (ctrl *provisionController) enqueueAll() {
	for claim := range ctrl.claims.All() {
		ctrl.enqueueClaim(claim)
	}
	for volume := range ctrl.volumes.All() {
		ctrl.volumeQueue.Add(volume.Name)
	}
}

func (ctrl *provisionController) enqueueClaim(claim *v1.PersistentVolumeClaim) {
	ctrl.claimQueue.Add(string(claim.UID))
}

// knownProvisioner reports whether name is one this controller answers to.
//
// Upstream: controller.go knownProvisioner, v13.
func (ctrl *provisionController) knownProvisioner(name string) bool {
	return name == ctrl.cfg.Name || slices.Contains(ctrl.cfg.AdditionalNames, name)
}

// getStorageClass looks a class up in the cache.
//
// Upstream: controller.go getStorageClass, v13.
func (ctrl *provisionController) getStorageClass(name string) (*storagev1.StorageClass, error) {
	if class, ok := ctrl.classes.Get(name); ok {
		return class, nil
	}
	return nil, fmt.Errorf("storageClass %q not found", name)
}
