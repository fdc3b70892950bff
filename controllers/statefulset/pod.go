package statefulset

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// controllerKind is the kind in the pods' references to their owner.
const controllerKind = "StatefulSet"

// ordinals returns the first ordinal of the set's replicas and the one after the last.
func ordinals(set *appsv1.StatefulSet) (first, end int64) {
	if set.Spec.Ordinals != nil {
		first = int64(set.Spec.Ordinals.Start)
	}
	replicas := int64(1)
	if set.Spec.Replicas != nil {
		replicas = int64(*set.Spec.Replicas)
	}
	return first, first + replicas
}

// podName returns the name of a replica's pod.
// Upstream: stateful_set_utils.go getPodName, v1.37.
func podName(set *appsv1.StatefulSet, ordinal int64) string {
	return set.Name + "-" + strconv.FormatInt(ordinal, 10)
}

// ordinalOf returns the ordinal in a pod's name, if it is the name of a replica.
// Upstream: stateful_set_utils.go getParentNameAndOrdinal, v1.37.
func ordinalOf(set *appsv1.StatefulSet, pod *v1.Pod) (ordinal int64, ok bool) {
	suffix, ok := strings.CutPrefix(pod.Name, set.Name+"-")
	if !ok {
		return 0, false
	}
	ordinal, err := strconv.ParseInt(suffix, 10, 64)
	return ordinal, err == nil && pod.Name == podName(set, ordinal)
}

// newStatefulPod returns the pod of a replica: the template of a revision, with the replica's identity
// and claims.
// Upstream: stateful_set_utils.go newStatefulSetPod and initIdentity, v1.37.
func newStatefulPod(set *appsv1.StatefulSet, template *v1.PodTemplateSpec, revision string, ordinal int64) *v1.Pod {
	template = template.DeepCopy()
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       set.Namespace,
			Name:            podName(set, ordinal),
			GenerateName:    set.Name + "-",
			Labels:          template.Labels,
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind(controllerKind))},
		},
		Spec: template.Spec,
	}
	updateIdentity(ordinal, pod)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.ControllerRevisionHashLabelKey, revision)
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	updateStorage(set, ordinal, pod)
	return pod
}

// updateIdentity gives the pod of a replica the labels that tell which it is.
// Upstream: stateful_set_utils.go updateIdentity, v1.37. Pods of other names are no members of the set.
func updateIdentity(ordinal int64, pod *v1.Pod) {
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.StatefulSetPodNameLabel, pod.Name)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.PodIndexLabel, strconv.FormatInt(ordinal, 10))
}

// identityMatches reports whether the pod of a replica has the label of its name.
// Upstream: stateful_set_utils.go identityMatches, v1.37.
func identityMatches(pod *v1.Pod) bool { return pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name }

// storageMatches reports whether the pod has a volume for each of its claims.
// Upstream: stateful_set_utils.go storageMatches, v1.37.
func storageMatches(set *appsv1.StatefulSet, ordinal int64, pod *v1.Pod) bool {
	for i := range set.Spec.VolumeClaimTemplates {
		template := &set.Spec.VolumeClaimTemplates[i]
		if !slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
			return v.Name == template.Name && v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claimName(set, template, ordinal)
		}) {
			return false
		}
	}
	return true
}

// updateStorage adds a volume to the pod for each of its claims. It replaces a volume of the same name in the
// template.
// Upstream: stateful_set_utils.go updateStorage, v1.37.
func updateStorage(set *appsv1.StatefulSet, ordinal int64, pod *v1.Pod) {
	var volumes []v1.Volume
	for i := range set.Spec.VolumeClaimTemplates {
		template := &set.Spec.VolumeClaimTemplates[i]
		volumes = append(volumes, v1.Volume{Name: template.Name, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(set, template, ordinal)},
		}})
	}
	named := len(volumes)
	for _, volume := range pod.Spec.Volumes {
		same := func(v v1.Volume) bool { return v.Name == volume.Name }
		if !slices.ContainsFunc(volumes[:named], same) {
			volumes = append(volumes, volume)
		}
	}
	pod.Spec.Volumes = volumes
}

// claimName returns the name of a replica's claim.
// Upstream: stateful_set_utils.go getPersistentVolumeClaimName, v1.37.
func claimName(set *appsv1.StatefulSet, template *v1.PersistentVolumeClaim, ordinal int64) string {
	return template.Name + "-" + podName(set, ordinal)
}

// persistentVolumeClaims returns a replica's claims: the templates, with the labels of the set's selector.
// Upstream: stateful_set_utils.go getPersistentVolumeClaims, v1.37.
func persistentVolumeClaims(set *appsv1.StatefulSet, ordinal int64) []*v1.PersistentVolumeClaim {
	claims := make([]*v1.PersistentVolumeClaim, len(set.Spec.VolumeClaimTemplates))
	for i := range set.Spec.VolumeClaimTemplates {
		template := &set.Spec.VolumeClaimTemplates[i]
		claim := template.DeepCopy()
		claim.Namespace, claim.Name = set.Namespace, claimName(set, template, ordinal)
		if set.Spec.Selector != nil && len(set.Spec.Selector.MatchLabels) > 0 {
			if claim.Labels == nil {
				claim.Labels = map[string]string{}
			}
			maps.Copy(claim.Labels, set.Spec.Selector.MatchLabels)
		}
		claims[i] = claim
	}
	return claims
}
