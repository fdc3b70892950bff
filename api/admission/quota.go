package admission

import (
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/internal/quota"
)

// ResourceQuotas is the resource of quotas.
var ResourceQuotas = v1.SchemeGroupVersion.WithResource("resourcequotas")

// Charge adds what a write takes to the quotas of its namespace, or refuses the write. It returns the quotas that are to be stored
// with it. It runs after all other admission. What was charged stays charged if the write then fails, until the
// controller of quotas counts again: as upstream.
// Upstream: apiserver admission/plugin/resourcequota, v1.37.
func Charge(r Reader, w quota.Write) ([]*v1.ResourceQuota, error) {
	obj := w.Object.(call.Object)
	if obj.GetNamespace() == "" {
		return nil, nil
	}
	quotas := list[*v1.ResourceQuota](r, ResourceQuotas, obj.GetNamespace())
	if len(quotas) == 0 {
		return nil, nil
	}
	charged, err := quota.Charge(quotas, w)
	if err != nil {
		return nil, refusal.OfObject(w.Resource, obj, err)
	}
	return charged, nil
}
