package pods

import (
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/storagesim/storagesim/api/internal/containers"
	"github.com/storagesim/storagesim/api/internal/validation"
)

// checkPodStatus validates a status update.
// Upstream: core/validation ValidatePodStatusUpdate, v1.37.
func checkPodStatus(p *validation.Problems, pod, old *v1.Pod) {
	checkMirrorAnnotation(p, pod.Annotations, old.Annotations)
	checkPodConditions(p, pod.Status.Conditions, validation.StatusPath.Child("conditions"))
	if name := pod.Status.NominatedNodeName; name != "" && name != old.Status.NominatedNodeName {
		p.Subdomain(name, validation.StatusPath.Child("nominatedNodeName"))
		if old.Spec.NodeName != "" {
			p.Forbidden(validation.StatusPath.Child("nominatedNodeName"), "may not be set on pods that are already bound to a node")
		}
	}
	if pod.Status.ObservedGeneration < 0 {
		p.Invalid(validation.StatusPath.Child("observedGeneration"), pod.Status.ObservedGeneration, "must be a non-negative integer")
	}
	if pod.Status.QOSClass != old.Status.QOSClass {
		p.Invalid(validation.StatusPath.Child("qosClass"), pod.Status.QOSClass, apivalidation.FieldImmutableErrorMsg)
	}
	is, was := &pod.Status, &old.Status
	if !restartsAll(&old.Spec) {
		checkRestarts(p, is.ContainerStatuses, was.ContainerStatuses, &old.Spec, old.Spec.Containers, validation.StatusPath.Child("containerStatuses"))
		checkRestarts(p, is.InitContainerStatuses, was.InitContainerStatuses, &old.Spec, old.Spec.InitContainers,
			validation.StatusPath.Child("initContainerStatuses"))
	}
	checkRestarts(p, is.EphemeralContainerStatuses, was.EphemeralContainerStatuses, &old.Spec, nil, validation.StatusPath.Child("ephemeralContainerStatuses"))
	checkClaimStatuses(p, is.ResourceClaimStatuses, pod.Spec.ResourceClaims, validation.StatusPath.Child("resourceClaimStatuses"))
	if is.ExtendedResourceClaimStatus != nil {
		checkExtendedClaim(p, is.ExtendedResourceClaimStatus, &pod.Spec, validation.StatusPath.Child("extendedResourceClaimStatus"))
	}
	checkPodIPs(p, is, was.PodIPs, validation.StatusPath.Child("podIPs"))
	checkHostIPs(p, is, was.HostIPs, validation.StatusPath.Child("hostIPs"))
	for i := range is.EphemeralContainerStatuses {
		if len(is.EphemeralContainerStatuses[i].AllocatedResourcesStatus) > 0 {
			p.Forbidden(validation.StatusPath.Child("ephemeralContainerStatuses").Index(i).Child("allocatedResourcesStatus"),
				"must not be specified in container status")
		}
	}
	windows := old.Spec.OS != nil && old.Spec.OS.Name == v1.Windows
	checkContainerUsers(p, is.ContainerStatuses, windows, validation.StatusPath.Child("containerStatuses"))
	checkContainerUsers(p, is.InitContainerStatuses, windows, validation.StatusPath.Child("initContainerStatuses"))
	checkContainerUsers(p, is.EphemeralContainerStatuses, windows, validation.StatusPath.Child("ephemeralContainerStatuses"))
	checkAllocated(p, is.ContainerStatuses, pod.Spec.Containers, is.ExtendedResourceClaimStatus, validation.StatusPath.Child("containerStatuses"))
	checkAllocated(p, is.InitContainerStatuses, pod.Spec.InitContainers, is.ExtendedResourceClaimStatus, validation.StatusPath.Child("initContainerStatuses"))
}

// checkAllocated validates the health of the devices that containers have.
// Upstream: core/validation validateContainerStatusAllocatedResourcesStatus, v1.37.2.
func checkAllocated(p *validation.Problems, statuses []v1.ContainerStatus, of []v1.Container, extended *v1.PodExtendedResourceClaimStatus, at *field.Path) {
	for i, status := range statuses {
		for j, resource := range status.AllocatedResourcesStatus {
			path := at.Index(i).Child("allocatedResourcesStatus").Index(j)
			for k := range of {
				if of[k].Name == status.Name {
					checkAllocatedName(p, resource.Name, &of[k], extended, path.Child("name"))
					break
				}
			}
			checkHealth(p, resource.Resources, path.Child("resources"))
		}
	}
}

