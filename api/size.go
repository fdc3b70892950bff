package api

import (
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/store"
)

// maxBody limits the body of a request, in bytes, on a cluster as it is usually set up.
// Upstream: apiserver server.NewConfig MaxRequestBodyBytes, v1.37.
const maxBody = 3 << 20

// checkBody refuses a body that is too large.
// Upstream: apiserver endpoints/handlers limitedReadBody, v1.37.
func checkBody(data []byte) error {
	if len(data) > maxBody {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return nil
}

// receive refuses an object that would not fit into the body of a request, and returns its size as it is stored. Clients send
// JSON. That of an object is rarely more than a few times as long as what is stored of
// it, so that only large objects are encoded to measure them.
func (r request) receive(obj call.Object) (size int, err error) {
	if size = store.SizeOf(obj); r.Verb == "patch" || size < maxBody/8 {
		return size, nil
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return size, apierrors.NewBadRequest(err.Error())
	}
	return size, checkBody(data)
}

// measure notes the size of the object, and refuses it as receive does.
func (d *draft) measure() (err error) {
	d.size, err = d.receive(d.obj)
	return err
}

// orTooLarge returns the error of a request that fails with err: the body of a request is
// read before anything else is done with it. To measure an object costs time, so that it
// is done only then, and for what is to be stored.
func (r request) orTooLarge(obj call.Object, err error) error {
	if err == nil {
		return nil
	}
	if _, tooLarge := r.receive(obj); tooLarge != nil {
		return tooLarge
	}
	return err
}

// fits refuses an object that etcd would not take; measure was called. If it is too large with its
// managed fields, it is stored without them, except by an apply.
// Upstream: apiserver endpoints/handlers isTooLargeError, createHandler and patchResource, v1.37.
func (d *draft) fits() error {
	if d.DryRun {
		return nil
	}
	err := store.CheckSize(d.size)
	if err == nil || d.tracked {
		return err
	}
	d.obj.SetManagedFields(nil)
	d.size = store.SizeOf(d.obj)
	return store.CheckSize(d.size)
}
