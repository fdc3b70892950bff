package validation

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var retentionPolicies = []appsv1.PersistentVolumeClaimRetentionPolicyType{
	appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
}

// statefulSet validates a StatefulSet. old is the stored one on an update: what
// cannot change is not looked at again.
// Upstream: apps/validation ValidateStatefulSetSpec, v1.37.
func (p *problems) statefulSet(s, old *appsv1.StatefulSet) {
	spec := &s.Spec
	switch spec.PodManagementPolicy {
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	case "":
		p.required(specPath.Child("podManagementPolicy"), "")
	default:
		p.invalid(specPath.Child("podManagementPolicy"), spec.PodManagementPolicy, "must be 'OrderedReady' or 'Parallel'")
	}
	p.setStrategy(&spec.UpdateStrategy, specPath.Child("updateStrategy"))
	if policy := spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		at := specPath.Child("persistentVolumeClaimRetentionPolicy")
		ifSetOneOf(p, &policy.WhenDeleted, retentionPolicies, at, "whenDeleted")
		ifSetOneOf(p, &policy.WhenScaled, retentionPolicies, at, "whenScaled")
	}
	if old == nil {
		for i := range spec.VolumeClaimTemplates {
			p.claimSpec(&spec.VolumeClaimTemplates[i].Spec, specPath.Child("volumeClaimTemplates").Index(i).Child("spec"), nil)
		}
	}
	p.count(spec.Replicas, "replicas")
	p.notNegative(int64(spec.MinReadySeconds), specPath, "minReadySeconds")
	if spec.Ordinals != nil {
		p.notNegative(int64(spec.Ordinals.Start), specPath, "ordinals.start")
	}
	if old == nil && spec.ServiceName != "" {
		p.dnsLabel(spec.ServiceName, specPath.Child("serviceName"))
	}
	if p.podSelector(spec.Selector, &spec.Template, "statefulset") {
		p.template(templateOf(spec), specPath.Child("template"))
	}
	p.restartAlways(&spec.Template, "StatefulSet")
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
	named := func(name string) func(v1.Volume) bool { return func(v v1.Volume) bool { return v.Name == name } }
	for i := range spec.VolumeClaimTemplates {
		name := spec.VolumeClaimTemplates[i].Name
		if !slices.ContainsFunc(t.Spec.Volumes, named(name)) {
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

func (p *problems) setStrategy(s *appsv1.StatefulSetUpdateStrategy, at *field.Path) {
	switch s.Type {
	case "":
		p.required(at, "")
	case appsv1.OnDeleteStatefulSetStrategyType:
		if s.RollingUpdate != nil {
			p.invalid(at.Child("rollingUpdate"), s.RollingUpdate, "only allowed for updateStrategy 'RollingUpdate'")
		}
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if s.RollingUpdate != nil && s.RollingUpdate.Partition != nil {
			p.notNegative(int64(*s.RollingUpdate.Partition), at.Child("rollingUpdate"), "partition")
		}
		if s.RollingUpdate != nil && s.RollingUpdate.MaxUnavailable != nil {
			at = at.Child("rollingUpdate", "maxUnavailable")
			p.share(s.RollingUpdate.MaxUnavailable, true, at)
			if shareOf(s.RollingUpdate.MaxUnavailable) == 0 {
				p.invalid(at, s.RollingUpdate.MaxUnavailable, "cannot be 0")
			}
		}
	default:
		p.invalid(at, *s, "must be 'RollingUpdate' or 'OnDelete'")
	}
}

// statefulSetUpdate validates an update.
// Upstream: apps/validation ValidateStatefulSetUpdate, v1.37.
func (p *problems) statefulSetUpdate(s, old *appsv1.StatefulSet) {
	p.statefulSet(s, old)
	p.immutable(s.Spec.Selector, old.Spec.Selector, specPath.Child("selector"))
	p.immutable(s.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates, specPath.Child("volumeClaimTemplates"))
	p.immutable(s.Spec.ServiceName, old.Spec.ServiceName, specPath.Child("serviceName"))
	p.immutable(s.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy, specPath.Child("podManagementPolicy"))
}

// statefulSetStatus validates a status update.
// Upstream: apps/validation ValidateStatefulSetStatusUpdate, v1.37.
func (p *problems) statefulSetStatus(s, old *appsv1.StatefulSet) {
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
		p.notNegative(int64(c.n), statusPath, c.name)
	}
	p.notNegative(status.ObservedGeneration, statusPath, "observedGeneration")
	if status.CollisionCount != nil {
		p.notNegative(int64(*status.CollisionCount), statusPath, "collisionCount")
	}
	for _, c := range counts {
		if c.below && c.n > status.Replicas {
			p.invalid(statusPath.Child(c.name), c.n, "cannot be greater than status.replicas")
		}
	}
	if status.AvailableReplicas > status.ReadyReplicas {
		p.invalid(statusPath.Child("availableReplicas"), status.AvailableReplicas, "cannot be greater than status.readyReplicas")
	}
	if was := old.Status.CollisionCount; was != nil && (status.CollisionCount == nil || *status.CollisionCount < *was) {
		p.invalid(statusPath.Child("collisionCount"), status.CollisionCount, "cannot be decremented")
	}
}
