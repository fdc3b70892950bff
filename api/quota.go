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
func (w *writer) chargeQuotas(r request, obj, old call.Object) error {
	write := quota.Write{Resource: r.kind.GVR.GroupResource(), Subresource: r.sub, Object: obj, Now: w.clock()}
	if old != nil {
		write.Old = old
	}
	charged, err := admission.Charge(held{w.tables}, write)
	if err != nil || r.dryRun {
		return err
	}
	for _, next := range charged {
		st := w.tables.byHome[admission.ResourceQuotas]
		before := st.Get(store.Key(next))
		w.tables.put(st, before, next)
		own := request{actor: serverActor, verb: "update", kind: st.kind, sub: "status", namespace: next.Namespace, name: next.Name}
		w.reports.report(own, outcome{old: before, new: next}, nil)
	}
	return nil
}
