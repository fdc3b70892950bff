package quota

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Write is a request that quotas are asked about.
type Write struct {
	Resource    schema.GroupResource
	Subresource string
	// Old is nil for a new object.
	Object, Old runtime.Object
	Now         time.Time
}

// Charge returns the quotas of the namespace whose usage the write changes, with the new usage, or the reason to refuse it.
// The quotas given are not modified.
// Upstream: admission/plugin/resourcequota CheckRequest, v1.37.
func Charge(quotas []*v1.ResourceQuota, w Write) ([]*v1.ResourceQuota, error) {
	evaluator := Of(w.Resource)
	if Ignored(w.Resource) || !evaluator.handles(w) {
		return nil, nil
	}
	concerned, err := evaluator.concerned(quotas, w)
	if err != nil {
		return nil, err
	}
	var charged []*v1.ResourceQuota
	for _, q := range concerned {
		next, err := evaluator.chargeOne(q, w)
		if err != nil {
			return nil, err
		}
		if next != nil {
			charged = append(charged, next)
		}
	}
	return charged, nil
}

func (e Evaluator) handles(w Write) bool {
	if w.Old == nil {
		return w.Subresource == ""
	}
	return e.concerns != nil && e.concerns(w.Subresource, w.Object, w.Old)
}

// concerned returns the quotas that count the object, or why one of them refuses it whatever it takes.
func (e Evaluator) concerned(quotas []*v1.ResourceQuota, w Write) (list []*v1.ResourceQuota, err error) {
	for _, q := range quotas {
		names := e.Matching(Names(q.Status.Hard))
		if len(names) == 0 || !e.Selects(&q.Spec, w.Object) {
			continue
		}
		if e.lacks != nil {
			if lacking := e.lacks(names, w.Object); lacking != "" {
				return nil, fmt.Errorf("failed quota: %s: %s", q.Name, lacking)
			}
		}
		if slices.ContainsFunc(names, func(name v1.ResourceName) bool { _, counted := q.Status.Used[name]; return !counted }) {
			return nil, fmt.Errorf("status unknown for quota: %s, resources: %s", q.Name, joined(names))
		}
		list = append(list, q)
	}
	return list, nil
}

// chargeOne returns the quota after the write, or nil if the write takes nothing of it.
func (e Evaluator) chargeOne(q *v1.ResourceQuota, w Write) (*v1.ResourceQuota, error) {
	var before v1.ResourceList
	if w.Old != nil && e.Selects(&q.Spec, w.Old) {
		before = e.usage(w.Old, w.Now)
	}
	asked := Mask(growth(e.usage(w.Object, w.Now), before), Names(q.Status.Hard))
	used := Add(q.Status.Used, asked)
	if w.Subresource != "status" {
		if over := beyond(Mask(used, Names(asked)), q.Status.Hard); len(over) > 0 {
			return nil, fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s",
				q.Name, text(Mask(asked, over)), text(Mask(q.Status.Used, over)), text(Mask(q.Status.Hard, over)))
		}
	}
	if Equal(used, q.Status.Used) {
		return nil, nil
	}
	next := q.DeepCopy()
	next.Status.Used = used
	return next, nil
}
