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
