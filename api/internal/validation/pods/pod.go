package pods

import (
	"math"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/containers"
	"github.com/storagesim/storagesim/api/internal/validation"
)

var (
	restartPolicies    = []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever}
	dnsPolicies        = []v1.DNSPolicy{v1.DNSClusterFirstWithHostNet, v1.DNSClusterFirst, v1.DNSDefault, v1.DNSNone}
	preemptionPolicies = []v1.PreemptionPolicy{v1.PreemptLowerPriority, v1.PreemptNever}
)

// podRules validates the spec of one pod or template of pods.
type podRules struct {
	*validation.Problems
	spec *v1.PodSpec
	// meta is the pod's own metadata, nil where the spec is that of a template.
	meta *metav1.ObjectMeta
	// volumes are the good ones: those that containers may mount.
	volumes []*v1.Volume
}

// checkNewPod validates a new pod. Upstream: core/validation ValidatePodCreate, v1.37.
func checkNewPod(p *validation.Problems, pod *v1.Pod) {
	checkPod(p, pod)
	if len(pod.Spec.EphemeralContainers) > 0 {
		p.Forbidden(validation.SpecPath.Child("ephemeralContainers"), "cannot be set on create")
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) != 0 {
		p.Forbidden(validation.SpecPath.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")
	}
}

// checkPod validates what holds for new pods and for updated ones.
// Upstream: core/validation validatePodMetadataAndSpec, v1.37. Without a service
// account it refuses tokens; there is no admission plugin here that would name one,
// so that this is not done.
func checkPod(p *validation.Problems, pod *v1.Pod) {
	if len(pod.Annotations) > 0 {
		checkPodAnnotations(p, pod.Annotations, &pod.Spec, validation.MetadataPath.Child("annotations"))
	}
	checkPodSpec(p, &pod.Spec, &pod.ObjectMeta, validation.SpecPath)
	checkImageSpaces(p, &pod.Spec)
}

// checkPodAnnotations validates the annotations that mean something.
// Upstream: core/validation ValidatePodSpecificAnnotations, v1.37, without the
// deprecated ones of seccomp and AppArmor.
func checkPodAnnotations(p *validation.Problems, annotations map[string]string, spec *v1.PodSpec, at *field.Path) {
	if value, mirror := annotations[v1.MirrorPodAnnotationKey]; mirror && spec.NodeName == "" {
		p.Invalid(at.Key(v1.MirrorPodAnnotationKey), value, "must set spec.nodeName if mirror pod annotation is set")
	}
	if cost, ok := annotations[deletionCost]; ok && !isDeletionCost(cost) {
		p.Invalid(at.Key(deletionCost), cost, "must be a 32bit integer")
	}
}

const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

// isDeletionCost: a plus sign and leading zeros are not good.
// Upstream: core/helper GetDeletionCostFromPodAnnotations, v1.37.
func isDeletionCost(cost string) bool {
	if cost == "" || cost != "0" && cost[0] != '-' && (cost[0] < '1' || cost[0] > '9') {
		return false
	}
	_, err := strconv.ParseInt(cost, 10, 32)
	return err == nil
}

// checkImageSpaces refuses blanks round the images of a pod. Templates may have them.
func checkImageSpaces(p *validation.Problems, spec *v1.PodSpec) {
	for _, group := range containers.Groups(spec) {
		for i := range group.Containers {
			if image := group.Containers[i].Image; len(strings.TrimSpace(image)) != len(image) {
				p.Invalid(validation.SpecPath.Child(group.Name).Index(i).Child("image"), image, "must not have leading or trailing whitespace")
			}
		}
	}
}

// checkPodSpec validates a pod's spec. meta is the pod's own metadata, or nil where
// the spec is that of a template.
// Upstream: core/validation ValidatePodSpec, v1.37.
func checkPodSpec(p *validation.Problems, spec *v1.PodSpec, meta *metav1.ObjectMeta, at *field.Path) {
	r := &podRules{Problems: p, spec: spec, meta: meta}
	if spec.TerminationGracePeriodSeconds == nil {
		p.Required(at.Child("terminationGracePeriodSeconds"), "")
	}
	r.volumes = checkPodVolumes(p, spec.Volumes, meta, at)
	checkResourceClaims(r, at)
	checkContainers(r, at.Child("containers"))
	if len(spec.InitContainers) > 0 {
		checkInitContainers(r, at.Child("initContainers"))
	}
	checkEphemeralContainers(r, at)
	checkPodResources(r, at)
	checkHostNetworkPorts(r, at)
	validation.OneOf(p, spec.RestartPolicy, restartPolicies, at, "restartPolicy")
	validation.OneOf(p, spec.DNSPolicy, dnsPolicies, at, "dnsPolicy")
	p.Labels(spec.NodeSelector, at.Child("nodeSelector"))
	checkPodSecurity(r, spec.SecurityContext, at.Child("securityContext"))
	if share := spec.ShareProcessNamespace; share != nil && *share && spec.HostPID {
		p.Invalid(at.Child("shareProcessNamespace"), *share, "ShareProcessNamespace and HostPID cannot both be enabled")
	}
	if spec.Affinity != nil {
		checkAffinity(p, spec.Affinity, at.Child("affinity"))
	}
	checkDNSConfig(r, at.Child("dnsConfig"))
	checkGates(r, at)
	checkSpreadConstraints(p, spec.TopologySpreadConstraints, at)
	checkHostProcessRules(r, at)
	checkHostUsersRules(r, at)
	checkHostnameOverride(r, at)
	checkNames(r, at)
	if s := spec.ActiveDeadlineSeconds; s != nil && (*s < 1 || *s > math.MaxInt32) {
		p.Invalid(at.Child("activeDeadlineSeconds"), *s, utilvalidation.InclusiveRangeError(1, math.MaxInt32))
	}
	if len(spec.Tolerations) > 0 {
		CheckTolerations(p, spec.Tolerations, at.Child("tolerations"))
	}
	for i, alias := range spec.HostAliases {
		path := at.Child("hostAliases").Index(i)
		p.Add(utilvalidation.IsValidIPForLegacyField(path.Child("ip"), alias.IP, true, nil)...)
		for j, name := range alias.Hostnames {
			p.Subdomain(name, path.Child("hostnames").Index(j))
		}
	}
	if spec.PreemptionPolicy != nil {
		validation.OneOf(p, *spec.PreemptionPolicy, preemptionPolicies, at, "preemptionPolicy")
	}
	if spec.Overhead != nil {
		validation.CheckResources(p, &v1.ResourceRequirements{Limits: spec.Overhead}, validation.ContainerResource, at, "overhead")
	}
	checkOS(r, at)
	checkFileVolumes(r, at)
}

// checkGates validates what a pod waits for: before it is scheduled, and before it is
// ready.
func checkGates(p *podRules, at *field.Path) {
	for i, gate := range p.spec.ReadinessGates {
		p.QualifiedName(string(gate.ConditionType), at.Child("readinessGates").Index(i).Child("conditionType"))
	}
	for i, gate := range p.spec.SchedulingGates {
		path := at.Child("schedulingGates").Index(i)
		p.QualifiedName(gate.Name, path)
		if slices.Contains(p.spec.SchedulingGates[:i], gate) {
			p.Duplicate(path, gate.Name)
		}
	}
}

// checkNames validates the names a pod refers to or gives itself.
func checkNames(p *podRules, at *field.Path) {
	name := func(value, child string, check func(string, *field.Path)) {
		if value != "" && !validation.IsLabel(value) {
			check(value, at.Child(child))
		}
	}
	name(p.spec.ServiceAccountName, "serviceAccountName", p.Subdomain)
	name(p.spec.NodeName, "nodeName", p.Subdomain)
	name(p.spec.Hostname, "hostname", p.DNSLabel)
	name(p.spec.Subdomain, "subdomain", p.DNSLabel)
	name(p.spec.PriorityClassName, "priorityClassName", p.Subdomain)
	if p.spec.RuntimeClassName != nil {
		p.Subdomain(*p.spec.RuntimeClassName, at.Child("runtimeClassName"))
	}
}

// checkHostnameOverride validates a host name that is not made from the pod's.
// Upstream: core/validation validatePodHostName, v1.37.
func checkHostnameOverride(p *podRules, at *field.Path) {
	name := p.spec.HostnameOverride
	if name == nil {
		return
	}
	at = at.Child("hostnameOverride")
	if p.spec.SetHostnameAsFQDN != nil && *p.spec.SetHostnameAsFQDN {
		p.Forbidden(at, "may not be specified when setHostnameAsFQDN is true")
	}
	if p.spec.HostNetwork {
		p.Forbidden(at, "may not be specified when hostNetwork is true")
	}
	if len(*name) > 64 {
		p.Add(field.TooLong(at, "", 64))
	}
	p.Subdomain(*name, at)
}

// checkHostNetworkPorts: a container on the node's network gets the port that it
// listens on. Upstream: core/validation validatePodHostNetworkDeps, v1.37.
func checkHostNetworkPorts(p *podRules, at *field.Path) {
	if !p.spec.HostNetwork {
		return
	}
	for i := range p.spec.Containers {
		for j, port := range p.spec.Containers[i].Ports {
			if port.HostPort != port.ContainerPort && (p.meta != nil || port.HostPort != 0) {
				p.Invalid(at.Child("containers").Index(i).Child("ports").Index(j).Child("hostPort"), port.HostPort,
					"must match `containerPort` when `hostNetwork` is true")
			}
		}
	}
}

const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchText  = 2048 // characters, with the blanks between
)

