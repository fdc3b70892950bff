package strategy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Kind says what is done to the objects of one kind before they are stored. A function
// that is nil does nothing.
type Kind struct {
	// Default fills in what a client left out, and gives fields that say the same thing
	// twice one form. It runs on whatever comes in; a second run changes nothing.
	Default func(obj runtime.Object)
	// DefaultApplied does that to the outcome of a server-side apply, in place of Default; nil if there is no difference.
	DefaultApplied func(obj runtime.Object)
	// KeepStatus: a new object keeps the status that it comes with, as far as Create does
	// not change it. Of other kinds it is dropped.
	KeepStatus bool
	// Create gives a new object the status it begins with.
	Create func(obj runtime.Object, now metav1.Time)
	// Undefaulted reports whether a new object is stored without a default that it is shown with: Create empties a field on a real server
	// after defaults were set. Its first update stores the default, and therefore is a write even if it changes nothing.
	// Upstream: apiserver storage/etcd3 store.GuaranteedUpdate, v1.37.2.
	Undefaulted func(obj runtime.Object) bool
	// Update brings an updated object into the form that is stored. Its status is that of
	// old already.
	Update func(obj, old runtime.Object)
	// UpdateStatus does that for an update of the status. The spec is that of old already.
	UpdateStatus func(obj, old runtime.Object, now metav1.Time)
}

// Of is a Kind whose functions are about one Go type. The server never calls them with
// another.
type Of[T runtime.Object] struct {
	Default      func(obj T)
	Create       func(obj T, now metav1.Time)
	Undefaulted  func(obj T) bool
	Update       func(obj, old T)
	UpdateStatus func(obj, old T, now metav1.Time)
}

// Kind returns the same for objects of any type.
func (s Of[T]) Kind() Kind {
	var k Kind
	if s.Default != nil {
		k.Default = func(obj runtime.Object) { s.Default(obj.(T)) }
	}
	if s.Create != nil {
		k.Create = func(obj runtime.Object, now metav1.Time) { s.Create(obj.(T), now) }
	}
	if s.Undefaulted != nil {
		k.Undefaulted = func(obj runtime.Object) bool { return s.Undefaulted(obj.(T)) }
	}
	if s.Update != nil {
		k.Update = func(obj, old runtime.Object) { s.Update(obj.(T), old.(T)) }
	}
	if s.UpdateStatus != nil {
		k.UpdateStatus = func(obj, old runtime.Object, now metav1.Time) { s.UpdateStatus(obj.(T), old.(T), now) }
	}
	return k
}
