package api

import (
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
)

// Limits of a cluster as it is usually set up, in bytes.
const (
	// maxBody limits the body of a request.
	// Upstream: apiserver server.NewConfig MaxRequestBodyBytes, v1.37.
	maxBody = 3 << 20
	// maxStored limits an object in etcd.
	// Upstream: etcd server/embed DefaultMaxRequestBytes (--max-request-bytes), v3.6.
	maxStored = 3 << 19
	// maxSent limits a message of the API server to etcd.
	// Upstream: etcd client/v3 defaultMaxCallSendMsgSize, v3.6.
	maxSent = 2 << 20
)

// sizeOf returns how many bytes the object takes in the encoding that is stored.
func sizeOf(obj runtime.Object) int {
	if sized, ok := obj.(interface{ Size() int }); ok {
		return sized.Size()
	}
	data, err := json.Marshal(obj) // kinds that are not Kubernetes' own are stored as JSON
	if err != nil {
		return 0
	}
	return len(data)
}

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
	if size = sizeOf(obj); r.verb == "patch" || size < maxBody/8 {
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
// managed fields, it is stored without them, except by an apply. The envelope of the object and
// what a request to etcd has beside it, some hundred bytes, are not counted.
// Upstream: apiserver endpoints/handlers isTooLargeError, createHandler and
// patchResource, v1.37; etcd server processInternalRaftRequestOnce and client/v3, v3.6.
func (d *draft) fits() error {
	if d.dryRun || d.size <= maxStored {
		return nil
	}
	if !d.tracked {
		d.obj.SetManagedFields(nil)
		d.size = sizeOf(d.obj)
	}
	switch {
	case d.size <= maxStored:
		return nil
	case d.size <= maxSent:
		return refusal.Internal("etcdserver: request is too large")
	default:
		return refusal.Internal(fmt.Sprintf("rpc error: code = ResourceExhausted desc = trying to send message larger than max (%d vs. %d)", d.size, maxSent))
	}
}
