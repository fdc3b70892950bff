package api

import (
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/store"
)

// draft is an object that is ready to be stored, with the request as the phases return it. It was prepared without the lock, against what was read: whatever a client
// sends, no other client waits while it is checked. The lock is held only while versions are compared, quotas are charged and
// the object is stored.
type draft struct {
	request
	// old is the stored object that obj replaces, nil if obj is new.
	old, obj call.Object
	// late refuses the write after its quotas were charged; nil if nothing does.
	late error
	// same: nothing changed. ends: the object is removed, since nothing holds it any longer.
	same, ends bool
	// deleted is the number of removed objects of the resource on which the UID of a new object depends.
	deleted uint64
	// reserved has the addresses and ports that are reserved for a service until it is stored.
	reserved *v1.Service
}

// errStale reports inside the server that the stored object is not the one that was read.
var errStale = errors.New("the object was written meanwhile")

// tries stores the object that next returns with the stored one that it replaces, nil for a new one. If that was written
// meanwhile, next is called again, until the request's context ends: other clients write meanwhile, and this one only waits.
// Upstream: apiserver storage/etcd3 store.GuaranteedUpdate, v1.37.
func (w *writer) tries(r request, next func(r request) (old, obj call.Object, err error)) (runtime.Object, error) {
	for {
		old, obj, err := next(r)
		if err != nil {
			return nil, w.reports.refuse(r, err)
		}
		answer, err := w.try(r, old, obj)
		if !errors.Is(err, errStale) {
			return answer, err
		}
		if err := r.ended(); err != nil {
			return nil, w.reports.refuse(r, err)
		}
	}
}

// try prepares an object and stores it, unless the stored one was written meanwhile.
func (w *writer) try(r request, old, obj call.Object) (runtime.Object, error) {
	d := &draft{request: r, old: old, obj: obj}
	defer func() { w.tables.services.Release(d.reserved) }()
	prepare := w.prepare.forUpdate
	if old == nil {
		prepare = w.prepare.forCreate
	}
	if err := prepare(d); err != nil {
		return nil, w.reports.refuse(d.request, d.orTooLarge(obj, err))
	}
	return w.write(d.request, func(st *table) (outcome, error) {
		stored := st.Get(store.KeyOf(d.namespace, d.name))
		switch {
		case old == nil:
			return w.commitNew(st, d, stored)
		case stored == nil || stored.GetResourceVersion() != old.GetResourceVersion():
			return outcome{}, errStale
		}
		return w.commit(st, d, stored)
	})
}

// change stores the object that make returns for the stored one, which is nil if there is none. make may be called more than
// once.
func (w *writer) change(r request, make func(r request, old call.Object) (call.Object, error)) (runtime.Object, error) {
	return w.tries(r, func(r request) (old, obj call.Object, err error) {
		old = w.tables.stored(r)
		obj, err = make(r, old)
		return old, obj, err
	})
}

// stored returns the object that the request names, nil if there is none. It is shared: do not
// modify it.
func (t *tables) stored(r request) call.Object {
	t.objects.RLock()
	defer t.objects.RUnlock()
	if st, ok := t.byHome[r.kind.Home]; ok {
		return st.Get(store.KeyOf(r.namespace, r.name))
	}
	return nil
}

// asShown returns a stored object as the version of the request shows it, nil if there is none. It is shared if it is stored so.
func (r request) asShown(old call.Object) call.Object {
	if old == nil || r.kind.StoredAs == "" {
		return old
	}
	return r.kind.Shown(old).(call.Object)
}

// commit stores an object in place of stored, which has the version that was read.
func (w *writer) commit(st *table, d *draft, stored call.Object) (outcome, error) {
	if err := w.chargeQuotas(d.request, d.obj, stored); err != nil {
		return outcome{}, refusal.AsStatus(err)
	}
	switch {
	case d.late != nil:
		return outcome{}, d.late
	case d.ends:
		if !d.dryRun {
			w.tables.remove(st, stored, d.obj)
		}
		return outcome{old: stored, last: d.obj}, nil
	case d.same:
		return outcome{old: stored, new: stored}, nil
	}
	if !d.dryRun {
		st.share(stored, d.obj)
		w.tables.put(st, stored, d.obj)
	}
	return outcome{old: stored, new: d.obj}, nil
}

// commitNew stores a new object. taken is the object that has its name, nil if none has.
func (w *writer) commitNew(st *table, d *draft, taken call.Object) (outcome, error) {
	if err := admission.Namespace(held{w.tables}, d.kind, d.namespace, d.name); err != nil {
		return outcome{}, err
	}
	if taken != nil && (d.verb != "create" || d.generated) {
		return outcome{}, errStale
	}
	if err := w.chargeQuotas(d.request, d.obj, nil); err != nil {
		return outcome{}, refusal.AsStatus(err)
	}
	switch {
	case d.late != nil:
		return outcome{}, d.late
	case taken != nil:
		err := apierrors.NewAlreadyExists(d.kind.GVR.GroupResource(), d.name)
		if taken.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return outcome{}, err
	case d.deleted == st.Deleted():
	case knowsItsUID(d.obj):
		return outcome{}, errStale
	default: // an object of this name may have had the UID
		d.obj.SetUID(w.names.uid(st, store.Key(d.obj)))
	}
	if !d.dryRun {
		st.share(nil, d.obj)
		w.tables.put(st, nil, d.obj)
		if ns, ok := d.obj.(*v1.Namespace); ok {
			w.accounts.add(ns)
		}
	}
	return outcome{new: d.obj}, nil
}

// knowsItsUID reports whether a new object has its UID in other fields.
func knowsItsUID(obj call.Object) bool {
	_, is := obj.(*batchv1.Job)
	return is
}
