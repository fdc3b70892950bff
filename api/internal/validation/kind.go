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
	// Twice: what is found twice is told twice, as by servers of custom kinds, of their definitions and of APIServices.
	Twice bool
	// Named, if not nil, says what else the name of an object must be; "" if it is that.
	Named func(obj runtime.Object, name string) string
	// MetaLast: the metadata of a new object are looked at only if nothing else is wrong, as of kinds whose own validation leaves them out.
	// Upstream: rest.BeforeCreate, v1.37.2.
	MetaLast bool
	// AnyFinalizer: finalizers need no domain, as those of custom resources and of kinds that upstream validates without core/validation.
	AnyFinalizer bool
	// Create says what is wrong with a new object, its metadata apart; defaults are set.
	Create func(obj runtime.Object) field.ErrorList
	// Update says what is wrong with obj as the successor of old, UpdateStatus with an
	// update of the status. What a client may leave out is filled in.
	Update, UpdateStatus func(obj, old runtime.Object) field.ErrorList
	// Last says what else is wrong with obj, given the errors that were found, those of the metadata among them. old is nil for a new object.
	Last func(errs field.ErrorList, obj, old runtime.Object) field.ErrorList
}

// Names is a rule for names.
type Names int

// The rules for names that kinds have.
const (
	DNSSubdomain Names = iota // lower case, with dots
	DNSLabel                  // lower case, without dots
	PathSegment               // whatever can be part of a URL's path
	IPAddress                 // an address in its canonical form
)

func (n Names) rule() nameRule {
	switch n {
	case DNSLabel:
		return dnsLabel
	case PathSegment:
		return pathSegment
	case IPAddress:
		return ipAddress
	}
	return dnsSubdomain
}

// ruleFor returns the rule for the name of an object.
func (k *Kind) ruleFor(obj runtime.Object) nameRule {
	rule := k.Names.rule()
	if k.Named == nil {
		return rule
	}
	return nameRule{
		quick: func(name string) bool { return rule.quick(name) && k.Named(obj, name) == "" },
		full: func(name string, prefix bool) []string {
			msgs := rule.full(name, prefix)
			if msg := k.Named(obj, name); msg != "" {
				msgs = append(msgs, msg)
			}
			return msgs
		},
	}
}

// ValidateCreate says what is wrong with a new object, defaults applied. An empty list
// means that it may be stored.
func (k *Kind) ValidateCreate(obj runtime.Object, namespaced bool) field.ErrorList {
	p := &Problems{anyFinalizer: k.AnyFinalizer, twice: k.Twice}
	if k.Create != nil {
		p.List = k.Create(obj)
	}
	if !k.MetaLast || len(p.List) == 0 {
		others := p.List
		p.List = nil
		checkNewMeta(p, ObjectMeta(obj), namespaced, k.ruleFor(obj))
		p.List = append(p.List, others...)
	}
	k.last(p, obj, nil)
	return p.once()
}

// ValidateUpdate says what is wrong with obj as the successor of old. Status, unset
// metadata and defaults are expected to be filled in already.
// Upstream: rest.BeforeUpdate, and ValidateUpdate of the strategies, v1.37.
func (k *Kind) ValidateUpdate(obj, old runtime.Object) field.ErrorList {
	p := &Problems{anyFinalizer: k.AnyFinalizer, twice: k.Twice}
	CheckUpdatedMeta(p, obj, old)
	if k.Update != nil {
		p.List = append(p.List, k.Update(obj, old)...)
	}
	k.last(p, obj, old)
	return p.once()
}

// ValidateUpdateStatus says what is wrong with obj as a status update of old.
func (k *Kind) ValidateUpdateStatus(obj, old runtime.Object) field.ErrorList {
	p := &Problems{anyFinalizer: k.AnyFinalizer, twice: k.Twice}
	CheckUpdatedMeta(p, obj, old)
	if k.UpdateStatus != nil {
		p.List = append(p.List, k.UpdateStatus(obj, old)...)
	}
	k.last(p, obj, old)
	return p.once()
}

func (k *Kind) last(p *Problems, obj, old runtime.Object) {
	if k.Last != nil {
		p.List = append(p.List, k.Last(p.List, obj, old)...)
	}
}

// CheckUpdatedMeta validates the metadata of an update by the rules that all kinds have.
func CheckUpdatedMeta(p *Problems, obj, old runtime.Object) {
	m := ObjectMeta(obj)
	checkMetaUpdate(p, m, ObjectMeta(old))
	if m.GenerateName != "" && !p.twice {
		p.Messages(MetadataPath.Child("generateName"), m.GenerateName, content.IsPathSegmentPrefix(m.GenerateName))
	}
}

// ObjectMeta returns the object's own metadata; of an object that keeps them in another form,
// a copy of what is validated.
func ObjectMeta(obj runtime.Object) *metav1.ObjectMeta {
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

// Typed is a Kind whose functions are about one Go type. The server never calls them with
// another.
type Typed[T metav1.ObjectMetaAccessor] struct {
	Names                  Names
	AnyFinalizer, MetaLast bool
	// Again: an update checks metadata.generateName by the rule for names. The other kinds
	// check only what all kinds do.
	Again          bool
	Create         func(p *Problems, obj T)
	Update, Status func(p *Problems, obj, old T)
}

// Kind returns the validation with functions that take any object.
func (r Typed[T]) Kind() Kind {
	k := Kind{Names: r.Names, AnyFinalizer: r.AnyFinalizer, MetaLast: r.MetaLast}
	if r.Create != nil {
		k.Create = func(obj runtime.Object) field.ErrorList {
			p := &Problems{}
			r.Create(p, obj.(T))
			return p.List
		}
	}
	if r.Update != nil || r.Again {
		k.Update = func(obj, old runtime.Object) field.ErrorList {
			p := &Problems{}
			if r.Again {
				CheckPrefixAgain(p, obj, r.Names)
			}
			if r.Update != nil {
				r.Update(p, obj.(T), old.(T))
			}
			return p.List
		}
	}
	if r.Status != nil {
		k.UpdateStatus = func(obj, old runtime.Object) field.ErrorList {
			p := &Problems{}
			r.Status(p, obj.(T), old.(T))
			return p.List
		}
	}
	return k
}

// CheckPrefixAgain checks what an updated object's name was made from.
func CheckPrefixAgain(p *Problems, obj runtime.Object, names Names) {
	if m := ObjectMeta(obj); m.GenerateName != "" {
		p.Messages(MetadataPath.Child("generateName"), m.GenerateName, names.rule().full(m.GenerateName, true))
	}
}
