package api

import (
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/address"
	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/names"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/internal/quota"
)

// writer stores what the preparer made, and reports it.
type writer struct {
	tables   *tables
	prepare  *preparer
	reports  *reporter
	accounts *accounts
	names    names.Namer
	clock    call.Clock
}

// create stores in, which must not be modified afterwards. The order of the phases is
// upstream's: defaults, admission that changes the object, what the kind does to
// new objects, validation, and only then whether the name is free.
func create(w *writer, r request, in runtime.Object) (runtime.Object, error) {
	obj, err := r.Accept(in, r.warn)
	if err != nil {
		return nil, w.reports.refuse(r, err)
	}
	repeats := obj.GetName() == "" || knowsItsUID(obj)
	return w.tries(r, func(request) (call.Object, call.Object, error) {
		if repeats {
			return nil, obj.DeepCopyObject().(call.Object), nil
		}
		return nil, obj, nil
	})
}

// update replaces the object by in, or its status alone if that is the subresource. in
// must not be modified afterwards.
// Upstream: registry/generic/registry Store.Update, v1.37.
func update(w *writer, r request, in runtime.Object) (runtime.Object, error) {
	obj, err := r.Accept(in, r.warn)
	if err != nil {
		return nil, w.reports.refuse(r, err)
	}
	version, prepared := obj.GetResourceVersion(), false
	return w.change(r, func(r request, old call.Object) (call.Object, error) {
		switch {
		case old == nil && !createsOnUpdate(r):
			return nil, r.orTooLarge(obj, r.NotFound())
		case old == nil && obj.GetUID() != "":
			return nil, r.orTooLarge(obj, r.WrongUID(obj.GetUID(), ""))
		case old == nil || version == "" || version == "0": // it may be prepared once more
			return obj.DeepCopyObject().(call.Object), nil
		case prepared: // the stored object had this version, and has it no longer
			return nil, r.Modified()
		}
		prepared = true
		return obj, nil
	})
}

// createsOnUpdate reports whether an update of what is not there creates it. So does one of the status, whose strategy is that of the
// object in this: only Services have both.
// Upstream: registry/generic/registry Store.Update and registry/core/service/storage StatusREST.Update, v1.37.2.
func createsOnUpdate(r request) bool {
	return r.Kind.CreatesOnUpdate && (r.Sub == "" || r.Sub == "status")
}

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
		stored := st.Get(store.KeyOf(d.Namespace, d.Name))
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
		old = w.tables.stored(r.Address)
		obj, err = make(r, old)
		return old, obj, err
	})
}

// stored returns the object with the address, nil if there is none. It is shared: do not
// modify it.
func (t *tables) stored(a address.Address) call.Object {
	t.objects.RLock()
	defer t.objects.RUnlock()
	if st, ok := t.byHome[a.Kind.Home]; ok {
		return st.Get(store.KeyOf(a.Namespace, a.Name))
	}
	return nil
}

// write runs do under the lock, and reports its outcome to the hooks.
func (w *writer) write(r request, do func(st *table) (outcome, error)) (runtime.Object, error) {
	out, err := w.writeLocked(r, do)
	if err != nil {
		return nil, err
	}
	if r.created != nil {
		*r.created = out.old == nil
	}
	return r.Kind.Given(out.answer(), r.shared), nil
}

// writeLocked does what write does, without the answer.
func (w *writer) writeLocked(r request, do func(st *table) (outcome, error)) (outcome, error) {
	out, err := w.writeOnce(r, do)
	if err != nil || r.DryRun || r.Kind.Written == nil || out.old == out.new {
		return out, err
	}
	var old, obj runtime.Object // nil interfaces where there is none
	if out.old != nil {
		old = out.old
	}
	if out.new != nil {
		obj = out.new
	}
	r.Kind.Written(old, obj)
	return out, nil
}

