package pods

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/resource"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// checkPodResources validates what the containers of a pod have together: no less than
// they ask for one by one, and no container has more than the pod.
// Upstream: core/validation validatePodResources and
// validatePodResourceConsistency, v1.37.
func checkPodResources(p *podRules, at *field.Path) {
	r := p.spec.Resources
	if r == nil {
		return
	}
	path := at.Child("resources")
	if p.spec.OS != nil && p.spec.OS.Name == v1.Windows {
		p.Forbidden(path, "may not be set for a windows pod")
		return
	}
	if r.Claims != nil {
		p.Forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level")
	}
	validation.CheckResources(p.Problems, r, validation.PodResource, at, "resources")
	checkResourceClaimNames(p, r.Claims, at)
	pod := &v1.Pod{Spec: *p.spec}
	asked := resource.AggregateContainerRequests(pod, resource.PodResourcesOptions{})
	for _, name := range validation.ResourceNames(asked) {
		if own, ok := r.Requests[name]; ok && own.Cmp(asked[name]) < 0 {
			sum := asked[name]
			p.Invalid(path.Child("requests").Key(string(name)), own.String(), "must be greater than or equal to aggregate container requests of "+sum.String())
		}
	}
	limits := resource.AggregateContainerLimits(pod, resource.PodResourcesOptions{})
	for _, name := range validation.ResourceNames(limits) {
		if own, ok := r.Limits[name]; ok && validation.IsHugePages(name) && own.Cmp(limits[name]) < 0 {
			sum := limits[name]
			p.Invalid(path.Child("limits").Key(string(name)), own.String(), "must be greater than or equal to aggregate container limits of "+sum.String())
		}
	}
	for i := range p.spec.Containers {
		own := p.spec.Containers[i].Resources.Limits
		for _, name := range validation.ResourceNames(own) {
			if limit, ok := r.Limits[name]; ok && limit.Cmp(own[name]) < 0 {
				size := own[name]
				p.Invalid(path.Child("containers").Index(i).Key(string(name)).Child("limits"), size.String(),
					"must be less than or equal to pod limits of "+limit.String())
			}
		}
	}
}

