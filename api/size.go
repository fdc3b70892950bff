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

// receiveBody refuses a body that is too large.
// Upstream: apiserver endpoints/handlers limitedReadBody, v1.37.
func (r *request) receiveBody(data []byte) error {
	if len(data) > maxBody {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return nil
}

// receive refuses an object that would not fit into the body of a request. Clients send
// JSON. That of an object is rarely more than a few times as long as what is stored of
// it, so that only large objects are encoded to measure them.
func (r *request) receive(obj call.Object) error {
	if r.size = sizeOf(obj); r.verb == "patch" || r.size < maxBody/8 {
		return nil
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return r.receiveBody(data)
}

// orTooLarge returns the error of a request that fails with err: the body of a request is
// read before anything else is done with it. To measure an object costs time, so that it
// is done only then, and for what is to be stored.
func (r *request) orTooLarge(obj call.Object, err error) error {
	if err == nil {
		return nil
	}
	if tooLarge := r.receive(obj); tooLarge != nil {
		return tooLarge
	}
	return err
}

// fits refuses an object that etcd would not take; receive has measured it. If it is too large with its
// managed fields, it is stored without them, except by an apply. The envelope of the object and
// what a request to etcd has beside it, some hundred bytes, are not counted.
// Upstream: apiserver endpoints/handlers isTooLargeError, createHandler and
// patchResource, v1.37; etcd server processInternalRaftRequestOnce and client/v3, v3.6.
func (r *request) fits(obj call.Object) error {
	if r.dryRun || r.size <= maxStored {
		return nil
	}
	if !r.tracked {
		obj.SetManagedFields(nil)
		r.size = sizeOf(obj)
	}
	switch {
	case r.size <= maxStored:
		return nil
	case r.size <= maxSent:
		return refusal.Internal("etcdserver: request is too large")
	default:
		return refusal.Internal(fmt.Sprintf("rpc error: code = ResourceExhausted desc = trying to send message larger than max (%d vs. %d)", r.size, maxSent))
	}
}
