package api

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
)

// Handler answers requests: a [Server], or what stands before one and waits, refuses
// or changes answers. Clients are made over a Handler.
type Handler interface {
	// Do carries out a request, everything but a watch: see [Server.Do].
	Do(ctx context.Context, req Request) (runtime.Object, error)
	// Watch begins a watch, which ends with ctx: see [Server.Watch].
	Watch(ctx context.Context, req Request) (watch.Interface, error)
	// Resources are all resources, by group and version, in order.
	Resources() []*metav1.APIResourceList
	// Version is what the server says of its version.
	Version() *version.Info
}

var _ Handler = (*Server)(nil)

// String is the request in short: "update persistentvolumes/status pv-1".
func (req *Request) String() string {
	s := req.Verb + " " + req.Resource.Resource
	if req.Subresource != "" {
		s += "/" + req.Subresource
	}
	switch name := req.ObjectName(); {
	case name != "":
		s += " " + keyOf(req.Namespace, name)
	case req.Namespace != "":
		s += " in " + req.Namespace
	}
	return s
}

// ObjectName is the name of the object that the request is about, as far as it says so:
// of an object whose name the server is to make, it is what that begins with.
func (req *Request) ObjectName() string {
	if req.Name != "" {
		return req.Name
	}
	obj, ok := req.Object.(object)
	switch {
	case !ok:
		return ""
	case obj.GetName() == "":
		return obj.GetGenerateName()
	}
	return obj.GetName()
}
