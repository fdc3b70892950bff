package strategy

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/internal/containers"
)

// The canonical functions do to an object what upstream's conversion to its internal
// version and back does: two fields for the same thing say the same, and what
// release 1.36 does not know, or not without a feature gate, is dropped.

func canonicalPod(pod *v1.Pod) {
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		pod.Spec.TerminationGracePeriodSeconds = new(int64(1))
	}
	canonicalPodIPs(&pod.Status)
}

func canonicalCSINode(node *storagev1.CSINode) {
	node.Status = storagev1.CSINodeStatus{} // its one field is behind a gate that is off
}

// canonicalPodCIDRs: podCIDR is the first of podCIDRs. If both are there and
// differ, podCIDR counts. Upstream: core/v1 Convert_v1_NodeSpec_To_core_NodeSpec,
// v1.37.
func canonicalPodCIDRs(spec *v1.NodeSpec) {
	if one := spec.PodCIDR; one != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != one) {
		spec.PodCIDRs = []string{one}
	}
	if len(spec.PodCIDRs) > 0 {
		spec.PodCIDR = spec.PodCIDRs[0]
	}
}

// canonicalPodIPs: podIP is the first of podIPs. If both are there and differ,
// podIP counts. Upstream: core/v1 defaults.go SetDefaults_PodStatus, v1.37.
func canonicalPodIPs(status *v1.PodStatus) {
	if one := status.PodIP; one != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != one) {
		status.PodIPs = []v1.PodIP{{IP: one}}
	}
	if len(status.PodIPs) > 0 {
		status.PodIP = status.PodIPs[0].IP
	}
}

// dropDisabledPodFields drops from a pod's spec what is behind feature gates that
// are off in release 1.37.
// Upstream: pkg/api/pod dropDisabledFields, v1.37.
func dropDisabledPodFields(spec *v1.PodSpec) {
	spec.SchedulingGroup, spec.EvictionResponders = nil, nil
	for i := range spec.Volumes {
		dropDisabledVolumeFields(&spec.Volumes[i])
	}
	for _, group := range containers.Groups(spec) {
		for i := range group.Containers {
			dropDisabledContainerFields(&group.Containers[i])
		}
	}
	for i := range spec.EphemeralContainers {
		dropDisabledContainerFields((*v1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
}

// dropDisabledContainerFields drops the signal that stops a container (ContainerStopSignals), the options of bind mounts
// (VolumeBindMountOptions), and how a probe or hook speaks to it (H2CContainerProbe, GRPCContainerProbeTLS).
func dropDisabledContainerFields(c *v1.Container) {
	dropMountOptions(c.VolumeMounts)
	for _, probe := range containers.Probes(c) {
		if probe.Probe == nil {
			continue
		}
		if probe.HTTPGet != nil {
			probe.HTTPGet.Protocol = nil
		}
		if probe.GRPC != nil {
			probe.GRPC.Mode = nil
		}
	}
	if c.Lifecycle == nil {
		return
	}
	if c.Lifecycle.StopSignal != nil {
		c.Lifecycle.StopSignal = nil
		if *c.Lifecycle == (v1.Lifecycle{}) {
			c.Lifecycle = nil
			return
		}
	}
	for _, hook := range []*v1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
		if hook != nil && hook.HTTPGet != nil {
			hook.HTTPGet.Protocol = nil
		}
	}
}

// dropDisabledVolumeFields drops the mode of an emptyDir (EmptyDirVolumeMode), the owners of files
// (AtomicWriteVolumeUserFields), and sources of projected volumes.
func dropDisabledVolumeFields(volume *v1.Volume) {
	switch {
	case volume.EmptyDir != nil:
		volume.EmptyDir.Mode = nil
	case volume.Secret != nil:
		volume.Secret.DefaultUser = nil
		dropUsers(volume.Secret.Items)
	case volume.ConfigMap != nil:
		volume.ConfigMap.DefaultUser = nil
		dropUsers(volume.ConfigMap.Items)
	case volume.DownwardAPI != nil:
		volume.DownwardAPI.DefaultUser = nil
		dropDownwardUsers(volume.DownwardAPI.Items)
	case volume.Projected != nil:
		volume.Projected.DefaultUser = nil
		for i := range volume.Projected.Sources {
			dropDisabledSourceFields(&volume.Projected.Sources[i])
		}
	}
}

func dropDisabledSourceFields(source *v1.VolumeProjection) {
	if source.Secret != nil {
		dropUsers(source.Secret.Items)
	}
	if source.ConfigMap != nil {
		dropUsers(source.ConfigMap.Items)
	}
	if source.DownwardAPI != nil {
		dropDownwardUsers(source.DownwardAPI.Items)
	}
	if source.ServiceAccountToken != nil {
		source.ServiceAccountToken.User = nil
	}
	if source.ClusterTrustBundle != nil {
		source.ClusterTrustBundle.User = nil
	}
	if source.PodCertificate != nil {
		source.PodCertificate.User = nil
	}
}

func dropUsers(items []v1.KeyToPath) {
	for i := range items {
		items[i].User = nil
	}
}

func dropDownwardUsers(items []v1.DownwardAPIVolumeFile) {
	for i := range items {
		items[i].User = nil
	}
}

// dropMountOptions drops the options of bind mounts (VolumeBindMountOptions).
func dropMountOptions(mounts []v1.VolumeMount) {
	for i := range mounts {
		mounts[i].BindMountOptions = nil
	}
}

// mergeLabelKeys adds to the selectors of a new pod what matchLabelKeys and
// mismatchLabelKeys take over from its labels.
// Upstream: registry/core/pod mutatePodAffinity and mutateTopologySpreadConstraints,
// v1.37.
func mergeLabelKeys(pod *v1.Pod) {
	for _, term := range podAffinityTerms(pod.Spec.Affinity) {
		addLabelKeys(term.LabelSelector, term.MatchLabelKeys, metav1.LabelSelectorOpIn, pod.Labels)
		addLabelKeys(term.LabelSelector, term.MismatchLabelKeys, metav1.LabelSelectorOpNotIn, pod.Labels)
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		addLabelKeys(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn, pod.Labels)
	}
}

func podAffinityTerms(a *v1.Affinity) (terms []*v1.PodAffinityTerm) {
	if a == nil {
		return nil
	}
	add := func(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
		for i := range preferred {
			terms = append(terms, &preferred[i].PodAffinityTerm)
		}
		for i := range required {
			terms = append(terms, &required[i])
		}
	}
	if n := a.PodAffinity; n != nil {
		add(n.RequiredDuringSchedulingIgnoredDuringExecution, n.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if n := a.PodAntiAffinity; n != nil {
		add(n.RequiredDuringSchedulingIgnoredDuringExecution, n.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return terms
}

func addLabelKeys(selector *metav1.LabelSelector, keys []string, op metav1.LabelSelectorOperator, labels map[string]string) {
	if selector == nil {
		return
	}
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: []string{value}})
		}
	}
}
