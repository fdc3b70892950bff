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

// draft is an object that is ready to be stored. It was prepared without the lock, against what was read: whatever a client
// sends, no other client waits while it is checked. The lock is held only while versions are compared, quotas are charged and
// the object is stored.
type draft struct {
	// old is the stored object that obj replaces, nil if obj is new.
	old, obj call.Object
	// late refuses the write after its quotas were charged; nil if nothing does.
	late error
	// same: nothing changed. ends: the object is removed, since nothing holds it any longer.
	same, ends bool
	// deleted is the number of removed objects of the resource on which the UID of a new object depends.
	deleted uint64
}

// errStale reports inside the server that the stored object is not the one that was read.
var errStale = errors.New("the object was written meanwhile")

// tries stores the object that next returns with the stored one that it replaces, nil for a new one. If that was written
// meanwhile, next is called again, until the request's context ends: other clients write meanwhile, and this one only waits.
// Upstream: apiserver storage/etcd3 store.GuaranteedUpdate, v1.37.
func (s *Server) tries(r *request, next func(r *request) (old, obj call.Object, err error)) (runtime.Object, error) {
	for {
		one := *r
		old, obj, err := next(&one)
		if err != nil {
			return nil, s.refuse(&one, err)
		}
		answer, err := s.try(&one, old, obj)
		if !errors.Is(err, errStale) {
			return answer, err
		}
		if err := r.ended(); err != nil {
			return nil, s.refuse(r, err)
		}
	}
}

// try prepares an object and stores it, unless the stored one was written meanwhile.
func (s *Server) try(r *request, old, obj call.Object) (runtime.Object, error) {
	defer func() { s.services.Release(r.reserved) }()
	prepare := s.prepareChanged
	if old == nil {
		prepare = s.prepareNew
	}
	d := &draft{old: old, obj: obj}
	if err := prepare(r, d); err != nil {
		return nil, s.refuse(r, r.orTooLarge(obj, err))
	}
	return s.write(r, func(st *table) (outcome, error) {
		stored := st.Get(store.KeyOf(r.namespace, r.name))
		switch {
		case old == nil:
			return s.commitNew(r, st, d, stored)
		case stored == nil || stored.GetResourceVersion() != old.GetResourceVersion():
			return outcome{}, errStale
		}
		return s.commit(r, st, d, stored)
	})
}

// change stores the object that make returns for the stored one, which is nil if there is none. make may be called more than
// once.
func (s *Server) change(r *request, make func(r *request, old call.Object) (call.Object, error)) (runtime.Object, error) {
	return s.tries(r, func(r *request) (old, obj call.Object, err error) {
		old = s.stored(r)
		obj, err = make(r, old)
		return old, obj, err
	})
}

// stored returns the object that the request names, nil if there is none. It is shared: do not
// modify it.
func (s *Server) stored(r *request) call.Object {
	s.objects.RLock()
	defer s.objects.RUnlock()
	if st, ok := s.tables[r.kind.Home]; ok {
		return st.Get(store.KeyOf(r.namespace, r.name))
	}
	return nil
}

// asShown returns a stored object as the version of the request shows it, nil if there is none. It is shared if it is stored so.
func (r *request) asShown(old call.Object) call.Object {
	if old == nil || r.kind.StoredAs == "" {
		return old
	}
	return r.kind.Shown(old).(call.Object)
}

// commit stores an object in place of stored, which has the version that was read.
func (s *Server) commit(r *request, st *table, d *draft, stored call.Object) (outcome, error) {
	if err := s.chargeQuotas(r, d.obj, stored); err != nil {
		return outcome{}, refusal.AsStatus(err)
	}
	switch {
	case d.late != nil:
		return outcome{}, d.late
	case d.ends:
		if !r.dryRun {
			s.remove(st, stored, d.obj)
		}
		return outcome{old: stored, last: d.obj}, nil
	case d.same:
		return outcome{old: stored, new: stored}, nil
	}
	if !r.dryRun {
		st.share(stored, d.obj)
		s.put(st, stored, d.obj)
	}
	return outcome{old: stored, new: d.obj}, nil
}

// commitNew stores a new object. taken is the object that has its name, nil if none has.
func (s *Server) commitNew(r *request, st *table, d *draft, taken call.Object) (outcome, error) {
	if err := admission.Namespace(held{s}, r.kind, r.namespace, r.name); err != nil {
		return outcome{}, err
	}
	if taken != nil && (r.verb != "create" || r.generated) {
		return outcome{}, errStale
	}
	if err := s.chargeQuotas(r, d.obj, nil); err != nil {
		return outcome{}, refusal.AsStatus(err)
	}
	switch {
	case d.late != nil:
		return outcome{}, d.late
	case taken != nil:
		err := apierrors.NewAlreadyExists(r.kind.GVR.GroupResource(), r.name)
		if taken.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return outcome{}, err
	case d.deleted == st.Deleted():
	case knowsItsUID(d.obj):
		return outcome{}, errStale
	default: // an object of this name may have had the UID
		d.obj.SetUID(s.uid(st, store.Key(d.obj)))
	}
	if !r.dryRun {
		st.share(nil, d.obj)
		s.put(st, nil, d.obj)
		if ns, ok := d.obj.(*v1.Namespace); ok {
			s.addAccount(ns)
		}
	}
	return outcome{new: d.obj}, nil
}

// knowsItsUID reports whether a new object has its UID in other fields.
func knowsItsUID(obj call.Object) bool {
	_, is := obj.(*batchv1.Job)
	return is
}
