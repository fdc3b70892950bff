package strategy

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Defaults of the kinds that make pods. Upstream: apps/v1 and batch/v1
// defaults.go, v1.37.

func defaultStatefulSet(spec *appsv1.StatefulSetSpec) {
	setDefault(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	setDefault(&spec.UpdateStrategy.Type, appsv1.RollingUpdateStatefulSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate.Partition, 0)
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	setDefaultPtr(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	setDefault(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setDefault(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setDefaultPtr(&spec.Replicas, 1)
	setDefaultPtr(&spec.RevisionHistoryLimit, 10)
	defaultPodSpec(&spec.Template.Spec)
	for i := range spec.VolumeClaimTemplates {
		template := &spec.VolumeClaimTemplates[i]
		template.APIVersion, template.Kind = "v1", "PersistentVolumeClaim"
		defaultClaim(template)
	}
}

func defaultDeployment(spec *appsv1.DeploymentSpec) {
	setDefaultPtr(&spec.Replicas, 1)
	setDefault(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		setDefaultPtr(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		setDefaultPtr(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		setDefaultPtr(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	setDefaultPtr(&spec.RevisionHistoryLimit, 10)
	setDefaultPtr(&spec.ProgressDeadlineSeconds, 600)
	defaultPodSpec(&spec.Template.Spec)
}

func defaultDaemonSet(spec *appsv1.DaemonSetSpec) {
	setDefault(&spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		setDefaultPtr(&spec.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	setDefaultPtr(&spec.RevisionHistoryLimit, 10)
	defaultPodSpec(&spec.Template.Spec)
}

// defaultJob leaves the restart policy to validation, which wants another than
// the default.
func defaultJob(spec *batchv1.JobSpec) {
	if spec.Completions == nil && spec.Parallelism == nil {
		setDefaultPtr(&spec.Completions, 1)
	}
	setDefaultPtr(&spec.Parallelism, 1)
	limit := int32(6)
	if spec.BackoffLimitPerIndex != nil {
		limit = math.MaxInt32
	}
	setDefaultPtr(&spec.BackoffLimit, limit)
	setDefaultPtr(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	setDefaultPtr(&spec.Suspend, false)
	replacement := batchv1.TerminatingOrFailed
	if spec.PodFailurePolicy != nil {
		replacement = batchv1.Failed
	}
	defaultFailurePolicy(spec.PodFailurePolicy)
	setDefaultPtr(&spec.PodReplacementPolicy, replacement)
	setDefaultPtr(&spec.ManualSelector, false)
	defaultPodSpec(&spec.Template.Spec)
}

// defaultFailurePolicy sets the status in which a condition of a failed pod counts.
// Upstream: batch/v1 SetDefaults_PodFailurePolicyOnPodConditionsPattern, v1.37.2.
func defaultFailurePolicy(policy *batchv1.PodFailurePolicy) {
	if policy == nil {
		return
	}
	for i := range policy.Rules {
		for j := range policy.Rules[i].OnPodConditions {
			setDefault(&policy.Rules[i].OnPodConditions[j].Status, v1.ConditionTrue)
		}
	}
}
