package tables

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	v1 "k8s.io/api/core/v1"
)

// Upstream: kubectl describe.go describeNode, v1.37.
func (v View) describeNode(d describer, n *v1.Node) {
	d.field(0, "Name", n.Name)
	d.field(0, "Roles", orNone(strings.Join(roles(n), ",")))
	d.labels("Labels", n.Labels)
	d.annotations(n.Annotations)
	d.field(0, "CreationTimestamp", stamp(n.CreationTimestamp.Time))
	var taints []string
	for _, t := range slices.SortedStableFunc(slices.Values(n.Spec.Taints), func(a, b v1.Taint) int {
		return cmp.Or(cmp.Compare(a.Effect, b.Effect), cmp.Compare(a.Key, b.Key))
	}) {
		taints = append(taints, t.ToString())
	}
	d.lines(0, "Taints", taints)
	d.field(0, "Unschedulable", n.Spec.Unschedulable)
	if len(n.Status.Conditions) > 0 {
		d.line(0, "Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage")
		d.line(1, "----\t------\t-----------------\t------------------\t------\t-------")
	}
	for _, c := range n.Status.Conditions {
		d.line(1, "%v \t%v \t%s \t%s \t%v \t%v", c.Type, c.Status, stamp(c.LastHeartbeatTime.Time), stamp(c.LastTransitionTime.Time), c.Reason, c.Message)
	}
	d.line(0, "Addresses:")
	for _, a := range n.Status.Addresses {
		d.field(1, string(a.Type), a.Address)
	}
	describeCapacity(d, "Capacity", n.Status.Capacity)
	describeCapacity(d, "Allocatable", n.Status.Allocatable)
	info := n.Status.NodeInfo
	d.line(0, "System Info:")
	for _, line := range [][2]string{
		{"Machine ID", info.MachineID}, {"System UUID", info.SystemUUID}, {"Boot ID", info.BootID}, {"Kernel Version", info.KernelVersion},
		{"OS Image", info.OSImage}, {"Operating System", info.OperatingSystem}, {"Architecture", info.Architecture},
		{"Container Runtime Version", info.ContainerRuntimeVersion}, {"Kubelet Version", info.KubeletVersion},
	} {
		d.field(1, line[0], line[1])
	}
	v.describeNodePods(d, n)
}

func describeCapacity(d describer, title string, list v1.ResourceList) {
	if len(list) > 0 {
		d.line(0, "%s:", title)
	}
	for _, name := range sortedKeys(list) {
		d.field(1, string(name), quantity(list[name]))
	}
}

// describeNodePods lists the pods on a node that have not finished.
func (v View) describeNodePods(d describer, n *v1.Node) {
	var pods []*v1.Pod
	for _, p := range all[*v1.Pod](v) {
		if p.Spec.NodeName == n.Name && p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed {
			pods = append(pods, p)
		}
	}
	allocatable := n.Status.Allocatable
	if len(allocatable) == 0 {
		allocatable = n.Status.Capacity
	}
	share := func(p *v1.Pod, name v1.ResourceName, of func(v1.ResourceRequirements) v1.ResourceList) string {
		amount, total, percent := request(p, name, of), allocatable[name], int64(0)
		if total.Sign() > 0 {
			percent = amount.MilliValue() * 100 / total.MilliValue()
		}
		return fmt.Sprintf("%s (%d%%)", amount.String(), percent)
	}
	requests := func(r v1.ResourceRequirements) v1.ResourceList { return r.Requests }
	limits := func(r v1.ResourceRequirements) v1.ResourceList { return r.Limits }
	d.field(0, "Non-terminated Pods", fmt.Sprintf("(%d in total)", len(pods)))
	d.line(1, "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge")
	d.line(1, "---------\t----\t\t------------\t----------\t---------------\t-------------\t---")
	for _, p := range pods {
		d.line(1, "%s\t%s\t\t%s\t%s\t%s\t%s\t%s", p.Namespace, p.Name, share(p, v1.ResourceCPU, requests), share(p, v1.ResourceCPU, limits),
			share(p, v1.ResourceMemory, requests), share(p, v1.ResourceMemory, limits), age(p, v.Now))
	}
}

// describeAny shows an object field by field.
// Upstream: kubectl describe.go genericDescriber, v1.37.
func describeAny(d describer, obj object) error {
	fields, err := clean(obj)
	if err != nil {
		return err
	}
	d.field(0, "Name", obj.GetName())
	d.field(0, "Namespace", obj.GetNamespace())
	d.labels("Labels", obj.GetLabels())
	d.annotations(obj.GetAnnotations())
	if meta, ok := fields["metadata"].(map[string]any); ok {
		for _, shown := range []string{"name", "namespace", "labels", "annotations"} {
			delete(meta, shown)
		}
	}
	describeFields(d, 0, fields)
	return nil
}

func describeFields(d describer, level int, fields map[string]any) {
	for _, name := range sortedKeys(fields) {
		switch value := fields[name].(type) {
		case map[string]any:
			d.line(level, "%s:", title(name))
			describeFields(d, level+1, value)
		case []any:
			d.line(level, "%s:", title(name))
			for _, item := range value {
				if m, ok := item.(map[string]any); ok {
					describeFields(d, level+1, m)
				} else {
					d.line(level+1, "%s", plain(item))
				}
			}
		default:
			d.field(level, title(name), plain(value))
		}
	}
}

// plain returns a value without the exponent that %v gives large numbers.
func plain(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// title turns "storageClassName" into "Storage Class Name".
func title(field string) string {
	if strings.ContainsFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }) {
		return field
	}
	var b strings.Builder
	runes := []rune(field)
	for i, r := range runes {
		starts := i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts {
			b.WriteByte(' ')
		}
		if i == 0 {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
	}
	words := strings.Fields(b.String())
	for i, word := range words {
		if upper := strings.ToUpper(word); slices.Contains([]string{"API", "URL", "UID", "GUID"}, upper) {
			words[i] = upper
		}
	}
	return strings.Join(words, " ")
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
