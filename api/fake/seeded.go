package fake

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api"
)

// NewClientset makes a clientset over a new server that holds these objects, as client-go's function of that name does. Each is
// written to the server as Tracker().Add writes it: an object that a cluster refuses panics, with the reason. Lists are taken apart.
func NewClientset(objects ...runtime.Object) *Clientset {
	c := New(api.NewServer(api.Config{}), "test")
	for _, obj := range objects {
		mustAdd(obj, c.Tracker().Add)
	}
	return c
}

// NewSimpleClientset does the same as [NewClientset], under client-go's older name.
func NewSimpleClientset(objects ...runtime.Object) *Clientset { return NewClientset(objects...) }

// NewClientsetUnchecked works as NewClientset, for tests that are written for client-go's: the objects are stored as they are,
// without defaults and validation. What the clientset writes afterwards is judged as ever.
func NewClientsetUnchecked(objects ...runtime.Object) *Clientset {
	server := api.NewServer(api.Config{})
	for _, obj := range objects {
		if meta.IsListType(obj) {
			mustAdd(obj, func(list runtime.Object) error { return meta.EachListItem(list, server.Seed) })
			continue
		}
		mustAdd(obj, server.Seed)
	}
	return New(server, "test")
}

// mustAdd panics if the object cannot be added, as client-go's constructors do.
func mustAdd(obj runtime.Object, add func(obj runtime.Object) error) {
	if err := add(obj); err != nil {
		panic(fmt.Sprintf("fake: %T cannot be added: %v", obj, err))
	}
}
