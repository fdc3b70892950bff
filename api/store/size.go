package store

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/internal/refusal"
)

// Limits of a cluster as it is usually set up, in bytes.
const (
	// maxStored limits an object in etcd.
	// Upstream: etcd server/embed DefaultMaxRequestBytes (--max-request-bytes), v3.6.
	maxStored = 3 << 19
	// maxSent limits a message of the API server to etcd.
	// Upstream: etcd client/v3 defaultMaxCallSendMsgSize, v3.6.
	maxSent = 2 << 20
)

// SizeOf returns how many bytes the object takes in the encoding that is stored.
func SizeOf(obj runtime.Object) int {
	if sized, ok := obj.(interface{ Size() int }); ok {
		return sized.Size()
	}
	data, err := json.Marshal(obj) // kinds that are not Kubernetes' own are stored as JSON
	if err != nil {
		return 0
	}
	return len(data)
}

// CheckSize refuses an object that etcd would not take. The envelope of the object and what a request to etcd has beside it, some
// hundred bytes, are not counted.
// Upstream: etcd server processInternalRaftRequestOnce and client/v3, v3.6.
func CheckSize(size int) error {
	switch {
	case size <= maxStored:
		return nil
	case size <= maxSent:
		return refusal.Internal("etcdserver: request is too large")
	}
	return refusal.Internal(fmt.Sprintf("rpc error: code = ResourceExhausted desc = trying to send message larger than max (%d vs. %d)", size, maxSent))
}
