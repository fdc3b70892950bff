package api

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// create stores obj, which becomes the server's own. The order of the phases is
// upstream's: defaults, admission that changes the object, what the kind does to
// new objects, validation, and only then whether the name is free.
func (s *Server) create(r *request, in runtime.Object) (runtime.Object, error) {
	obj, err := r.accept(in)
	if err != nil {
		return nil, s.refuse(r, err)
	}
	return s.write(r, func(st *store) (outcome, error) { return s.insert(r, st, obj) })
}

func (s *Server) insert(r *request, st *store, obj object) (outcome, error) {
	if err := s.admitNamespace(r); err != nil {
		return outcome{}, err
	}
	now := s.now()
	r.dropStatus(obj)
	setDefaults(obj)
	if err := admitCreate(s, obj); err != nil {
		return outcome{}, asStatus(err)
	}
	s.fillSystemFields(r, st, obj, now)
	prepareForCreate(obj, now)
	if errs := validateNew(obj); len(errs) > 0 {
		return outcome{}, r.invalid(errs)
	}
	if _, taken := st.items[key(obj)]; taken {
		return outcome{}, apierrors.NewAlreadyExists(r.kind.gvr.GroupResource(), r.name)
	}
	if !r.dryRun {
		s.put(st, nil, obj)
	}
	return outcome{new: obj}, nil
}

// fillSystemFields discards what a client may not say about a new object and
// fills in what the server knows. Upstream: rest.BeforeCreate, v1.36.
func (s *Server) fillSystemFields(r *request, st *store, obj object, now metav1.Time) {
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(s.generateName(st, r.namespace, obj.GetGenerateName()))
	}
	r.name = obj.GetName()
	obj.SetUID(s.uid(st, key(obj)))
	obj.SetCreationTimestamp(now)
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetSelfLink("")
	obj.SetResourceVersion("")
	if !r.tracked {
		obj.SetManagedFields(nil)
	}
	obj.SetGeneration(0)
	if r.kind.generation {
		obj.SetGeneration(1)
	}
}

// dropStatus: a new object has no status but what the server gives it. Nodes are
// the exception: a kubelet registers its node complete.
func (r *request) dropStatus(obj object) {
	if r.kind.status >= 0 && r.kind.gvr != nodes {
		reflect.ValueOf(obj).Elem().Field(r.kind.status).SetZero()
	}
	if ns, ok := obj.(*v1.Namespace); ok {
		ns.Spec.Finalizers = []v1.FinalizerName{v1.FinalizerKubernetes}
	}
}

// validateNew is validateCreate, and never lets an object without a name pass.
func validateNew(obj object) field.ErrorList {
	errs := validateCreate(obj)
	if len(errs) == 0 && obj.GetName() == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "name"), "name or generateName is required"))
	}
	return errs
}

const wrongNamespace = "the namespace of the provided object does not match the namespace sent on the request"

// accept checks that what came with a request is an object of the resource and
// belongs to the namespace of the request.
func (r *request) accept(in runtime.Object) (object, error) {
	obj, ok := in.(object)
	if !ok || reflect.TypeOf(in) != reflect.PointerTo(r.kind.typ) {
		return nil, apierrors.NewBadRequest(typeMismatch(r.kind, in))
	}
	obj.GetObjectKind().SetGroupVersionKind(emptyGVK)
	switch {
	case !r.kind.namespaced:
		obj.SetNamespace("")
	case obj.GetNamespace() == "":
		obj.SetNamespace(r.namespace)
	case obj.GetNamespace() != r.namespace:
		return nil, apierrors.NewBadRequest(wrongNamespace)
	}
	return obj, nil
}

func typeMismatch(k *kind, in runtime.Object) string {
	if in == nil || reflect.ValueOf(in).IsNil() {
		return "there is no object in the request: a " + k.gvk.Kind + " is expected"
	}
	return reflect.TypeOf(in).Elem().Name() + " cannot be handled as a " + k.gvk.Kind
}

// refuse reports a write that did not get as far as the store.
func (s *Server) refuse(r *request, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report(r, outcome{}, err)
	return err
}