// checkResourceClaims validates the claims for devices. This server has no objects of
// that kind, and no status of such claims.
// Upstream: core/validation validatePodResourceClaims, v1.37.
func checkResourceClaims(p *podRules, at *field.Path) {
	for i := range p.spec.ResourceClaims {
		c, path := &p.spec.ResourceClaims[i], at.Child("resourceClaims").Index(i)
		switch {
		case c.Name == "":
			p.Required(path.Child("name"), "")
		case slices.ContainsFunc(p.spec.ResourceClaims[:i], func(o v1.PodResourceClaim) bool { return o.Name == c.Name }):
			p.Duplicate(path.Child("name"), c.Name)
		default:
			p.DNSLabel(c.Name, path.Child("name"))
		}
		switch {
		case c.ResourceClaimName != nil && c.ResourceClaimTemplateName != nil:
			p.Invalid(path, *c, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
		case c.ResourceClaimName == nil && c.ResourceClaimTemplateName == nil:
			p.Invalid(path, *c, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
		}
		if c.ResourceClaimName != nil {
			p.Subdomain(*c.ResourceClaimName, path.Child("resourceClaimName"))
		}
		if c.ResourceClaimTemplateName != nil {
			p.Subdomain(*c.ResourceClaimTemplateName, path.Child("resourceClaimTemplateName"))
		}
	}
}

// checkResourceClaimNames validates which of the pod's claims a container uses.
// Upstream: core/validation validateResourceClaimNames, v1.37.
func checkResourceClaimNames(p *podRules, claims []v1.ResourceClaim, at *field.Path) {
	var seen []string
	for i, c := range claims {
		path := at.Child("resources", "claims").Index(i)
		if c.Name == "" {
			p.Required(path, "")
			continue
		}
		key := c.Name
		if !slices.Contains(seen, c.Name) && c.Request != "" {
			p.DNSLabel(c.Request, path.Child("request"))
			key += "/" + c.Request
		}
		for _, other := range seen {
			if other == key || c.Request == "" && strings.HasPrefix(other, c.Name+"/") {
				p.Duplicate(path, key)
			}
		}
		seen = append(seen, key)
		if !slices.ContainsFunc(p.spec.ResourceClaims, func(o v1.PodResourceClaim) bool { return o.Name == c.Name }) {
			err := field.NotFound(path, c.Name)
			err.Detail = "must be one of the names in pod.spec.resourceClaims"
			if len(p.spec.ResourceClaims) == 0 {
				err.Detail += " which is empty"
			}
			p.Add(err)
		}
	}
}

// checkEphemeralContainers validates containers that were added to a running pod: their
// names, where they look, and that they have nothing that a pod depends on.
// Upstream: core/validation validateEphemeralContainers, v1.37.
func checkEphemeralContainers(p *podRules, at *field.Path) {
	for i := range p.spec.EphemeralContainers {
		e, path := &p.spec.EphemeralContainers[i], at.Child("ephemeralContainers").Index(i)
		c := (*v1.Container)(&e.EphemeralContainerCommon)
		checkContainer(p, c, path)
		if len(strings.TrimSpace(c.Image)) != len(c.Image) {
			p.Invalid(path.Child("image"), c.Image, "must not have leading or trailing whitespace")
		}
		named := func(name string) func(v1.Container) bool {
			return func(o v1.Container) bool { return o.Name == name }
		}
		lasting := append(slices.Clone(p.spec.Containers), p.spec.InitContainers...)
		if slices.ContainsFunc(lasting, named(c.Name)) ||
			slices.ContainsFunc(p.spec.EphemeralContainers[:i], func(o v1.EphemeralContainer) bool { return o.Name == c.Name }) {
			p.Duplicate(path.Child("name"), c.Name)
		}
		if e.TargetContainerName != "" && !slices.ContainsFunc(lasting, named(e.TargetContainerName)) {
			p.Add(field.NotFound(path.Child("targetContainerName"), e.TargetContainerName))
		}
		const msg = "cannot be set for an Ephemeral Container"
		forbidSettings(p.Problems, path, msg, []setting{
			{"ports", c.Ports != nil}, {"resources", c.Resources.Limits != nil || c.Resources.Requests != nil || c.Resources.Claims != nil},
			{"resizePolicy", c.ResizePolicy != nil}, {"restartPolicy", c.RestartPolicy != nil},
			{"restartPolicyRules", c.RestartPolicyRules != nil},
			{"livenessProbe", c.LivenessProbe != nil}, {"readinessProbe", c.ReadinessProbe != nil},
			{"startupProbe", c.StartupProbe != nil}, {"lifecycle", c.Lifecycle != nil},
		})
		for j, mount := range c.VolumeMounts {
			forbidSettings(p.Problems, path.Child("volumeMounts").Index(j), msg, []setting{
				{"subPath", mount.SubPath != ""}, {"subPathExpr", mount.SubPathExpr != ""},
			})
		}
	}
}

// checkClaimStatuses validates which objects were made for a pod's claims for devices.
// Upstream: core/validation validatePodResourceClaimStatuses, v1.37.
func checkClaimStatuses(p *validation.Problems, statuses []v1.PodResourceClaimStatus, claims []v1.PodResourceClaim, at *field.Path) {
	for i, s := range statuses {
		path := at.Index(i)
		if !slices.ContainsFunc(claims, func(c v1.PodResourceClaim) bool { return c.Name == s.Name }) {
			p.Invalid(path.Child("name"), s.Name, "must match the name of an entry in `spec.resourceClaims`")
		}
		if slices.ContainsFunc(statuses[:i], func(o v1.PodResourceClaimStatus) bool { return o.Name == s.Name }) {
			p.Duplicate(path.Child("name"), s.Name)
		}
		if s.ResourceClaimName != nil {
			p.Subdomain(*s.ResourceClaimName, path.Child("resourceClaimName"))
		}
	}
}

// checkExtendedClaim validates the claim that was made for a pod's extended resources.
// Upstream: core/validation validatePodExtendedResourceClaimStatus, v1.37.
func checkExtendedClaim(p *validation.Problems, s *v1.PodExtendedResourceClaimStatus, spec *v1.PodSpec, status *field.Path) {
	path := status.Child("requestMappings")
	if len(s.RequestMappings) == 0 {
		p.Required(path, "at least one request mapping is required")
	}
	containers := append(slices.Clone(spec.InitContainers), spec.Containers...)
	for i, m := range s.RequestMappings {
		at, owner := path.Index(i), slices.IndexFunc(containers, func(c v1.Container) bool { return c.Name == m.ContainerName })
		if owner < 0 {
			p.Invalid(at.Child("containerName"), m.ContainerName, "must match the name of an entry in spec.initContainers.name or spec.containers.name")
		} else if _, ok := containers[owner].Resources.Requests[v1.ResourceName(m.ResourceName)]; !ok {
			p.Invalid(at.Child("resourceName"), m.ResourceName, "must match the extended resource name of an entry in "+
				"spec.initContainers.resources.requests or spec.containers.resources.requests")
		}
		p.DNSLabel(m.RequestName, status.Child("requestName")) // without the index, as upstream
		if slices.Contains(s.RequestMappings[:i], m) {
			p.Duplicate(at.Child("containerName"), m.ContainerName)
			p.Duplicate(at.Child("resourceName"), m.ResourceName)
			p.Duplicate(at.Child("requestName"), m.RequestName)
		}
	}
	if s.ResourceClaimName == "" {
		p.Required(status.Child("resourceClaimName"), "")
	} else {
		p.Subdomain(s.ResourceClaimName, status.Child("resourceClaimName"))
	}
}
