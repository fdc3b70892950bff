package api

import (
	"math"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// newPod validates the spec of a new pod.
// Upstream: core/validation ValidatePodCreate, v1.36.
func (p *problems) newPod(pod *v1.Pod) {
	p.podSpec(&pod.Spec, &pod.ObjectMeta, specPath)
	p.imageSpaces(&pod.Spec)
	if len(pod.Spec.EphemeralContainers) > 0 {
		p.forbidden(specPath.Child("ephemeralContainers"), "cannot be set on create")
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) != 0 {
		p.forbidden(specPath.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")
	}
}

// imageSpaces refuses blanks round the images of a pod. Templates may have them.
func (p *problems) imageSpaces(spec *v1.PodSpec) {
	for _, group := range containerGroups(spec) {
		for i := range group.containers {
			if image := group.containers[i].Image; len(strings.TrimSpace(image)) != len(image) {
				p.invalid(specPath.Child(group.name).Index(i).Child("image"), image, "must not have leading or trailing whitespace")
			}
		}
	}
}

type containerGroup struct {
	name       string
	containers []v1.Container
}

func containerGroups(spec *v1.PodSpec) [2]containerGroup {
	return [2]containerGroup{{"containers", spec.Containers}, {"initContainers", spec.InitContainers}}
}

// podSpec validates a pod's spec. meta is the pod's own metadata, or nil where
// the spec is that of a template.
// Upstream: core/validation ValidatePodSpec, v1.36.
func (p *problems) podSpec(spec *v1.PodSpec, meta *metav1.ObjectMeta, at *field.Path) {
	if spec.TerminationGracePeriodSeconds == nil {
		p.required(at.Child("terminationGracePeriodSeconds"), "")
	}
	volumes := p.podVolumes(spec.Volumes, meta, at)
	p.containers(spec, volumes, at)
	p.podPolicies(spec, at)
	p.labels(spec.NodeSelector, at.Child("nodeSelector"))
	p.podSecurity(spec.SecurityContext, at)
	if spec.Affinity != nil {
		p.affinity(spec.Affinity, at.Child("affinity"))
	}
	p.schedulingGates(spec.SchedulingGates, at)
	p.spreadConstraints(spec.TopologySpreadConstraints, at)
	p.podNames(spec, at)
	if s := spec.ActiveDeadlineSeconds; s != nil && (*s < 1 || *s > math.MaxInt32) {
		p.invalid(at.Child("activeDeadlineSeconds"), *s, validation.InclusiveRangeError(1, math.MaxInt32))
	}
	if len(spec.Tolerations) > 0 {
		p.tolerations(spec.Tolerations, at.Child("tolerations"))
	}
	if spec.Overhead != nil {
		p.resources(&v1.ResourceRequirements{Limits: spec.Overhead}, at.Child("overhead"))
	}
}

// podPolicies validates the fields with a closed list of values.
func (p *problems) podPolicies(spec *v1.PodSpec, at *field.Path) {
	switch spec.RestartPolicy {
	case v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever:
	case "":
		p.required(at.Child("restartPolicy"), "")
	default:
		p.add(field.NotSupported(at.Child("restartPolicy"), spec.RestartPolicy,
			[]v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever}))
	}
	switch spec.DNSPolicy {
	case v1.DNSClusterFirst, v1.DNSClusterFirstWithHostNet, v1.DNSDefault:
	case v1.DNSNone:
		if spec.DNSConfig == nil {
			p.required(at.Child("dnsConfig"), "must provide `dnsConfig` when `dnsPolicy` is None")
		}
	case "":
		p.required(at.Child("dnsPolicy"), "")
	default:
		p.add(field.NotSupported(at.Child("dnsPolicy"), spec.DNSPolicy,
			[]v1.DNSPolicy{v1.DNSClusterFirstWithHostNet, v1.DNSClusterFirst, v1.DNSDefault, v1.DNSNone}))
	}
	if policy := spec.PreemptionPolicy; policy != nil && *policy != v1.PreemptLowerPriority && *policy != v1.PreemptNever {
		p.add(field.NotSupported(at.Child("preemptionPolicy"), *policy,
			[]v1.PreemptionPolicy{v1.PreemptLowerPriority, v1.PreemptNever}))
	}
}

// podNames validates the names a pod refers to or gives itself.
func (p *problems) podNames(spec *v1.PodSpec, at *field.Path) {
	name := func(value, child string, check func(string, *field.Path)) {
		if value != "" && !isLabel(value) {
			check(value, at.Child(child))
		}
	}
	name(spec.ServiceAccountName, "serviceAccountName", p.subdomain)
	name(spec.NodeName, "nodeName", p.subdomain)
	name(spec.Hostname, "hostname", p.dnsLabel)
	name(spec.Subdomain, "subdomain", p.dnsLabel)
	name(spec.PriorityClassName, "priorityClassName", p.subdomain)
	if spec.RuntimeClassName != nil {
		p.subdomain(*spec.RuntimeClassName, at.Child("runtimeClassName"))
	}
}

// podSecurity validates the part of the security context that storage depends
// on: the groups and users that own files, and how ownership is changed.
func (p *problems) podSecurity(sc *v1.PodSecurityContext, at *field.Path) {
	if sc == nil {
		return
	}
	at = at.Child("securityContext")
	if sc.FSGroup != nil {
		p.id(*sc.FSGroup, validation.IsValidGroupID(*sc.FSGroup), at.Child("fsGroup"))
	}
	if sc.RunAsUser != nil {
		p.id(*sc.RunAsUser, validation.IsValidUserID(*sc.RunAsUser), at.Child("runAsUser"))
	}
	if sc.RunAsGroup != nil {
		p.id(*sc.RunAsGroup, validation.IsValidGroupID(*sc.RunAsGroup), at.Child("runAsGroup"))
	}
	for i, gid := range sc.SupplementalGroups {
		p.id(gid, validation.IsValidGroupID(gid), at.Child("supplementalGroups").Index(i))
	}
	if c := sc.FSGroupChangePolicy; c != nil && *c != v1.FSGroupChangeAlways && *c != v1.FSGroupChangeOnRootMismatch {
		p.add(field.NotSupported(at.Child("fsGroupChangePolicy"), *c,
			[]v1.PodFSGroupChangePolicy{v1.FSGroupChangeAlways, v1.FSGroupChangeOnRootMismatch}))
	}
}

func (p *problems) id(id int64, msgs []string, at *field.Path) {
	for _, msg := range msgs {
		p.invalid(at, id, msg)
	}
}

func (p *problems) schedulingGates(gates []v1.PodSchedulingGate, at *field.Path) {
	seen := map[string]bool{}
	for i, gate := range gates {
		path := at.Child("schedulingGates").Index(i)
		p.qualifiedName(gate.Name, path)
		if seen[gate.Name] {
			p.duplicate(path, gate.Name)
		}
		seen[gate.Name] = true
	}
}

func (p *problems) spreadConstraints(constraints []v1.TopologySpreadConstraint, at *field.Path) {
	for i := range constraints {
		c, path := &constraints[i], at.Child("topologySpreadConstraints").Index(i)
		if c.MaxSkew <= 0 {
			p.invalid(path.Child("maxSkew"), c.MaxSkew, "must be greater than zero")
		}
		if c.TopologyKey == "" {
			p.required(path.Child("topologyKey"), "can not be empty")
		} else {
			p.qualifiedName(c.TopologyKey, path.Child("topologyKey"))
		}
		if c.WhenUnsatisfiable != v1.DoNotSchedule && c.WhenUnsatisfiable != v1.ScheduleAnyway {
			p.add(field.NotSupported(path.Child("whenUnsatisfiable"), c.WhenUnsatisfiable,
				[]v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}))
		}
		p.labelSelector(c.LabelSelector, path.Child("labelSelector"))
	}
}
