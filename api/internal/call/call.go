// Package call has the type of a request to the API server, and that of an object. The server, which exports the former
// as api.Request, its rooms and the typed clients share them without importing each other.
package call

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/typedpatch"
)

// Request is one request to the server, in the words of an audit log.
type Request struct {
	// Actor is the client's name. It is the field manager of what it writes, unless Write
	// has another, and the trace names it.
	Actor string
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	Verb string
	// Resource is the resource of the objects, for example persistentvolumes in v1.
	Resource schema.GroupVersionResource
	// Subresource is "" for the object itself, or for example "status".
	Subresource string
	// Namespace is "" for objects without a namespace, and for a list of all namespaces.
	Namespace string
	// Name is the name of the object. It may be "" where an object is created or updated, but
	// not where a subresource, such as an eviction, is created.
	Name string
	// Object is the object to create or update. The server keeps it: do not modify it
	// afterwards.
	Object runtime.Object
	// PatchType is the type of the patch in Patch.
	PatchType types.PatchType
	Patch     []byte
	// Values is a strategic merge patch of a component of this process, where Patch is empty.
	Values typedpatch.Values

	// Get holds the options of get.
	Get metav1.GetOptions
	// List holds those of list and watch, and selects what deletecollection deletes.
	List metav1.ListOptions
	// Write holds those of create, update and patch. Force is for an apply.
	Write metav1.PatchOptions
	// Delete holds those of delete and deletecollection.
	Delete metav1.DeleteOptions

	// Track: the server notes in an object that the request creates which fields its manager set, as a real server
	// always does. Later writes of the object by other clients and by controllers are noted then as well. It costs far more than all else
	// that a write does.
	Track bool

	// Shared: the caller only reads the answer, or the events of the watch. They may then be
	// objects of the server itself, which saves a copy; do not modify them. (A quantity keeps
	// its text once it was asked for it. Stored objects were measured, so theirs were.)
	Shared bool

	// Created, if it is not nil, is set to whether the request has stored a new object, as an
	// apply may.
	Created *bool
	// Warn, if it is not nil, is called with each warning for the client: of fields that a patch has and
	// the kind does not, and of what is accepted and has no effect, or is likely a mistake. The server may be locked: it must
	// not be called.
	Warn func(text string)
}

// String returns the request in short: "update persistentvolumes/status pv-1".
func (req *Request) String() string {
	s := req.Verb + " " + req.Resource.Resource
	if req.Subresource != "" {
		s += "/" + req.Subresource
	}
	switch name := req.ObjectName(); {
	case name != "" && req.Namespace != "":
		s += " " + req.Namespace + "/" + name
	case name != "":
		s += " " + name
	case req.Namespace != "":
		s += " in " + req.Namespace
	}
	return s
}

// ObjectName returns the name of the object that the request is about, or the beginning of
// the name if the server is to generate it. It is "" if the request has neither.
func (req *Request) ObjectName() string {
	if req.Name != "" {
		return req.Name
	}
	obj, ok := req.Object.(metav1.Object)
	switch {
	case !ok:
		return ""
	case obj.GetName() == "":
		return obj.GetGenerateName()
	}
	return obj.GetName()
}
