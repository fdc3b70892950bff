package attacher

import (
	"context"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/internal/semantic"
)

// csiAttacher attaches and detaches the volumes of one driver.
//
// Upstream: pkg/controller/controller.go CSIAttachController and csi_handler.go
// csiHandler, v4.13.
type csiAttacher struct {
	cfg       Config
	env       control.Env
	client    kubernetes.Interface
	conn      grpc.ClientConnInterface
	driver    csi.ControllerClient
	finalizer string

	attachments *control.Cache[*storage.VolumeAttachment]
	volumes     *control.Cache[*v1.PersistentVolume]
	csiNodes    *control.Cache[*storage.CSINode]

	// detachQueue has the VolumeAttachments that are being deleted, if Config.DetachThreads says so; otherwise it is
	// vaQueue. attaching holds those on which a worker of vaQueue then is at work.
	vaQueue, pvQueue, detachQueue control.Queue
	attaching                     map[string]bool

	// reported holds the driver's name and capabilities at the start of the attacher.
	reported sidecar.Driver
	// forceSync holds VolumeAttachments whose status is known to be wrong.
	forceSync map[string]bool
}

// New returns the factory of an attacher, which refuses an invalid cfg.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		cfg, err := cfg.checked()
		if err != nil {
			return err
		}
		conn := cfg.Dial(env)
		a := &csiAttacher{
			cfg: cfg, env: env, client: env.Client(), conn: conn, driver: csi.NewControllerClient(conn),
			finalizer: GetFinalizerName(cfg.Driver),
			forceSync: map[string]bool{}, attaching: map[string]bool{},
		}
		a.attachments = control.NewCache[*storage.VolumeAttachment](env, control.VolumeAttachments())
		a.attachments.AddIndex(byVolume, volumeOf)
		a.volumes = control.NewCache[*v1.PersistentVolume](env, control.PersistentVolumes())
		a.csiNodes = control.NewCache[*storage.CSINode](env, control.CSINodes())
		limiter := control.RateLimiter{Base: cfg.RetryIntervalStart, Max: cfg.RetryIntervalMax, QPS: -1}
		a.vaQueue = env.Queue(control.QueueConfig{
			Name: "csi-attacher-va", About: control.KeysOf("VolumeAttachment"), Workers: cfg.WorkerThreads, Limiter: limiter, Reconcile: a.syncVA,
		})
		a.pvQueue = env.Queue(control.QueueConfig{
			Name: "csi-attacher-pv", About: control.KeysOf("PersistentVolume"), Workers: cfg.WorkerThreads, Limiter: limiter, Reconcile: a.syncPV,
		})
		a.detachQueue = a.vaQueue
		if cfg.DetachThreads > 0 {
			a.detachQueue = env.Queue(control.QueueConfig{
				Name: "csi-attacher-detach", About: control.KeysOf("VolumeAttachment"), Workers: cfg.DetachThreads, Limiter: limiter, Reconcile: a.syncDeleted,
			})
		}
		env.Go("start", a.start)
		return nil
	}
}

// byVolume is the index of VolumeAttachments by the volume that they name.
const byVolume = "volume"

func volumeOf(va *storage.VolumeAttachment) []string {
	if name := va.Spec.Source.PersistentVolumeName; name != nil {
		return []string{*name}
	}
	return nil
}

// start meets the driver. Before that nothing is worked on.
func (a *csiAttacher) start(ctx context.Context) {
	a.reported = sidecar.Meet(ctx, a.env, a.conn, a.cfg.Driver, a.cfg.Timeout)
	a.watch()
	a.enqueueAll()
	a.env.Every("resync", a.cfg.Resync, func(context.Context) { a.enqueueAll() })
	if a.supportsAttach() && a.reported.Controller[csi.ControllerServiceCapability_RPC_LIST_VOLUMES] &&
		a.reported.Controller[csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES] {
		a.env.Every("reconcile", a.cfg.ReconcileSync, a.reconcileVA)
	}
}

func (a *csiAttacher) supportsAttach() bool {
	return a.reported.Controller[csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME]
}

