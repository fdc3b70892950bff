package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// coreTables returns the tables of the kinds around pods and nodes.
// Upstream: pkg/printers/internalversion/printers.go, v1.37.
func coreTables() map[schema.GroupKind]table {
	core := func(kind string) schema.GroupKind { return schema.GroupKind{Kind: kind} }
	events := listing(columns("Last Seen", "Type", "Reason", "Object", "*Subobject", "*Source", "Message", "*First Seen", "*#Count", "*Name"), event)
	events.name = 9
	return map[schema.GroupKind]table{
		core("Pod"): listing(columns("Name", "Ready", "Status", "Restarts", "Age", "*IP", "*Node", "*Nominated Node", "*Readiness Gates"), pod),
		core("Node"): listing(columns("Name", "Status", "Roles", "Age", "Version", "*Internal-IP", "*External-IP", "*OS-Image",
			"*Kernel-Version", "*Container-Runtime"), node),
		core("Event"): events,
		core("Namespace"): listing(columns("Name", "Status", "Age"), func(n *v1.Namespace, now time.Time) []string {
			return []string{n.Name, string(n.Status.Phase), age(n, now)}
		}),
		core("ConfigMap"): listing(columns("Name", "#Data", "Age"), func(m *v1.ConfigMap, now time.Time) []string {
			return []string{m.Name, fmt.Sprint(len(m.Data) + len(m.BinaryData)), age(m, now)}
		}),
		core("Secret"): listing(columns("Name", "Type", "#Data", "Age"), func(s *v1.Secret, now time.Time) []string {
			return []string{s.Name, string(s.Type), fmt.Sprint(len(s.Data)), age(s, now)}
		}),
		{Group: policyv1.GroupName, Kind: "PodDisruptionBudget"}: listing(columns("Name", "Min Available", "Max Unavailable", "##Allowed Disruptions", "Age"),
			disruptionBudget),
		{Group: schedulingv1.GroupName, Kind: "PriorityClass"}: listing(columns("Name", "##Value", "?Global-Default", "Age", "PreemptionPolicy"), priorityClass),
		core("ResourceQuota"): listing(columns("Name", "Request", "Limit", "Age"), resourceQuota),
		{Group: coordinationv1.GroupName, Kind: "Lease"}: listing(columns("Name", "Holder", "Age"), func(l *coordinationv1.Lease, now time.Time) []string {
			return []string{l.Name, text(l.Spec.HolderIdentity, ""), age(l, now)}
		}),
	}
}

// Upstream: pkg/printers/internalversion printPodDisruptionBudget, v1.37.
func disruptionBudget(b *policyv1.PodDisruptionBudget, now time.Time) []string {
	share := func(v *intstr.IntOrString) string {
		if v == nil {
			return "N/A"
		}
		return v.String()
	}
	return []string{b.Name, share(b.Spec.MinAvailable), share(b.Spec.MaxUnavailable), fmt.Sprint(b.Status.DisruptionsAllowed), age(b, now)}
}

// Upstream: pkg/printers/internalversion printPriorityClass, v1.37.
func priorityClass(c *schedulingv1.PriorityClass, now time.Time) []string {
	policy := "<unset>"
	if c.PreemptionPolicy != nil {
		policy = string(*c.PreemptionPolicy)
	}
	return []string{c.Name, fmt.Sprint(c.Value), fmt.Sprint(c.GlobalDefault), age(c, now), policy}
}

// Upstream: pkg/printers/internalversion printResourceQuota, v1.37.
func resourceQuota(q *v1.ResourceQuota, now time.Time) []string {
	var requests, limits []string
	for _, name := range sortedKeys(q.Status.Hard) {
		used, hard := q.Status.Used[name], q.Status.Hard[name]
		cell := fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String())
		if strings.HasPrefix(string(name), "limits.") {
			limits = append(limits, cell)
		} else {
			requests = append(requests, cell)
		}
	}
	return []string{q.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), age(q, now)}
}

func node(n *v1.Node, now time.Time) []string {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != v1.NodeReady:
		case c.Status == v1.ConditionTrue:
			status = "Ready"
		default:
			status = "NotReady"
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	address := func(kind v1.NodeAddressType) string {
		for _, a := range n.Status.Addresses {
			if a.Type == kind {
				return a.Address
			}
		}
		return "<none>"
	}
	info := n.Status.NodeInfo
	kernel := or(info.KernelVersion, "<unknown>")
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return []string{
		n.Name, status, orNone(strings.Join(roles(n), ",")), age(n, now), info.KubeletVersion, address(v1.NodeInternalIP),
		address(v1.NodeExternalIP), or(info.OSImage, "<unknown>"), kernel, or(info.ContainerRuntimeVersion, "<unknown>"),
	}
}

// roles returns a node's roles by its labels, in order.
func roles(n *v1.Node) []string {
	var list []string
	for key, value := range n.Labels {
		if role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/"); ok && role != "" {
			list = append(list, role)
		} else if key == "kubernetes.io/role" && value != "" {
			list = append(list, value)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func event(e *v1.Event, now time.Time) []string {
	first := since(cmp.Or(e.FirstTimestamp.Time, e.EventTime.Time), now)
	last, count := first, max(e.Count, 1)
	if !e.LastTimestamp.IsZero() {
		last = since(e.LastTimestamp.Time, now)
	}
	if e.Series != nil {
		last, count = since(e.Series.LastObservedTime.Time, now), e.Series.Count
	}
	target := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		target += "/" + e.InvolvedObject.Name
	}
	source := cmp.Or(e.Source.Component, e.ReportingController)
	if host := cmp.Or(e.Source.Host, e.ReportingInstance); host != "" {
		source += ", " + host
	}
	return []string{
		last, e.Type, e.Reason, target, e.InvolvedObject.FieldPath, source, strings.TrimSpace(e.Message), first, fmt.Sprint(count), e.Name,
	}
}