// checkDNSConfig validates how a pod resolves names.
// Upstream: core/validation validatePodDNSConfig, v1.37.
func checkDNSConfig(p *podRules, at *field.Path) {
	config := p.spec.DNSConfig
	if p.spec.DNSPolicy == v1.DNSNone {
		switch {
		case config == nil:
			p.Required(at, "must provide `dnsConfig` when `dnsPolicy` is None")
		case len(config.Nameservers) == 0:
			p.Required(at.Child("nameservers"), "must provide at least one DNS nameserver when `dnsPolicy` is None")
			return
		}
	}
	if config == nil {
		return
	}
	if len(config.Nameservers) > maxNameservers {
		p.Invalid(at.Child("nameservers"), config.Nameservers, "must not have more than 3 nameservers")
	}
	for i, server := range config.Nameservers {
		p.Add(utilvalidation.IsValidIPForLegacyField(at.Child("nameservers").Index(i), server, true, nil)...)
	}
	if len(config.Searches) > maxSearches {
		p.Invalid(at.Child("searches"), config.Searches, "must not have more than 32 search paths")
	}
	if len(strings.Join(config.Searches, " ")) > maxSearchText {
		p.Invalid(at.Child("searches"), config.Searches, "must not have more than 2048 characters (including spaces) in the search list")
	}
	for i, search := range config.Searches {
		if search != "." {
			search = strings.TrimSuffix(search, ".")
			p.Messages(at.Child("searches").Index(i), search, utilvalidation.IsDNS1123SubdomainWithUnderscore(search))
		}
	}
	for i, option := range config.Options {
		if option.Name == "" {
			p.Required(at.Child("options").Index(i), "must not be empty")
		}
	}
}

// CheckTemplate validates a template of pods: its metadata, as far as it goes on to the
// pods, and their spec. Upstream: core/validation ValidatePodTemplateSpec, v1.37.
func CheckTemplate(p *validation.Problems, t *v1.PodTemplateSpec, at *field.Path) {
	p.Labels(t.Labels, at.Child("labels"))
	p.Annotations(t.Annotations, at.Child("annotations"))
	checkPodAnnotations(p, t.Annotations, &t.Spec, at.Child("annotations"))
	checkPodSpec(p, &t.Spec, nil, at.Child("spec"))
	if len(t.Spec.EphemeralContainers) > 0 {
		p.Forbidden(at.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template")
	}
}
