package warnings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/internal/semantic"
)

// template warns of the template of pods at a path.
// Upstream: pkg/api/pod/warnings.go GetWarningsForPodTemplate, v1.37.
func template(t *v1.PodTemplateSpec, at *field.Path) []string {
	return podParts(&t.Spec, &t.ObjectMeta, at)
}

// podParts warns of a pod, for which at is nil, or of a template of pods.
// Upstream: pkg/api/pod/warnings.go warningsForPodSpecAndMeta, v1.37.
func podParts(spec *v1.PodSpec, meta *metav1.ObjectMeta, at *field.Path) []string {
	return slices.Concat(
		schedulingParts(spec, at.Child("spec")),
		annotations(meta, at.Child("metadata", "annotations")),
		oldVolumes(spec.Volumes, at.Child("spec", "volumes")),
		overlappingPaths(spec.Volumes),
		repeatedNames(spec, at.Child("spec")),
		fractions(spec.Overhead, at.Child("spec", "overhead")),
		profiles(spec, meta, at),
		containerParts(spec, meta, at),
		ports(spec, at.Child("spec")),
		graceAndAffinity(spec, at.Child("spec")),
		podAddresses(spec, at.Child("spec")),
	)
}

// schedulingParts warns of selectors of nodes.
func schedulingParts(spec *v1.PodSpec, at *field.Path) (list []string) {
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		if text := oldNodeLabel(key); text != "" {
			list = append(list, fmt.Sprintf("%s: %s", at.Child("nodeSelector").Key(key), text))
		}
	}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		affinity, at := spec.Affinity.NodeAffinity, at.Child("affinity", "nodeAffinity")
		list = append(list, nodeTerms(affinity.RequiredDuringSchedulingIgnoredDuringExecution, at.Child("requiredDuringSchedulingIgnoredDuringExecution"))...)
		for i := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
			term := &affinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
			list = append(list, nodeTerm(&term.Preference, true, at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("preference"))...)
		}
	}
	for i, c := range spec.TopologySpreadConstraints {
		at := at.Child("topologySpreadConstraints").Index(i)
		if text := oldNodeLabel(c.TopologyKey); text != "" {
			list = append(list, fmt.Sprintf("%s: %s is %s", at.Child("topologyKey"), c.TopologyKey, text))
		}
		if c.LabelSelector == nil {
			list = append(list, selectsNothing(at.Child("labelSelector")))
		}
	}
	return list
}

func selectsNothing(at *field.Path) string {
	return fmt.Sprintf("%s: a null labelSelector results in matching no pod", at)
}

