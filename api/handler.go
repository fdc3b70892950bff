package api

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/internal/call"
)

// Handler answers requests. It is a [Server], or a layer before one that delays requests,
// refuses them or changes answers. Clients are made over a Handler.
type Handler interface {
	// Do carries out a request, except a watch: see [Server.Do].
	Do(ctx context.Context, req Request) (runtime.Object, error)
	// Watch begins a watch, which ends with ctx: see [Server.Watch].
	Watch(ctx context.Context, req Request) (watch.Interface, error)
	// Resources returns all resources, by group and version, in order.
	Resources() []*metav1.APIResourceList
	// Version returns the server's version.
	Version() *version.Info
}

// Request is one request to the server, in the words of an audit log.
type Request = call.Request
