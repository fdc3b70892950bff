package strategy

import (
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/semantic"
)

// Kinds that have defaults, and that neither the storage plane nor controllers here need.

// PriorityClasses returns the defaults of priorityclasses.
// Upstream: scheduling/v1 SetDefaults_PriorityClass, v1.37.
func PriorityClasses() Kind {
	return Of[*schedulingv1.PriorityClass]{Default: func(class *schedulingv1.PriorityClass) {
		setDefaultPtr(&class.PreemptionPolicy, v1.PreemptLowerPriority)
	}}.Kind()
}

// NetworkPolicies returns the defaults of networkpolicies.
// Upstream: networking/v1 SetDefaults_NetworkPolicy and SetDefaults_NetworkPolicyPort, v1.37.
func NetworkPolicies() Kind {
	return Of[*networkingv1.NetworkPolicy]{Default: func(policy *networkingv1.NetworkPolicy) {
		protocols := func(ports []networkingv1.NetworkPolicyPort) {
			for i := range ports {
				setDefaultPtr(&ports[i].Protocol, v1.ProtocolTCP)
			}
		}
		for i := range policy.Spec.Ingress {
			protocols(policy.Spec.Ingress[i].Ports)
		}
		for i := range policy.Spec.Egress {
			protocols(policy.Spec.Egress[i].Ports)
		}
		if len(policy.Spec.PolicyTypes) > 0 {
			return
		}
		policy.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(policy.Spec.Egress) > 0 {
			policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}}.Kind()
}

// IngressClasses returns the defaults of ingressclasses.
// Upstream: networking/v1 SetDefaults_IngressClass, v1.37.
func IngressClasses() Kind {
	return Of[*networkingv1.IngressClass]{Default: func(class *networkingv1.IngressClass) {
		if class.Spec.Parameters != nil {
			setDefaultPtr(&class.Spec.Parameters.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
		}
	}}.Kind()
}

// RoleBindings returns the defaults of rolebindings.
// Upstream: rbac/v1 SetDefaults_RoleBinding, v1.37.2.
func RoleBindings() Kind {
	return Of[*rbacv1.RoleBinding]{Default: func(b *rbacv1.RoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) }}.Kind()
}

// ClusterRoleBindings returns the defaults of clusterrolebindings.
// Upstream: rbac/v1 SetDefaults_ClusterRoleBinding, v1.37.2.
func ClusterRoleBindings() Kind {
	return Of[*rbacv1.ClusterRoleBinding]{Default: func(b *rbacv1.ClusterRoleBinding) { defaultBinding(&b.RoleRef, b.Subjects) }}.Kind()
}

// defaultBinding sets the API groups of the role and of the users and groups that a binding names.
// Upstream: rbac/v1 SetDefaults_Subject, v1.37.2.
func defaultBinding(role *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	setDefault(&role.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if kind := subjects[i].Kind; kind == rbacv1.UserKind || kind == rbacv1.GroupKind {
			setDefault(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}

// EndpointSlices returns the defaults and preparation of endpointslices.
// Upstream: discovery/v1 SetDefaults_EndpointPort, v1.37.
func EndpointSlices() Kind {
	return Of[*discoveryv1.EndpointSlice]{
		Default: func(slice *discoveryv1.EndpointSlice) {
			for i := range slice.Ports {
				setDefaultPtr(&slice.Ports[i].Name, "")
				setDefaultPtr(&slice.Ports[i].Protocol, v1.ProtocolTCP)
			}
		},
		Create: func(slice *discoveryv1.EndpointSlice, _ metav1.Time) { dropTopology(slice) },
		Update: func(slice, old *discoveryv1.EndpointSlice) {
			if !semantic.Equal(slice.Endpoints, old.Endpoints) {
				dropTopology(slice)
			}
		},
	}.Kind()
}

// dropTopology drops the topology of endpoints, which clients of v1 can only read. None is ever stored here, so that there is no name of a
// node in it to keep.
// Upstream: pkg/registry/discovery/endpointslice dropTopologyOnV1, v1.37.2.
func dropTopology(slice *discoveryv1.EndpointSlice) {
	for i := range slice.Endpoints {
		slice.Endpoints[i].DeprecatedTopology = nil
	}
}

// Endpoints returns the defaults of endpoints.
// Upstream: core/v1 SetDefaults_Endpoints, v1.37.
func Endpoints() Kind {
	//nolint:staticcheck // deprecated, and served
	return Of[*v1.Endpoints]{Default: func(endpoints *v1.Endpoints) {
		for i := range endpoints.Subsets {
			for j := range endpoints.Subsets[i].Ports {
				setDefault(&endpoints.Subsets[i].Ports[j].Protocol, v1.ProtocolTCP)
			}
		}
	}}.Kind()
}

// PodTemplates returns the defaults and preparation of podtemplates.
func PodTemplates() Kind {
	return Of[*v1.PodTemplate]{
		Default: func(t *v1.PodTemplate) { defaultPodSpec(&t.Template.Spec) },
		Create:  func(t *v1.PodTemplate, _ metav1.Time) { dropDisabledPodFields(&t.Template.Spec) },
		Update:  func(t, _ *v1.PodTemplate) { dropDisabledPodFields(&t.Template.Spec) },
	}.Kind()
}

// ReplicationControllers returns the defaults and preparation of replicationcontrollers.
// Upstream: core/v1 SetDefaults_ReplicationController, v1.37.
func ReplicationControllers() Kind {
	dropped := func(rc *v1.ReplicationController) {
		if rc.Spec.Template != nil {
			dropDisabledPodFields(&rc.Spec.Template.Spec)
		}
	}
	return Of[*v1.ReplicationController]{
		Default: func(rc *v1.ReplicationController) {
			setDefaultPtr(&rc.Spec.Replicas, 1)
			if rc.Spec.Template == nil {
				return
			}
			defaultPodSpec(&rc.Spec.Template.Spec)
			if labels := rc.Spec.Template.Labels; labels != nil {
				if len(rc.Spec.Selector) == 0 {
					rc.Spec.Selector = maps.Clone(labels)
				}
				if len(rc.Labels) == 0 {
					rc.Labels = maps.Clone(labels)
				}
			}
		},
		Create: func(rc *v1.ReplicationController, _ metav1.Time) { dropped(rc) },
		Update: func(rc, _ *v1.ReplicationController) { dropped(rc) },
	}.Kind()
}

// CronJobs returns the defaults and preparation of cronjobs. The Jobs that they make get those of Jobs.
// Upstream: batch/v1 SetObjectDefaults_CronJob, v1.37.2.
func CronJobs() Kind {
	const successful, failed = 3, 1
	dropped := func(job *batchv1.CronJob) {
		dropDisabledPodFields(&job.Spec.JobTemplate.Spec.Template.Spec)
		job.Spec.JobTemplate.Spec.Scheduling = nil // behind the feature gate WorkloadWithJob
	}
	return Of[*batchv1.CronJob]{
		Default: func(job *batchv1.CronJob) {
			setDefault(&job.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
			setDefaultPtr(&job.Spec.Suspend, false)
			setDefaultPtr(&job.Spec.SuccessfulJobsHistoryLimit, successful)
			setDefaultPtr(&job.Spec.FailedJobsHistoryLimit, failed)
			defaultFailurePolicy(job.Spec.JobTemplate.Spec.PodFailurePolicy)
			defaultPodSpec(&job.Spec.JobTemplate.Spec.Template.Spec)
		},
		Create: func(job *batchv1.CronJob, _ metav1.Time) { dropped(job) },
		Update: func(job, _ *batchv1.CronJob) { dropped(job) },
	}.Kind()
}

// Autoscalers returns the defaults of horizontalpodautoscalers.
// Upstream: autoscaling/v2 SetDefaults_HorizontalPodAutoscaler and GenerateHPAScaleUpRules, v1.37.
func Autoscalers() Kind {
	return Of[*autoscalingv2.HorizontalPodAutoscaler]{Default: func(hpa *autoscalingv2.HorizontalPodAutoscaler) {
		setDefaultPtr(&hpa.Spec.MinReplicas, 1)
		if len(hpa.Spec.Metrics) == 0 {
			average := int32(averageUtilization)
			hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: v1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &average},
			}}}
		}
		if b := hpa.Spec.Behavior; b != nil {
			double := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}
			defaultScaling(&b.ScaleUp, autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15}, double)
			setDefaultPtr(&b.ScaleUp.StabilizationWindowSeconds, 0)
			defaultScaling(&b.ScaleDown, double)
		}
	}}.Kind()
}

// AutoscalersV1 returns the defaults of horizontalpodautoscalers in their first version.
// Upstream: autoscaling/v1 SetDefaults_HorizontalPodAutoscaler, v1.37.2.
func AutoscalersV1() Kind {
	return Of[*autoscalingv1.HorizontalPodAutoscaler]{Default: func(hpa *autoscalingv1.HorizontalPodAutoscaler) {
		setDefaultPtr(&hpa.Spec.MinReplicas, 1)
		setDefaultPtr(&hpa.Spec.TargetCPUUtilizationPercentage, averageUtilization)
	}}.Kind()
}

// averageUtilization is the percentage of their request of CPU that pods are to use by default.
const averageUtilization = 80

func defaultScaling(rules **autoscalingv2.HPAScalingRules, policies ...autoscalingv2.HPAScalingPolicy) {
	setDefaultPtr(rules, autoscalingv2.HPAScalingRules{})
	setDefaultPtr(&(*rules).SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if (*rules).Policies == nil {
		(*rules).Policies = policies
	}
}
