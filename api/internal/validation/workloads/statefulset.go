package workloads

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/validation/pods"
	"github.com/storagesim/storagesim/api/internal/validation/storage"
)

var retentionPolicies = []appsv1.PersistentVolumeClaimRetentionPolicyType{
	appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
}

// checkStatefulSet validates a StatefulSet. old is the stored one on an update: what
// cannot change is not looked at again.
// Upstream: apps/validation ValidateStatefulSetSpec, v1.37.
func checkStatefulSet(p *validation.Problems, s, old *appsv1.StatefulSet) {
	spec := &s.Spec
	switch spec.PodManagementPolicy {
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	case "":
		p.Required(validation.SpecPath.Child("podManagementPolicy"), "")
	default:
		p.Invalid(validation.SpecPath.Child("podManagementPolicy"), spec.PodManagementPolicy, "must be 'OrderedReady' or 'Parallel'")
	}
	checkSetStrategy(p, &spec.UpdateStrategy, validation.SpecPath.Child("updateStrategy"))
	if policy := spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		at := validation.SpecPath.Child("persistentVolumeClaimRetentionPolicy")
		validation.IfSetOneOf(p, &policy.WhenDeleted, retentionPolicies, at, "whenDeleted")
		validation.IfSetOneOf(p, &policy.WhenScaled, retentionPolicies, at, "whenScaled")
	}
	if old == nil {
		for i := range spec.VolumeClaimTemplates {
			storage.CheckClaimSpec(p, &spec.VolumeClaimTemplates[i].Spec, validation.SpecPath.Child("volumeClaimTemplates").Index(i).Child("spec"), nil)
		}
	}
	checkCount(p, spec.Replicas, "replicas")
	p.NotNegative(int64(spec.MinReadySeconds), validation.SpecPath, "minReadySeconds")
	if spec.Ordinals != nil {
		p.NotNegative(int64(spec.Ordinals.Start), validation.SpecPath, "ordinals.start")
	}
	if old == nil && spec.ServiceName != "" {
		p.DNSLabel(spec.ServiceName, validation.SpecPath.Child("serviceName"))
	}
	if checkPodSelector(p, spec.Selector, &spec.Template, statefulSetWords) {
		pods.CheckTemplate(p, templateOf(spec), validation.SpecPath.Child("template"))
	}
	checkRestartAlways(p, &spec.Template, "StatefulSet")
}

// templateOf returns the template of the pods with a volume for each claim template, as
// the pods will have them, and without what the set gives them itself.
func templateOf(spec *appsv1.StatefulSetSpec) *v1.PodTemplateSpec {
	t := spec.Template
	t.Spec.Subdomain, t.Spec.Hostname = "", ""
	if len(spec.VolumeClaimTemplates) == 0 {
		return &t
	}
	t.Spec.Volumes = nil
	for i := range spec.VolumeClaimTemplates {
		name := spec.VolumeClaimTemplates[i].Name
		if !slices.ContainsFunc(t.Spec.Volumes, func(v v1.Volume) bool { return v.Name == name }) {
			t.Spec.Volumes = append(t.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			}})
		}
	}
	for _, v := range spec.Template.Spec.Volumes {
		if !slices.ContainsFunc(spec.VolumeClaimTemplates, func(c v1.PersistentVolumeClaim) bool { return c.Name == v.Name }) {
			t.Spec.Volumes = append(t.Spec.Volumes, v)
		}
	}
	return &t
}

func checkSetStrategy(p *validation.Problems, s *appsv1.StatefulSetUpdateStrategy, at *field.Path) {
	switch s.Type {
	case "":
		p.Required(at, "")
	case appsv1.OnDeleteStatefulSetStrategyType:
		if s.RollingUpdate != nil {
			p.Invalid(at.Child("rollingUpdate"), s.RollingUpdate, "only allowed for updateStrategy 'RollingUpdate'")
		}
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if s.RollingUpdate != nil && s.RollingUpdate.Partition != nil {
			p.NotNegative(int64(*s.RollingUpdate.Partition), at.Child("rollingUpdate"), "partition")
		}
		if s.RollingUpdate != nil && s.RollingUpdate.MaxUnavailable != nil {
			at = at.Child("rollingUpdate", "maxUnavailable")
			checkShare(p, s.RollingUpdate.MaxUnavailable, true, at)
			if shareOf(s.RollingUpdate.MaxUnavailable) == 0 {
				p.Invalid(at, s.RollingUpdate.MaxUnavailable, "cannot be 0")
			}
		}
	default:
		p.Invalid(at, *s, "must be 'RollingUpdate' or 'OnDelete'")
	}
}

// checkStatefulSetUpdate validates an update.
// Upstream: apps/validation ValidateStatefulSetUpdate, v1.37.
func checkStatefulSetUpdate(p *validation.Problems, s, old *appsv1.StatefulSet) {
	checkStatefulSet(p, s, old)
	p.Immutable(s.Spec.Selector, old.Spec.Selector, validation.SpecPath.Child("selector"))
	p.Immutable(s.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates, validation.SpecPath.Child("volumeClaimTemplates"))
	p.Immutable(s.Spec.ServiceName, old.Spec.ServiceName, validation.SpecPath.Child("serviceName"))
	p.Immutable(s.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy, validation.SpecPath.Child("podManagementPolicy"))
}

// checkStatefulSetStatus validates a status update.
// Upstream: apps/validation ValidateStatefulSetStatusUpdate, v1.37.
func checkStatefulSetStatus(p *validation.Problems, s, old *appsv1.StatefulSet) {
	status := &s.Status
	counts := []struct {
		name  string
		n     int32
		below bool // not more than replicas
	}{
		{"replicas", status.Replicas, false}, {"readyReplicas", status.ReadyReplicas, true}, {"currentReplicas", status.CurrentReplicas, true},
		{"updatedReplicas", status.UpdatedReplicas, true}, {"availableReplicas", status.AvailableReplicas, true},
	}
	for _, c := range counts {
		p.NotNegative(int64(c.n), validation.StatusPath, c.name)
	}
	p.NotNegative(status.ObservedGeneration, validation.StatusPath, "observedGeneration")
	if status.CollisionCount != nil {
		p.NotNegative(int64(*status.CollisionCount), validation.StatusPath, "collisionCount")
	}
	for _, c := range counts {
		if c.below && c.n > status.Replicas {
			p.Invalid(validation.StatusPath.Child(c.name), c.n, "cannot be greater than status.replicas")
		}
	}
	if status.AvailableReplicas > status.ReadyReplicas {
		p.Invalid(validation.StatusPath.Child("availableReplicas"), status.AvailableReplicas, "cannot be greater than status.readyReplicas")
	}
	if was := old.Status.CollisionCount; was != nil && (status.CollisionCount == nil || *status.CollisionCount < *was) {
		p.Invalid(validation.StatusPath.Child("collisionCount"), status.CollisionCount, "cannot be decremented")
	}
}
