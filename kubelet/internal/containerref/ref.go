// Package containerref names a container of a pod in events.
package containerref

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// GenerateContainerRef returns a reference to a container of a pod: to the pod, with the container as the part that is meant.
//
// Upstream: pkg/kubelet/container/ref.go GenerateContainerRef, v1.37.2.
func GenerateContainerRef(pod *v1.Pod, name string) *v1.ObjectReference {
	return &v1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		FieldPath: fieldPath(pod, name),
	}
}

// fieldPath returns where a container stands in its pod.
//
// Upstream: pkg/kubelet/container/ref.go fieldPath and ImplicitContainerPrefix, v1.37.2.
func fieldPath(pod *v1.Pod, name string) string {
	named := func(c v1.Container) bool { return c.Name == name }
	switch {
	case slices.ContainsFunc(pod.Spec.Containers, named):
		return fmt.Sprintf("spec.containers{%s}", name)
	case slices.ContainsFunc(pod.Spec.InitContainers, named):
		return fmt.Sprintf("spec.initContainers{%s}", name)
	case slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c v1.EphemeralContainer) bool { return c.Name == name }):
		return fmt.Sprintf("spec.ephemeralContainers{%s}", name)
	}
	return "implicitly required container " + name
}
