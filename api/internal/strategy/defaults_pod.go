package strategy

import (
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/storagesim/storagesim/api/internal/containers"
)

const (
	defaultFileMode     = 0o644
	defaultGraceSeconds = 30
	defaultTokenSeconds = 3600
)

// defaultPod sets what only pods get, and not the templates of pods.
// Upstream: core/v1 SetDefaults_Pod, v1.37.
func defaultPod(pod *v1.Pod) {
	defaultPodSpec(&pod.Spec)
	for _, group := range containers.Groups(&pod.Spec) {
		for i := range group.Containers {
			c := &group.Containers[i]
			c.Resources.Requests = withMissing(c.Resources.Requests, c.Resources.Limits) // no request is the limit
			for j := range c.Ports {
				if pod.Spec.HostNetwork {
					setDefault(&c.Ports[j].HostPort, c.Ports[j].ContainerPort)
				}
			}
		}
	}
	roundUpStatus(&pod.Status)
	setDefaultPtr(&pod.Spec.EnableServiceLinks, v1.DefaultEnableServiceLinks)
}

func roundUpStatus(s *v1.PodStatus) {
	resources := func(r *v1.ResourceRequirements) {
		if r != nil {
			roundUp(r.Limits)
			roundUp(r.Requests)
		}
	}
	for _, statuses := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range statuses {
			roundUp(statuses[i].AllocatedResources)
			resources(statuses[i].Resources)
		}
	}
	roundUp(s.AllocatedResources)
	resources(s.Resources)
}

// DefaultPodResources completes the resources of a pod as a whole when it is created or resized. Limits of huge pages, and
// requests of CPU and memory, become the sum over its containers; a request that is still missing becomes the limit. A limit
// that is still missing becomes the sum over the containers if all have one, or the request if that is more.
// Upstream: pkg/api/pod DefaultPodLevelResources, v1.37.
func DefaultPodResources(pod *v1.Pod) {
	r := pod.Spec.Resources
	if r == nil || len(r.Limits)+len(r.Requests) == 0 {
		return
	}
	sums := resource.AggregateContainerLimits(pod, resource.PodResourcesOptions{})
	limits := v1.ResourceList{}
	for name, q := range sums {
		if _, asked := r.Requests[name]; strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) && !asked {
			limits[name] = q
		}
	}
	r.Limits = withMissing(r.Limits, limits)
	requests := v1.ResourceList{}
	for name, q := range resource.AggregateContainerRequests(pod, resource.PodResourcesOptions{}) {
		if name == v1.ResourceCPU || name == v1.ResourceMemory {
			requests[name] = q
		}
	}
	r.Requests = withMissing(r.Requests, requests)
	ofLimits := v1.ResourceList{}
	for name, q := range r.Limits {
		if resource.IsSupportedPodLevelResource(name) {
			ofLimits[name] = q
		}
	}
	r.Requests = withMissing(r.Requests, ofLimits)
	limits = v1.ResourceList{}
	for name, request := range r.Requests {
		if !resource.IsSupportedPodLevelResource(name) || !limitedInAll(&pod.Spec, name) {
			continue
		}
		if limits[name] = sums[name]; request.Cmp(sums[name]) > 0 {
			limits[name] = request
		}
	}
	r.Limits = withMissing(r.Limits, limits)
}

// limitedInAll reports whether all containers of the pod have a limit of the resource.
// Upstream: pkg/api/pod aggregateContainerLimits, v1.37.
func limitedInAll(spec *v1.PodSpec, name v1.ResourceName) bool {
	for _, group := range containers.Groups(spec) {
		for i := range group.Containers {
			if _, ok := group.Containers[i].Resources.Limits[name]; !ok {
				return false
			}
		}
	}
	return len(spec.EphemeralContainers) == 0 // which have no resources
}

// withMissing returns the list with copies of what it does not have.
func withMissing(list, more v1.ResourceList) v1.ResourceList {
	for name, q := range more {
		if _, ok := list[name]; ok {
			continue
		}
		if list == nil {
			list = v1.ResourceList{}
		}
		list[name] = q.DeepCopy()
	}
	return list
}