// checkAllocatedName: what a container has is a claim, or a resource that it asked for.
func checkAllocatedName(p *validation.Problems, name v1.ResourceName, c *v1.Container, extended *v1.PodExtendedResourceClaimStatus, at *field.Path) {
	claim, isClaim := strings.CutPrefix(string(name), "claim:")
	if !isClaim {
		if _, ok := c.Resources.Requests[name]; !ok {
			p.Invalid(at, name, "must match one of the container's resource requests")
		}
		return
	}
	named := slices.ContainsFunc(c.Resources.Claims, func(o v1.ResourceClaim) bool { return claim == strings.TrimSuffix(o.Name+"/"+o.Request, "/") })
	if !named && !isExtended(claim, c, extended) {
		p.Invalid(at, name, "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when "+
			"container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty")
	}
}

// isExtended reports whether a claim was made for resources that the container asks for by name.
// Upstream: core/validation matchesExtendedResourceClaimStatus, v1.37.2.
func isExtended(name string, c *v1.Container, extended *v1.PodExtendedResourceClaimStatus) bool {
	claim, request, _ := strings.Cut(name, "/")
	return extended != nil && request != "" && claim == extended.ResourceClaimName &&
		slices.ContainsFunc(extended.RequestMappings, func(m v1.ContainerExtendedResourceRequest) bool {
			q, ok := c.Resources.Requests[v1.ResourceName(m.ResourceName)]
			return m.ContainerName == c.Name && m.RequestName == request && ok && !q.IsZero()
		})
}

// checkHealth validates the health of each device.
func checkHealth(p *validation.Problems, devices []v1.ResourceHealth, at *field.Path) {
	known := []v1.ResourceHealthStatus{v1.ResourceHealthStatusHealthy, v1.ResourceHealthStatusUnhealthy, v1.ResourceHealthStatusUnknown}
	for i, device := range devices {
		if !slices.Contains(known, device.Health) {
			p.Add(field.NotSupported(at.Index(i).Child("health"), device.Health, known))
		}
		if text := device.Message; text != nil && *text == "" {
			p.Required(at.Index(i).Child("message"), "must be non-empty if specified")
		} else if text != nil && len(*text) > v1.ResourceHealthMessageMaxLength {
			p.Add(field.TooLong(at.Index(i).Child("message"), *text, v1.ResourceHealthMessageMaxLength))
		}
		if slices.ContainsFunc(devices[:i], func(o v1.ResourceHealth) bool { return o.ResourceID == device.ResourceID }) {
			p.Duplicate(at.Index(i).Child("resourceID"), device.ResourceID)
		}
	}
}

// checkPodConditions validates the conditions that are not the system's own.
func checkPodConditions(p *validation.Problems, conditions []v1.PodCondition, at *field.Path) {
	for i := range conditions {
		c := &conditions[i]
		if c.ObservedGeneration < 0 {
			p.Invalid(at.Index(i).Child("observedGeneration"), c.ObservedGeneration, "must be a non-negative integer")
		}
		switch c.Type {
		case v1.PodScheduled, v1.PodReady, v1.PodInitialized:
		default:
			p.QualifiedName(string(c.Type), at.Index(i).Child("Type"))
		}
	}
}

// checkRestarts refuses to bring back a container that was to stay terminated.
// Upstream: core/validation ValidateContainerStateTransition and those of init and
// ephemeral containers, v1.37.
func checkRestarts(p *validation.Problems, is, was []v1.ContainerStatus, spec *v1.PodSpec, containers []v1.Container, at *field.Path) {
	for i := range was {
		if was[i].State.Terminated == nil {
			continue
		}
		back := slices.ContainsFunc(is, func(s v1.ContainerStatus) bool { return s.Name == was[i].Name && s.State.Terminated == nil })
		if back && !mayRestart(was[i].Name, was[i].State.Terminated.ExitCode, spec, containers) {
			p.Forbidden(at.Index(i).Child("state"), "may not be transitioned to non-terminated state")
		}
	}
}

// mayRestart reports whether a container that ended with that code is started
// again. One that is not in the spec is not.
// Upstream: pkg/api/v1/pod ContainerShouldRestart, v1.37.
func mayRestart(name string, code int32, spec *v1.PodSpec, containers []v1.Container) bool {
	i := slices.IndexFunc(containers, func(c v1.Container) bool { return c.Name == name })
	if i < 0 {
		return false
	}
	c := &containers[i]
	if c.RestartPolicy == nil {
		return spec.RestartPolicy == v1.RestartPolicyAlways || spec.RestartPolicy == v1.RestartPolicyOnFailure && code != 0
	}
	for _, rule := range c.RestartPolicyRules {
		if rule.ExitCodes == nil {
			continue
		}
		in := slices.Contains(rule.ExitCodes.Values, code)
		if in == (rule.ExitCodes.Operator == v1.ContainerRestartRuleOnExitCodesOpIn) {
			return true
		}
	}
	return *c.RestartPolicy == v1.ContainerRestartPolicyAlways || *c.RestartPolicy == v1.ContainerRestartPolicyOnFailure && code != 0
}

