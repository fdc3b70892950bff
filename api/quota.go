package api

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/internal/quota"
)

var resourceQuotas = v1.SchemeGroupVersion.WithResource("resourcequotas")

// serverActor is the actor of the writes that the server makes by itself.
const serverActor = "kube-apiserver"

// chargeQuotas adds what a write takes to the quotas of its namespace, or refuses the write. old is nil for a new object. It
// runs after all other admission, with the lock held. What was charged stays charged if the write then fails, until the
// controller of quotas counts again: as upstream.
// Upstream: apiserver admission/plugin/resourcequota, v1.37.
func (s *Server) chargeQuotas(r *request, obj, old call.Object) error {
	st := s.stores[resourceQuotas]
	if st == nil || len(st.items) == 0 || obj.GetNamespace() == "" {
		return nil
	}
	w := quota.Write{Resource: r.kind.GVR.GroupResource(), Subresource: r.sub, Object: obj, Now: s.cfg.Now()}
	if old != nil {
		w.Old = old
	}
	charged, err := quota.Charge(inNamespace[*v1.ResourceQuota](s, resourceQuotas, obj.GetNamespace()), w)
	if err != nil {
		return refusal.OfObject(r.kind.GVR.GroupResource(), obj, err)
	}
	if r.dryRun {
		return nil
	}
	for _, next := range charged {
		before := st.items[key(next)]
		s.put(st, before, next)
		own := &request{actor: serverActor, verb: "update", kind: st.kind, sub: "status", namespace: next.Namespace, name: next.Name}
		s.report(own, outcome{old: before, new: next}, nil)
	}
	return nil
}

// inNamespace returns the objects of a resource in a namespace, in order of name. They are shared: do not modify them. The
// caller holds the lock.
func inNamespace[T call.Object](s *Server, gvr schema.GroupVersionResource, namespace string) (list []T) {
	st := s.stores[gvr]
	if st == nil {
		return nil
	}
	for k := range st.inNamespace(namespace) {
		if o, ok := st.items[k].(T); ok {
			list = append(list, o)
		}
	}
	return list
}