// defaultPodSpec sets the defaults of pods and of templates of pods.
// Upstream: core/v1 SetDefaults_PodSpec, v1.37.
func defaultPodSpec(spec *v1.PodSpec) {
	setDefault(&spec.DNSPolicy, v1.DNSClusterFirst)
	setDefault(&spec.RestartPolicy, v1.RestartPolicyAlways)
	setDefault(&spec.SchedulerName, v1.DefaultSchedulerName)
	setDefaultPtr(&spec.SecurityContext, v1.PodSecurityContext{})
	setDefaultPtr(&spec.TerminationGracePeriodSeconds, defaultGraceSeconds)
	// Two names for one field: the old one follows.
	setDefault(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	for i := range spec.Volumes {
		defaultPodVolume(&spec.Volumes[i])
	}
	for _, group := range containers.Groups(spec) {
		for i := range group.Containers {
			defaultContainer(&group.Containers[i])
		}
	}
	roundUp(spec.Overhead)
	if spec.Resources != nil {
		roundUp(spec.Resources.Limits)
		roundUp(spec.Resources.Requests)
	}
	for i := range spec.EphemeralContainers {
		defaultContainer((*v1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
}

// Upstream: core/v1 SetDefaults_Container, v1.37.
func defaultContainer(c *v1.Container) {
	setDefault(&c.ImagePullPolicy, pullPolicyOf(c.Image))
	setDefault(&c.TerminationMessagePath, v1.TerminationMessagePathDefault)
	setDefault(&c.TerminationMessagePolicy, v1.TerminationMessageReadFile)
	for i := range c.Ports {
		setDefault(&c.Ports[i].Protocol, v1.ProtocolTCP)
	}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if from != nil && from.FieldRef != nil {
			setDefault(&from.FieldRef.APIVersion, "v1")
		}
		if from != nil && from.FileKeyRef != nil {
			setDefaultPtr(&from.FileKeyRef.Optional, false)
		}
	}
	roundUp(c.Resources.Limits)
	roundUp(c.Resources.Requests)
	for _, probe := range containers.Probes(c) {
		if probe.Probe != nil {
			defaultProbe(probe.Probe)
		}
	}
	if c.Lifecycle != nil {
		for _, h := range []*v1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if h != nil {
				defaultHTTPGet(h.HTTPGet)
			}
		}
	}
}

// imageName is domain/path:tag@digest. Upstream: distribution/reference, v0.6.
var imageName = regexp.MustCompile(
	`^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*(?::[0-9]+)?/` +
		`|\[[a-fA-F0-9:]+\](?::[0-9]+)?/)?` +
		`([a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)` +
		`(?::(\w[\w.-]{0,127}))?(@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[[:xdigit:]]{32,})?$`)

const maxImageName = 255 - len("library/")

// imageID is the identifier of an image, which is no name. Upstream: distribution/reference anchoredIdentifierRegexp, v0.6.
var imageID = regexp.MustCompile(`^[a-f0-9]{64}$`)

// pullPolicyOf returns Always for an image that may change: one with the tag
// "latest", or with neither tag nor digest, as an invalid name has.
func pullPolicyOf(image string) v1.PullPolicy {
	parts := imageName.FindStringSubmatch(image)
	if parts == nil || len(parts[1]) > maxImageName || imageID.MatchString(image) {
		return v1.PullIfNotPresent
	}
	if tag, digest := parts[2], parts[3]; tag == "latest" || tag == "" && digest == "" {
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}

func defaultProbe(p *v1.Probe) {
	setDefault(&p.TimeoutSeconds, 1)
	setDefault(&p.PeriodSeconds, 10)
	setDefault(&p.SuccessThreshold, 1)
	setDefault(&p.FailureThreshold, 3)
	defaultHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		setDefaultPtr(&p.GRPC.Service, "")
	}
}

func defaultHTTPGet(get *v1.HTTPGetAction) {
	if get != nil {
		setDefault(&get.Path, "/")
		setDefault(&get.Scheme, v1.URISchemeHTTP)
	}
}

// defaultPodVolume: a volume without a source is an emptyDir. One with two is
// refused later; both get their defaults.
// Upstream: core/v1 SetDefaults_Volume and those of the sources, v1.37.
func defaultPodVolume(v *v1.Volume) {
	if v.VolumeSource == (v1.VolumeSource{}) {
		v.EmptyDir = &v1.EmptyDirVolumeSource{}
	}
	if v.HostPath != nil {
		setDefaultPtr(&v.HostPath.Type, v1.HostPathUnset)
	}
	if v.ConfigMap != nil {
		setDefaultPtr(&v.ConfigMap.DefaultMode, defaultFileMode)
	}
	if v.Secret != nil {
		setDefaultPtr(&v.Secret.DefaultMode, defaultFileMode)
	}
	if v.DownwardAPI != nil {
		setDefaultPtr(&v.DownwardAPI.DefaultMode, defaultFileMode)
		defaultDownwardFiles(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		defaultProjected(v.Projected)
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		defaultClaimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec)
	}
	if v.Image != nil {
		setDefault(&v.Image.PullPolicy, pullPolicyOf(v.Image.Reference))
	}
	defaultVendorVolume(v)
}

func defaultVendorVolume(v *v1.Volume) {
	if v.ISCSI != nil {
		setDefault(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.RBD != nil {
		defaultRBD(&v.RBD.RBDPool, &v.RBD.RadosUser, &v.RBD.Keyring)
	}
	if v.AzureDisk != nil {
		defaultAzureDisk(v.AzureDisk)
	}
	if v.ScaleIO != nil {
		setDefault(&v.ScaleIO.StorageMode, "ThinProvisioned")
		setDefault(&v.ScaleIO.FSType, "xfs")
	}
}

func defaultProjected(v *v1.ProjectedVolumeSource) {
	setDefaultPtr(&v.DefaultMode, defaultFileMode)
	for i := range v.Sources {
		if token := v.Sources[i].ServiceAccountToken; token != nil {
			setDefaultPtr(&token.ExpirationSeconds, defaultTokenSeconds)
		}
		if files := v.Sources[i].DownwardAPI; files != nil {
			defaultDownwardFiles(files.Items)
		}
	}
}

func defaultDownwardFiles(files []v1.DownwardAPIVolumeFile) {
	for i := range files {
		if files[i].FieldRef != nil {
			setDefault(&files[i].FieldRef.APIVersion, "v1")
		}
	}
}
