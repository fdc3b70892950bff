package api

import (
	"github.com/storagesim/storagesim/api/admission"
	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/store"
	"github.com/storagesim/storagesim/internal/quota"
)

// serverActor is the actor of the writes that the server makes by itself.
const serverActor = "kube-apiserver"

// chargeQuotas stores the quotas of the namespace with what a write takes, or refuses the write. old is nil for a new object. The
// caller holds the lock.
func (s *Server) chargeQuotas(r *request, obj, old call.Object) error {
	w := quota.Write{Resource: r.kind.GVR.GroupResource(), Subresource: r.sub, Object: obj, Now: s.cfg.Now()}
	if old != nil {
		w.Old = old
	}
	charged, err := admission.Charge(held{s}, w)
	if err != nil || r.dryRun {
		return err
	}
	for _, next := range charged {
		st := s.tables[admission.ResourceQuotas]
		before := st.Get(store.Key(next))
		s.put(st, before, next)
		own := &request{actor: serverActor, verb: "update", kind: st.kind, sub: "status", namespace: next.Namespace, name: next.Name}
		s.report(own, outcome{old: before, new: next}, nil)
	}
	return nil
}