// annotations warns of annotations that have become fields.
func annotations(meta *metav1.ObjectMeta, at *field.Path) (list []string) {
	for _, old := range [...]struct{ key, text string }{
		{"scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
		{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
		{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	} {
		if _, ok := meta.Annotations[old.key]; ok {
			list = append(list, fmt.Sprintf("%s: %s", at.Key(old.key), old.text))
		}
	}
	return list
}

// oldVolumes warns of sources that kubelets do not know any more.
func oldVolumes(volumes []v1.Volume, at *field.Path) (list []string) {
	for i := range volumes {
		v, at := &volumes[i], at.Index(i)
		add := func(there bool, name, text string) {
			if there {
				list = append(list, fmt.Sprintf("%s: %s", at.Child(name), text))
			}
		}
		add(v.PhotonPersistentDisk != nil, "photonPersistentDisk", goneIn16)
		add(v.GitRepo != nil, "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+")
		add(v.ScaleIO != nil, "scaleIO", goneIn22)
		add(v.Flocker != nil, "flocker", "deprecated in v1.22, non-functional in v1.25+")
		add(v.StorageOS != nil, "storageOS", goneIn25)
		add(v.Quobyte != nil, "quobyte", goneIn25)
		add(v.Glusterfs != nil, "glusterfs", goneIn26)
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			list = append(list, claimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec, at.Child("ephemeral", "volumeClaimTemplate", "spec"))...)
		}
		add(v.CephFS != nil, "cephfs", goneIn31)
		add(v.RBD != nil, "rbd", goneIn31)
	}
	return list
}

// What is said of sources of volumes that were given up.
const (
	goneIn16 = "deprecated in v1.11, non-functional in v1.16+"
	goneIn22 = "deprecated in v1.16, non-functional in v1.22+"
	goneIn25 = "deprecated in v1.22, non-functional in v1.25+"
	goneIn26 = "deprecated in v1.25, non-functional in v1.26+"
	goneIn31 = "deprecated in v1.28, non-functional in v1.31+"
)

// repeatedNames warns of host aliases and secrets that are there twice, and of secrets without a name.
func repeatedNames(spec *v1.PodSpec, at *field.Path) (list []string) {
	seen := map[string]bool{}
	for i, alias := range spec.HostAliases {
		if seen[alias.IP] {
			list = append(list, fmt.Sprintf("%s: duplicate ip %q", at.Child("hostAliases").Index(i).Child("ip"), alias.IP))
		}
		seen[alias.IP] = true
	}
	clear(seen)
	for i, secret := range spec.ImagePullSecrets {
		if seen[secret.Name] {
			list = append(list, fmt.Sprintf("%s: duplicate name %q", at.Child("imagePullSecrets").Index(i).Child("name"), secret.Name))
		}
		seen[secret.Name] = true
	}
	for i, secret := range spec.ImagePullSecrets {
		if secret.Name == "" {
			list = append(list, fmt.Sprintf("%s: invalid empty name %q", at.Child("imagePullSecrets").Index(i).Child("name"), ""))
		}
	}
	return list
}

// fractions warns of amounts of memory and of local storage that are no whole number of bytes.
func fractions(amounts v1.ResourceList, at *field.Path) (list []string) {
	for _, name := range []v1.ResourceName{v1.ResourceMemory, v1.ResourceEphemeralStorage} {
		list = append(list, fraction(amounts, name, at)...)
	}
	return list
}

// fraction warns of an amount that is no whole number of bytes.
func fraction(amounts v1.ResourceList, name v1.ResourceName, at *field.Path) []string {
	q, ok := amounts[name]
	if !ok || q.MilliValue()%1000 == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: fractional byte value %q is invalid, must be an integer", at.Key(string(name)), q.String())}
}

// profiles warns of the annotation for a pod's seccomp profile.
func profiles(spec *v1.PodSpec, meta *metav1.ObjectMeta, at *field.Path) []string {
	if spec.SecurityContext != nil && spec.SecurityContext.SeccompProfile != nil {
		return nil
	}
	return seccomp(meta, v1.SeccompPodAnnotationKey, at)
}

func seccomp(meta *metav1.ObjectMeta, key string, at *field.Path) []string {
	if _, ok := meta.Annotations[key]; !ok {
		return nil
	}
	return []string{fmt.Sprintf(`%s: non-functional in v1.27+; use the "seccompProfile" field instead`, at.Child("metadata", "annotations").Key(key))}
}

// eachContainer calls do with each container of a pod, in upstream's order.
// Upstream: pkg/apis/core/pods/helpers.go VisitContainersWithPath, v1.37.
func eachContainer(spec *v1.PodSpec, at *field.Path, do func(c *v1.Container, at *field.Path)) {
	for i := range spec.InitContainers {
		do(&spec.InitContainers[i], at.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		do(&spec.Containers[i], at.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		do((*v1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon), at.Child("ephemeralContainers").Index(i))
	}
}

// containerParts warns of each container's profiles, amounts and variables.
func containerParts(spec *v1.PodSpec, meta *metav1.ObjectMeta, at *field.Path) (list []string) {
	var podProfile *v1.AppArmorProfile
	if spec.SecurityContext != nil {
		podProfile = spec.SecurityContext.AppArmorProfile
	}
	eachContainer(spec, at.Child("spec"), func(c *v1.Container, path *field.Path) {
		if c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil {
			list = append(list, seccomp(meta, v1.SeccompContainerAnnotationKeyPrefix+c.Name, at)...)
		}
		key := v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name
		said, annotated := meta.Annotations[key]
		hasField := c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil
		if at != nil && annotated && !hasField && (podProfile == nil || !semantic.Equal(podProfile, appArmor(said))) {
			list = append(list, fmt.Sprintf(`%s: deprecated since v1.30; use the "appArmorProfile" field instead`, at.Child("metadata", "annotations").Key(key)))
		}
		for _, name := range []v1.ResourceName{v1.ResourceMemory, v1.ResourceEphemeralStorage} {
			list = append(list, fraction(c.Resources.Limits, name, path.Child("resources", "limits"))...)
			list = append(list, fraction(c.Resources.Requests, name, path.Child("resources", "requests"))...)
		}
		list = append(list, hiddenVariables(c.Env, path.Child("env"))...)
	})
	return list
}

// appArmor returns the profile that an annotation means, nil if it means none.
// Upstream: pkg/api/pod/util.go ApparmorFieldForAnnotation, v1.37.
func appArmor(annotation string) *v1.AppArmorProfile {
	name, local := strings.CutPrefix(annotation, v1.DeprecatedAppArmorBetaProfileNamePrefix)
	switch {
	case annotation == v1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeUnconfined}
	case annotation == v1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}
	case local && name != "":
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
	}
	return nil
}

// hiddenVariables warns of variables that replace another of the same name without a use of its value.
func hiddenVariables(env []v1.EnvVar, at *field.Path) (list []string) {
	seen := map[string]bool{}
	for i, v := range env {
		itself := "$(" + v.Name + ")"
		if seen[v.Name] && (v.ValueFrom != nil || v.Value == itself || !strings.Contains(v.Value, itself)) {
			list = append(list, fmt.Sprintf("%s: hides previous definition of %q, which may be dropped when using apply", at.Index(i), v.Name))
		}
		seen[v.Name] = true
	}
	return list
}

// ports warns of ports of a pod that are the same, or may be.
func ports(spec *v1.PodSpec, at *field.Path) (list []string) {
	type known struct {
		at   *field.Path
		port v1.ContainerPort
	}
	byNumber := map[string][]known{}
	eachContainer(spec, at, func(c *v1.Container, at *field.Path) {
		for i, port := range c.Ports {
			at := at.Child("ports").Index(i)
			if port.HostIP != "" && port.HostPort == 0 {
				list = append(list, fmt.Sprintf("%s: hostIP set without hostPort: %+v", at, port))
			}
			key := fmt.Sprintf("%d/%s", port.ContainerPort, port.Protocol)
			for _, other := range byNumber[key] {
				switch o := other.port; {
				case port.HostIP == o.HostIP && port.HostPort == o.HostPort:
					list = append(list, fmt.Sprintf("%s: duplicate port definition with %s", at, other.at))
				case port.HostPort == 0 || o.HostPort == 0:
					list = append(list, fmt.Sprintf("%s: overlapping port definition with %s", at, other.at))
				case port.HostPort == o.HostPort && (port.HostIP == "") != (o.HostIP == ""):
					list = append(list, fmt.Sprintf("%s: dangerously ambiguous port definition with %s", at, other.at))
				}
			}
			byNumber[key] = append(byNumber[key], known{at, port})
		}
	})
	byName := map[string]*field.Path{}
	eachContainer(spec, at, func(c *v1.Container, at *field.Path) {
		for i, port := range c.Ports {
			at, other := at.Child("ports").Index(i), byName[port.Name]
			switch {
			case port.Name == "":
			case other == nil:
				byName[port.Name] = at
			default:
				list = append(list, fmt.Sprintf("%s: duplicate port name %q with %s, services and probes that select ports by name will use %s", at,
					port.Name, other, other))
			}
		}
	})
	return list
}

// graceAndAffinity warns of a negative grace period and of terms that select no pod.
func graceAndAffinity(spec *v1.PodSpec, at *field.Path) (list []string) {
	if grace := spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		list = append(list, fmt.Sprintf("%s: must be >= 0; negative values are invalid and will be treated as 1", at.Child("terminationGracePeriodSeconds")))
	}
	if spec.Affinity == nil {
		return list
	}
	terms := func(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm, at *field.Path) {
		for i := range required {
			if required[i].LabelSelector == nil {
				list = append(list, selectsNothing(at.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i).Child("labelSelector")))
			}
		}
		for i := range preferred {
			if preferred[i].PodAffinityTerm.LabelSelector == nil {
				list = append(list, selectsNothing(at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm", "labelSelector")))
			}
		}
	}
	if a := spec.Affinity.PodAffinity; a != nil {
		terms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("affinity", "podAffinity"))
	}
	if a := spec.Affinity.PodAntiAffinity; a != nil {
		terms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("affinity", "podAntiAffinity"))
	}
	return list
}

// podAddresses warns of addresses in an unusual form.
func podAddresses(spec *v1.PodSpec, at *field.Path) (list []string) {
	if spec.DNSConfig != nil {
		for i, server := range spec.DNSConfig.Nameservers {
			list = append(list, ofIP(at.Child("dnsConfig", "nameservers").Index(i), server)...)
		}
	}
	for i, alias := range spec.HostAliases {
		list = append(list, ofIP(at.Child("hostAliases").Index(i).Child("ip"), alias.IP)...)
	}
	return list
}

// podStatus warns of addresses of a pod and its node in an unusual form.
// Upstream: registry/core/pod podStatusStrategy.WarningsOnUpdate, v1.37.
func podStatus(pod *v1.Pod) (list []string) {
	for i, ip := range pod.Status.PodIPs {
		list = append(list, ofIP(field.NewPath("status", "podIPs").Index(i).Child("ip"), ip.IP)...)
	}
	for i, ip := range pod.Status.HostIPs {
		list = append(list, ofIP(field.NewPath("status", "hostIPs").Index(i).Child("ip"), ip.IP)...)
	}
	return list
}
