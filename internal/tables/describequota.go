package tables

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// scopeHelp says what scopes of quotas are.
// Upstream: kubectl describe.go helpTextForResourceQuotaScope, v1.37.
var scopeHelp = map[v1.ResourceQuotaScope]string{
	v1.ResourceQuotaScopeTerminating: "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being actively " +
		"terminated by the system.",
	v1.ResourceQuotaScopeNotTerminating: "Matches all pods that do not have an active deadline. These pods usually include long running pods whose container " +
		"command is not expected to terminate.",
	v1.ResourceQuotaScopeBestEffort: "Matches all pods that do not have resource requirements set. These pods have a best effort quality of service.",
	v1.ResourceQuotaScopeNotBestEffort: "Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed " +
		"quality of service.",
}

// Upstream: kubectl describe.go describeQuota, v1.37, which shows no events.
func describeQuota(d describer, q *v1.ResourceQuota) {
	d.field(0, "Name", q.Name)
	d.field(0, "Namespace", q.Namespace)
	if len(q.Spec.Scopes) > 0 {
		var names []string
		for _, scope := range q.Spec.Scopes {
			names = append(names, string(scope))
		}
		slices.Sort(names)
		d.field(0, "Scopes", strings.Join(names, ", "))
		for _, name := range names {
			if help := scopeHelp[v1.ResourceQuotaScope(name)]; help != "" {
				d.line(0, " * %s", help)
			}
		}
	}
	d.line(0, "Resource\tUsed\tHard")
	d.line(0, "--------\t----\t----")
	for _, name := range sortedKeys(q.Status.Hard) {
		hard, used := q.Status.Hard[name], q.Status.Used[name]
		if hard.Format != used.Format {
			used = *resource.NewQuantity(used.Value(), hard.Format)
		}
		d.line(0, "%s\t%s\t%s", name, used.String(), hard.String())
	}
}

// Upstream: kubectl describe.go describeLimitRange, v1.37, which shows no events. There the order of the
// resources is that of a Go map.
func describeLimits(d describer, limits *v1.LimitRange) {
	d.field(0, "Name", limits.Name)
	d.field(0, "Namespace", limits.Namespace)
	d.line(0, "Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio")
	d.line(0, "----\t--------\t---\t---\t---------------\t-------------\t-----------------------")
	for _, item := range limits.Spec.Limits {
		lists := []v1.ResourceList{item.Min, item.Max, item.DefaultRequest, item.Default, item.MaxLimitRequestRatio}
		all := map[v1.ResourceName]bool{}
		for _, list := range lists {
			for name := range list {
				all[name] = true
			}
		}
		for _, name := range sortedKeys(all) {
			cells := []string{string(item.Type), string(name)}
			for _, list := range lists {
				cell := "-"
				if q, found := list[name]; found {
					cell = q.String()
				}
				cells = append(cells, cell)
			}
			d.line(0, "%s", strings.Join(cells, "\t"))
		}
	}
}
