// Package containers walks through the containers of a pod and their probes, for the
// packages that default and validate them.
package containers

import v1 "k8s.io/api/core/v1"

// A Group is one of a pod's lists of containers, with the name of its field.
type Group struct {
	Name       string
	Containers []v1.Container
}

// Groups returns the containers and the init containers of a pod. They are the pod's own,
// not copies.
func Groups(spec *v1.PodSpec) [2]Group {
	return [2]Group{{"containers", spec.Containers}, {"initContainers", spec.InitContainers}}
}

// A Probe is a probe of a container, nil if it has none, with the name of its field.
type Probe struct {
	Name string
	*v1.Probe
}

// Probes returns the three probes of a container.
func Probes(c *v1.Container) [3]Probe {
	return [3]Probe{{"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe}, {"startupProbe", c.StartupProbe}}
}