// watch connects caches and queues.
func (a *csiAttacher) watch() {
	a.attachments.Handle(control.Handler[*storage.VolumeAttachment]{
		Add: a.enqueueVA,
		Update: func(old, va *storage.VolumeAttachment) {
			if shouldEnqueueVAChange(old, va) {
				a.enqueueVA(va)
			}
		},
		Delete: func(va *storage.VolumeAttachment) {
			if name := va.Spec.Source.PersistentVolumeName; name != nil {
				a.pvQueue.Add(*name)
			}
		},
	})
	a.volumes.Handle(control.Handler[*v1.PersistentVolume]{
		Add:    a.enqueueVolume,
		Update: func(_, pv *v1.PersistentVolume) { a.enqueueVolume(pv) },
	})
}

func (a *csiAttacher) enqueueVA(va *storage.VolumeAttachment) {
	if va.DeletionTimestamp != nil {
		a.detachQueue.Add(va.Name)
	} else {
		a.vaQueue.Add(va.Name)
	}
}

func (a *csiAttacher) enqueueAll() {
	for va := range a.attachments.All() {
		a.enqueueVA(va)
	}
	for pv := range a.volumes.All() {
		a.enqueueVolume(pv)
	}
}

// Upstream: controller.go processFinalizers, v4.13.
func (a *csiAttacher) enqueueVolume(pv *v1.PersistentVolume) {
	if pv.DeletionTimestamp != nil && slices.Contains(pv.Finalizers, a.finalizer) {
		a.pvQueue.Add(pv.Name)
	}
}

// shouldEnqueueVAChange reports whether more has changed than the errors in the status. The attacher writes those
// itself; if they counted, each failure would trigger the next try at once, without backoff.
//
// Upstream: controller.go shouldEnqueueVAChange, v4.13.
func shouldEnqueueVAChange(old, va *storage.VolumeAttachment) bool {
	if va.Status.AttachError == nil && va.Status.DetachError == nil && old.Status.AttachError == nil && old.Status.DetachError == nil {
		return true
	}
	same := va.DeepCopy()
	same.ResourceVersion, same.ManagedFields = old.ResourceVersion, old.ManagedFields
	same.Status.AttachError, same.Status.DetachError = old.Status.AttachError, old.Status.DetachError
	return !semantic.Equal(old, same)
}

// syncVA attaches or detaches. What failed before a VolumeAttachment went counts for the next one of its name, that of the
// same volume and node.
//
// Upstream: controller.go syncVA and csi_handler.go SyncNewOrUpdatedVolumeAttachment, v4.13.
func (a *csiAttacher) syncVA(ctx context.Context, name string) error {
	va, ok := a.attachments.Get(name)
	switch {
	case !ok || va.Spec.Attacher != a.cfg.Driver:
		return control.ErrNotForgotten
	case !a.supportsAttach():
		return a.syncTrivial(ctx, va)
	case va.DeletionTimestamp == nil && a.cfg.DetachThreads > 0:
		return a.syncAttachAlone(ctx, va)
	case va.DeletionTimestamp == nil:
		return a.syncAttach(ctx, va)
	case a.cfg.DetachThreads > 0:
		a.detachQueue.Add(name)
		return nil
	}
	return a.syncDetach(ctx, va)
}

// syncAttachAlone attaches, and keeps the other queue's workers from the VolumeAttachment meanwhile.
func (a *csiAttacher) syncAttachAlone(ctx context.Context, va *storage.VolumeAttachment) error {
	a.attaching[va.Name] = true
	defer func() {
		delete(a.attaching, va.Name)
		if now, ok := a.attachments.Get(va.Name); ok && now.DeletionTimestamp != nil {
			a.detachQueue.Add(va.Name)
		}
	}()
	return a.syncAttach(ctx, va)
}

// syncDeleted detaches the volume of a VolumeAttachment that is being deleted, unless it is being attached: then
// syncAttachAlone queues it again.
func (a *csiAttacher) syncDeleted(ctx context.Context, name string) error {
	va, ok := a.attachments.Get(name)
	switch {
	case !ok || va.DeletionTimestamp == nil || va.Spec.Attacher != a.cfg.Driver || a.attaching[name]:
		return nil
	case !a.supportsAttach():
		return a.syncTrivial(ctx, va)
	}
	return a.syncDetach(ctx, va)
}
