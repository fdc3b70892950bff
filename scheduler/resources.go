package scheduler

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// What a pod counts for in scoring when it asks for nothing.
// Upstream: scheduler/util DefaultMilliCPURequest, DefaultMemoryRequest.
const (
	defaultMilliCPU = 100
	defaultMemory   = 200 * 1024 * 1024
)

// resources are amounts: CPU in thousandths, everything else in units.
type resources struct {
	milliCPU, memory, ephemeral int64
	scalar                      map[v1.ResourceName]int64
	// nonZeroCPU and nonZeroMemory count pods that ask for nothing at the
	// defaults, so that they still spread.
	nonZeroCPU, nonZeroMemory int64
}

func resourcesOf(list v1.ResourceList) resources {
	var r resources
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		switch name {
		case v1.ResourceCPU:
			r.milliCPU = q.MilliValue()
		case v1.ResourceMemory:
			r.memory = q.Value()
		case v1.ResourceEphemeralStorage:
			r.ephemeral = q.Value()
		case v1.ResourcePods:
		default:
			if r.scalar == nil {
				r.scalar = map[v1.ResourceName]int64{}
			}
			r.scalar[name] = q.Value()
		}
	}
	return r
}

// add adds other times sign.
func (r *resources) add(other resources, sign int64) {
	r.milliCPU += sign * other.milliCPU
	r.memory += sign * other.memory
	r.ephemeral += sign * other.ephemeral
	r.nonZeroCPU += sign * other.nonZeroCPU
	r.nonZeroMemory += sign * other.nonZeroMemory
	for name, n := range other.scalar { // a sum: the order does not matter
		if r.scalar == nil {
			r.scalar = map[v1.ResourceName]int64{}
		}
		r.scalar[name] += sign * n
	}
}

// lessThan: of some resource it is less.
func (r resources) lessThan(other resources) bool {
	for name, n := range other.scalar { // a question of whether, not of which
		if r.scalar[name] < n {
			return true
		}
	}
	return r.milliCPU < other.milliCPU || r.memory < other.memory || r.ephemeral < other.ephemeral
}

// onlyOf returns r without the resources that the request does not name.
func (r resources) onlyOf(request resources) resources {
	var left resources
	for _, resource := range []struct{ to, from, wanted *int64 }{
		{&left.milliCPU, &r.milliCPU, &request.milliCPU}, {&left.memory, &r.memory, &request.memory}, {&left.ephemeral, &r.ephemeral, &request.ephemeral},
	} {
		if *resource.wanted > 0 {
			*resource.to = *resource.from
		}
	}
	left.scalar = map[v1.ResourceName]int64{}
	for name, n := range request.scalar { // a map again: the order does not matter
		if n > 0 {
			left.scalar[name] = r.scalar[name]
		}
	}
	return left
}

func (r resources) asksForNothing() bool {
	return r.milliCPU == 0 && r.memory == 0 && r.ephemeral == 0 && len(r.scalar) == 0
}

// podRequest returns what the pod needs at its peak: the containers and the sidecars
// together, or an init container beside the sidecars started before it,
// whichever is more, and the overhead.
// Upstream: component-helpers/resource PodRequests, v1.37.
func podRequest(pod *v1.Pod) resources {
	sum := sumRequests(&pod.Spec, func(c *v1.Container) v1.ResourceList { return c.Resources.Requests })
	if pod.Spec.Resources != nil {
		maps.Copy(sum, pod.Spec.Resources.Requests)
	}
	addList(sum, pod.Spec.Overhead)
	nonZero := sumRequests(&pod.Spec, func(c *v1.Container) v1.ResourceList {
		list := v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(defaultMilliCPU, resource.DecimalSI),
			v1.ResourceMemory: *resource.NewQuantity(defaultMemory, resource.BinarySI)}
		maps.Copy(list, c.Resources.Requests)
		return list
	})
	r, least := resourcesOf(sum), resourcesOf(nonZero)
	r.nonZeroCPU, r.nonZeroMemory = least.milliCPU, least.memory
	return r
}

func sumRequests(spec *v1.PodSpec, of func(*v1.Container) v1.ResourceList) v1.ResourceList {
	sum, sidecars, peak := v1.ResourceList{}, v1.ResourceList{}, v1.ResourceList{}
	for i := range spec.Containers {
		addList(sum, of(&spec.Containers[i]))
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			addList(sum, of(c))
			addList(sidecars, of(c))
			maxList(peak, sidecars)
			continue
		}
		now := maps.Clone(sidecars)
		addList(now, of(c))
		maxList(peak, now)
	}
	maxList(sum, peak)
	return sum
}

func addList(sum, list v1.ResourceList) {
	for name, q := range list {
		total := sum[name].DeepCopy()
		total.Add(q)
		sum[name] = total
	}
}

func maxList(most, list v1.ResourceList) {
	for name, q := range list {
		if have, ok := most[name]; !ok || have.Cmp(q) < 0 {
			most[name] = q
		}
	}
}