// restartsAll reports whether a rule of some container restarts them all.
// Upstream: pkg/api/v1/pod AllContainersCouldRestart, v1.37.
func restartsAll(spec *v1.PodSpec) bool {
	for _, group := range containers.Groups(spec) {
		for i := range group.Containers {
			for _, rule := range group.Containers[i].RestartPolicyRules {
				if rule.Action == v1.ContainerRestartRuleActionRestartAllContainers {
					return true
				}
			}
		}
	}
	return false
}

// checkPodIPs validates a pod's addresses: one, or one of each family. What was there
// before may stay. podIP is the first of them, see strategy. Upstream: core/validation validatePodIPs, v1.37.2.
func checkPodIPs(p *validation.Problems, status *v1.PodStatus, old []v1.PodIP, at *field.Path) {
	ips := status.PodIPs
	list, known := make([]string, len(ips)), make([]string, len(old))
	for i := range ips {
		list[i] = ips[i].IP
	}
	for i := range old {
		known[i] = old[i].IP
	}
	checkAddresses(p, list, known, ips, at)
	if (status.PodIP == "") != (len(ips) == 0) {
		p.Invalid(at, validation.InternalForm{Value: ips}, "podIP and podIPs must either both be set or both be unset")
	}
}

// checkHostIPs validates the addresses of a pod's node.
// Upstream: core/validation validateHostIPs, v1.37.
func checkHostIPs(p *validation.Problems, status *v1.PodStatus, old []v1.HostIP, at *field.Path) {
	if len(status.HostIPs) == 0 {
		return
	}
	if first := status.HostIPs[0].IP; status.HostIP != first {
		p.Invalid(at.Index(0).Child("ip"), first, "must be equal to `hostIP`")
	}
	list, known := make([]string, len(status.HostIPs)), make([]string, len(old))
	for i := range status.HostIPs {
		list[i] = status.HostIPs[i].IP
	}
	for i := range old {
		known[i] = old[i].IP
	}
	checkAddresses(p, list, known, status.HostIPs, at)
}

func checkAddresses(p *validation.Problems, list, known []string, value any, at *field.Path) {
	for i, ip := range list {
		p.Add(utilvalidation.IsValidIPForLegacyField(at.Index(i), ip, true, known)...)
	}
	if len(list) < 2 {
		return
	}
	dual, err := netutils.IsDualStackIPStrings(list)
	if err != nil {
		p.Add(field.InternalError(at, err))
	}
	if !dual || len(list) > 2 {
		p.Invalid(at, value, "may specify no more than one IP for each IP family")
	}
}

// checkContainerUsers validates as whom the containers run.
// Upstream: core/validation validateContainerStatusUsers, v1.37.
func checkContainerUsers(p *validation.Problems, statuses []v1.ContainerStatus, windows bool, at *field.Path) {
	for i := range statuses {
		if statuses[i].User == nil || statuses[i].User.Linux == nil {
			continue
		}
		user, path := statuses[i].User.Linux, at.Index(i).Child("user", "linux")
		if windows {
			p.Forbidden(path, "cannot be set for a windows pod")
			continue
		}
		if user.UID < 0 || user.UID > math.MaxUint32 { // any that Linux has, more than a pod may ask for
			p.Invalid(path.Child("uid"), user.UID, fmt.Sprintf("must be between 0 and %d, inclusive", int64(math.MaxUint32)))
		}
		checkID(p, user.GID, utilvalidation.IsValidGroupID(user.GID), path, "gid")
		for j, gid := range user.SupplementalGroups {
			for _, msg := range utilvalidation.IsValidGroupID(gid) {
				p.Invalid(path.Child("supplementalGroups").Index(j), gid, msg)
			}
		}
	}
}

// checkMirrorAnnotation: the mark of a kubelet's own pod does not come, go or change.
// Upstream: core/validation ValidatePodSpecificAnnotationUpdates, v1.37.
func checkMirrorAnnotation(p *validation.Problems, annotations, old map[string]string) {
	is, has := annotations[v1.MirrorPodAnnotationKey]
	was, had := old[v1.MirrorPodAnnotationKey]
	switch {
	case had && (!has || is != was):
		p.Forbidden(validation.MetadataPath.Child("annotations").Key(v1.MirrorPodAnnotationKey), "may not remove or update mirror pod annotation")
	case has && !had:
		p.Forbidden(validation.MetadataPath.Child("annotations").Key(v1.MirrorPodAnnotationKey), "may not add mirror pod annotation")
	}
}
