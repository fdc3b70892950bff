package validation

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Kind says how the objects of one kind are validated. The zero value checks the
// metadata, as for all kinds, and nothing else.
type Kind struct {
	// Names says which names are good; default DNSSubdomain.
	Names Names
	// AnyFinalizer: finalizers need no domain, as those of custom resources.
	AnyFinalizer bool
	// Create says what is wrong with a new object, its metadata apart; defaults are set.
	Create func(obj runtime.Object) field.ErrorList
	// Update says what is wrong with obj as the successor of old, UpdateStatus with an
	// update of the status. What a client may leave out is filled in.
	Update, UpdateStatus func(obj, old runtime.Object) field.ErrorList
}

// Names is a rule for names.
type Names int

// The rules for names that kinds have.
const (
	DNSSubdomain Names = iota // lower case, with dots
	DNSLabel                  // lower case, without dots
	PathSegment               // whatever can be part of a URL's path
)

func (n Names) rule() nameRule {
	switch n {
	case DNSLabel:
		return dnsLabel
	case PathSegment:
		return pathSegment
	}
	return dnsSubdomain
}

// ValidateCreate says what is wrong with a new object, defaults applied. An empty list
// means that it may be stored.
func (k *Kind) ValidateCreate(obj runtime.Object, namespaced bool) field.ErrorList {
	p := &problems{anyFinalizer: k.AnyFinalizer}
	p.newMeta(objectMeta(obj), namespaced, k.Names.rule())
	if k.Create != nil {
		p.list = append(p.list, k.Create(obj)...)
	}
	return p.list
}

// ValidateUpdate says what is wrong with obj as the successor of old. Status, unset
// metadata and defaults are expected to be filled in already.
// Upstream: rest.BeforeUpdate, and ValidateUpdate of the strategies, v1.37.
func (k *Kind) ValidateUpdate(obj, old runtime.Object) field.ErrorList {
	p := &problems{anyFinalizer: k.AnyFinalizer}
	p.updatedMeta(obj, old)
	if k.Update != nil {
		p.list = append(p.list, k.Update(obj, old)...)
	}
	return p.list
}

// ValidateUpdateStatus says what is wrong with obj as a status update of old.
func (k *Kind) ValidateUpdateStatus(obj, old runtime.Object) field.ErrorList {
	p := &problems{anyFinalizer: k.AnyFinalizer}
	p.updatedMeta(obj, old)
	if k.UpdateStatus != nil {
		p.list = append(p.list, k.UpdateStatus(obj, old)...)
	}
	return p.list
}

func (p *problems) updatedMeta(obj, old runtime.Object) {
	m := objectMeta(obj)
	p.metaUpdate(m, objectMeta(old))
	if m.GenerateName != "" {
		p.messages(metadataPath.Child("generateName"), m.GenerateName, content.IsPathSegmentPrefix(m.GenerateName))
	}
}

// objectMeta returns the object's own metadata; of an object that keeps them in another form,
// a copy of what is validated.
func objectMeta(obj runtime.Object) *metav1.ObjectMeta {
	if o, ok := obj.(metav1.ObjectMetaAccessor); ok {
		if m, ok := o.GetObjectMeta().(*metav1.ObjectMeta); ok {
			return m
		}
	}
	o, err := meta.Accessor(obj)
	if err != nil {
		return &metav1.ObjectMeta{}
	}
	return &metav1.ObjectMeta{
		Name: o.GetName(), GenerateName: o.GetGenerateName(), Namespace: o.GetNamespace(), UID: o.GetUID(),
		ResourceVersion: o.GetResourceVersion(), Generation: o.GetGeneration(), CreationTimestamp: o.GetCreationTimestamp(),
		DeletionTimestamp: o.GetDeletionTimestamp(), DeletionGracePeriodSeconds: o.GetDeletionGracePeriodSeconds(),
		Labels: o.GetLabels(), Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences(),
		Finalizers: o.GetFinalizers(), ManagedFields: o.GetManagedFields(),
	}
}

// rules is a Kind whose functions are about one Go type. The server never calls them with
// another.
type rules[T metav1.ObjectMetaAccessor] struct {
	names Names
	// again: an update checks metadata.generateName by the rule for names. The other kinds
	// check only what all kinds do.
	again          bool
	create         func(p *problems, obj T)
	update, status func(p *problems, obj, old T)
}

func (r rules[T]) kind() Kind {
	k := Kind{Names: r.names}
	if r.create != nil {
		k.Create = func(obj runtime.Object) field.ErrorList {
			p := &problems{}
			r.create(p, obj.(T))
			return p.list
		}
	}
	if r.update != nil || r.again {
		k.Update = func(obj, old runtime.Object) field.ErrorList {
			p := &problems{}
			if r.again {
				p.prefixAgain(obj, r.names)
			}
			if r.update != nil {
				r.update(p, obj.(T), old.(T))
			}
			return p.list
		}
	}
	if r.status != nil {
		k.UpdateStatus = func(obj, old runtime.Object) field.ErrorList {
			p := &problems{}
			r.status(p, obj.(T), old.(T))
			return p.list
		}
	}
	return k
}

// prefixAgain checks what an updated object's name was made from.
func (p *problems) prefixAgain(obj runtime.Object, names Names) {
	if m := objectMeta(obj); m.GenerateName != "" {
		p.messages(metadataPath.Child("generateName"), m.GenerateName, names.rule().full(m.GenerateName, true))
	}
}