func (w *writer) writeOnce(r request, do func(st *table) (outcome, error)) (outcome, error) {
	w.tables.objects.Lock()
	defer w.tables.objects.Unlock()
	st, err := w.tables.of(r.Kind.GVR)
	if err != nil {
		return outcome{}, err
	}
	out, err := do(st)
	switch {
	case errors.Is(err, errStale): // it is prepared again
		return outcome{}, err
	case err != nil:
		out = outcome{}
	}
	w.reports.report(r, out, err)
	return out, err
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
		last := d.obj.DeepCopyObject().(call.Object)
		if !d.DryRun {
			w.tables.remove(st, stored, last)
		}
		return outcome{old: stored, last: last, ended: d.obj}, nil
	case d.same && st.undefaulted[store.Key(stored)] == d.isUntidy():
		return outcome{old: stored, new: stored}, nil
	case d.same:
		d.obj = stored.DeepCopyObject().(call.Object)
	}
	if !d.DryRun {
		st.quantities.Share(stored, d.obj)
		w.tables.put(st, stored, d.obj)
		st.noteUndefaulted(d)
	}
	return outcome{old: stored, new: d.obj}, nil
}

// commitNew stores a new object. taken is the object that has its name, nil if none has.
func (w *writer) commitNew(st *table, d *draft, taken call.Object) (outcome, error) {
	if err := admission.Namespace(held{w.tables}, d.Kind, d.Namespace, d.Name); err != nil {
		return outcome{}, err
	}
	if !d.DryRun {
		st.MakeRoom(store.Key(d.obj)) // before the object gets its UID
	}
	if taken != nil && (d.Verb != "create" || d.generated) {
		return outcome{}, errStale
	}
	if err := w.chargeQuotas(d.request, d.obj, nil); err != nil {
		return outcome{}, refusal.AsStatus(err)
	}
	switch {
	case d.late != nil:
		return outcome{}, d.late
	case taken != nil:
		err := apierrors.NewAlreadyExists(d.Kind.GVR.GroupResource(), d.Name)
		if taken.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return outcome{}, err
	case d.deleted == st.Deleted():
	case knowsItsUID(d.obj):
		return outcome{}, errStale
	default: // an object of this name may have had the UID
		d.obj.SetUID(st.uid(w.names, store.Key(d.obj)))
	}
	if !d.DryRun {
		st.quantities.Share(nil, d.obj)
		w.tables.put(st, nil, d.obj)
		st.noteUndefaulted(d)
		if ns, ok := d.obj.(*v1.Namespace); ok {
			w.accounts.add(ns)
		}
	}
	return outcome{new: d.obj}, nil
}

// noteUndefaulted notes an object that was just stored otherwise than it is shown.
func (st *table) noteUndefaulted(d *draft) {
	lacks := d.Kind.Strategy.Undefaulted
	if d.isUntidy() || d.old == nil && lacks != nil && lacks(d.obj) {
		if st.undefaulted == nil {
			st.undefaulted = map[string]bool{} // most tables need none
		}
		st.undefaulted[store.Key(d.obj)] = true
	}
}

// knowsItsUID reports whether a new object has its UID in other fields.
func knowsItsUID(obj call.Object) bool {
	_, is := obj.(*batchv1.Job)
	return is
}

// serverActor is the actor of the writes that the server makes by itself.
const serverActor = "kube-apiserver"

// chargeQuotas stores the quotas of the namespace with what a write takes, or refuses the write. old is nil for a new object. The
// caller holds the lock.
func (w *writer) chargeQuotas(r request, obj, old call.Object) error {
	write := quota.Write{Resource: r.Kind.GVR.GroupResource(), Subresource: r.Sub, Object: obj, Now: w.clock()}
	if old != nil {
		write.Old = old
	}
	charged, err := admission.Charge(held{w.tables}, write)
	if err != nil || r.DryRun {
		return err
	}
	for _, next := range charged {
		st := w.tables.byHome[admission.ResourceQuotas]
		before := st.Get(store.Key(next))
		w.tables.put(st, before, next)
		own := address.Address{Verb: "update", Kind: st.kind, Sub: "status", Namespace: next.Namespace, Name: next.Name}
		w.reports.report(request{Address: own, actor: serverActor}, outcome{old: before, new: next}, nil)
	}
	return nil
}
