package api

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

const (
	defaultFileMode     = 0o644
	defaultGraceSeconds = 30
	defaultTokenSeconds = 3600
)

// defaultPod sets what only pods get, and not the templates of pods.
// Upstream: core/v1 SetDefaults_Pod, v1.36.
func defaultPod(pod *v1.Pod) {
	defaultPodSpec(&pod.Spec)
	for _, group := range containerGroups(&pod.Spec) {
		for i := range group.containers {
			c := &group.containers[i]
			defaultRequests(&c.Resources)
			for j := range c.Ports {
				if pod.Spec.HostNetwork {
					setDefault(&c.Ports[j].HostPort, c.Ports[j].ContainerPort)
				}
			}
		}
	}
	setDefaultPtr(&pod.Spec.EnableServiceLinks, v1.DefaultEnableServiceLinks)
}

// defaultRequests: who is limited and asks for nothing asks for the limit.
func defaultRequests(r *v1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; ok {
			continue
		}
		if r.Requests == nil {
			r.Requests = v1.ResourceList{}
		}
		r.Requests[name] = limit.DeepCopy()
	}
}

// defaultPodSpec is for pods and templates of pods alike.
// Upstream: core/v1 SetDefaults_PodSpec, v1.36.
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
	for _, group := range containerGroups(spec) {
		for i := range group.containers {
			defaultContainer(&group.containers[i])
		}
	}
	for i := range spec.EphemeralContainers {
		defaultContainer((*v1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
}

// defaultContainer. Upstream: core/v1 SetDefaults_Container, v1.36.
func defaultContainer(c *v1.Container) {
	setDefault(&c.ImagePullPolicy, pullPolicyOf(c.Image))
	setDefault(&c.TerminationMessagePath, v1.TerminationMessagePathDefault)
	setDefault(&c.TerminationMessagePolicy, v1.TerminationMessageReadFile)
	for i := range c.Ports {
		setDefault(&c.Ports[i].Protocol, v1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			setDefault(&from.FieldRef.APIVersion, "v1")
		}
	}
	roundUp(c.Resources.Limits)
	roundUp(c.Resources.Requests)
	for _, probe := range probes(c) {
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

// pullPolicyOf: an image that may change is always pulled. That is one tagged
// "latest", or with neither tag nor digest.
func pullPolicyOf(image string) v1.PullPolicy {
	name, _, digest := strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	if image != "" && (tag == "latest" || !tagged && !digest) {
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

// defaultPodVolume: a volume without a source is an emptyDir.
// Upstream: core/v1 SetDefaults_Volume and those of the sources, v1.36.
func defaultPodVolume(v *v1.Volume) {
	switch {
	case v.VolumeSource == v1.VolumeSource{}:
		v.EmptyDir = &v1.EmptyDirVolumeSource{}
	case v.HostPath != nil:
		setDefaultPtr(&v.HostPath.Type, v1.HostPathUnset)
	case v.ConfigMap != nil:
		setDefaultPtr(&v.ConfigMap.DefaultMode, defaultFileMode)
	case v.Secret != nil:
		setDefaultPtr(&v.Secret.DefaultMode, defaultFileMode)
	case v.DownwardAPI != nil:
		setDefaultPtr(&v.DownwardAPI.DefaultMode, defaultFileMode)
		defaultDownwardFiles(v.DownwardAPI.Items)
	case v.Projected != nil:
		defaultProjected(v.Projected)
	case v.Ephemeral != nil:
		if v.Ephemeral.VolumeClaimTemplate != nil {
			defaultClaimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec)
		}
	case v.Image != nil:
		setDefault(&v.Image.PullPolicy, pullPolicyOf(v.Image.Reference))
	case v.ISCSI != nil:
		setDefault(&v.ISCSI.ISCSIInterface, "default")
	case v.RBD != nil:
		defaultRBD(&v.RBD.RBDPool, &v.RBD.RadosUser, &v.RBD.Keyring)
	case v.AzureDisk != nil:
		defaultAzureDisk(v.AzureDisk)
	case v.ScaleIO != nil:
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
