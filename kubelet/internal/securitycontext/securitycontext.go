// Package securitycontext says as whom a container runs.
package securitycontext

import (
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/disk"
)

// Effective has the fields that hold for a container: its own count before those of its pod.
type Effective struct {
	RunAsUser, RunAsGroup *int64
	RunAsNonRoot          *bool
}

// Of returns the fields that hold for a container of the pod.
//
// Upstream: pkg/securitycontext/util.go DetermineEffectiveSecurityContext, v1.37.2.
func Of(pod *v1.Pod, c *v1.Container) (e Effective) {
	if sc := pod.Spec.SecurityContext; sc != nil {
		e = Effective{sc.RunAsUser, sc.RunAsGroup, sc.RunAsNonRoot}
	}
	sc := c.SecurityContext
	if sc == nil {
		return e
	}
	if sc.RunAsUser != nil {
		e.RunAsUser = sc.RunAsUser
	}
	if sc.RunAsGroup != nil {
		e.RunAsGroup = sc.RunAsGroup
	}
	if sc.RunAsNonRoot != nil {
		e.RunAsNonRoot = sc.RunAsNonRoot
	}
	return e
}

// User returns as whom a container's programs run: of an image no user is known, and it counts as root. The group of a user whom
// the image does not know is root's. Beside it he is in the pod's fsGroup and supplementalGroups, and in the extra groups of its
// volumes.
//
// Upstream: pkg/kubelet/kuberuntime/security_context.go determineEffectiveSecurityContext, v1.37.2.
func User(pod *v1.Pod, c *v1.Container, extra []int64) (user disk.User) {
	e := Of(pod, c)
	if e.RunAsUser != nil {
		user.UID = int(*e.RunAsUser)
	}
	if e.RunAsGroup != nil {
		user.GID = int(*e.RunAsGroup)
	}
	var groups []int64
	if sc := pod.Spec.SecurityContext; sc != nil {
		if sc.FSGroup != nil {
			groups = append(groups, *sc.FSGroup)
		}
		groups = append(groups, sc.SupplementalGroups...)
	}
	for _, gid := range slices.Concat(groups, extra) {
		if group := int(gid); group != user.GID && !slices.Contains(user.Groups, group) {
			user.Groups = append(user.Groups, group)
		}
	}
	return user
}

// VerifyRunAsNonRoot refuses a container that must not run as root and would. unknown says that it asks for that, and that its
// image decides, of which it is not known as whom it runs.
//
// Upstream: pkg/kubelet/kuberuntime/security_context_others.go verifyRunAsNonRoot, v1.37.2.
func VerifyRunAsNonRoot(pod *v1.Pod, c *v1.Container) (unknown bool, err error) {
	e := Of(pod, c)
	if e.RunAsNonRoot == nil || !*e.RunAsNonRoot {
		return false, nil
	}
	of := fmt.Sprintf("(pod: %q, container: %s)", fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID), c.Name)
	switch {
	case e.RunAsUser != nil && *e.RunAsUser == 0:
		return false, fmt.Errorf("container's runAsUser breaks non-root policy %s", of)
	case e.RunAsUser != nil:
		return false, nil
	case runtime.RunsAsRoot(c.Image):
		return false, fmt.Errorf("container has runAsNonRoot and image will run as root %s", of)
	}
	return true, nil
}

// Containers returns all containers of a pod, those that were added while it ran included.
func Containers(pod *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
		for i := range pod.Spec.EphemeralContainers {
			c := v1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
			if !yield(&c) {
				return
			}
		}
	}
}
