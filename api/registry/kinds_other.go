package registry

import (
	"strings"

	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation/cluster"
	"github.com/storagesim/storagesim/api/internal/validation/workloads"
	"github.com/storagesim/storagesim/api/internal/warnings"
)

// networkKinds returns the kinds of networking.k8s.io and discovery.k8s.io.
func networkKinds() []Kind {
	return append(
		in(networkingv1.SchemeGroupVersion,
			Kind{Kind: "IPAddress", ShortNames: names("ip"), ClusterScoped: true, Validation: cluster.IPAddresses()},
			Kind{Kind: "IngressClass", ClusterScoped: true, Generations: true, Strategy: strategy.IngressClasses(), Validation: cluster.IngressClasses()},
			Kind{Kind: "Ingress", ShortNames: names("ing"), Generations: true, Validation: cluster.Ingresses(), Warnings: warnings.Ingresses()},
			Kind{
				Kind: "NetworkPolicy", ShortNames: names("netpol"), Generations: true,
				Strategy: strategy.NetworkPolicies(), Validation: cluster.NetworkPolicies(), Warnings: warnings.NetworkPolicies(),
			},
			Kind{Kind: "ServiceCIDR", StatusKeeps: names("metadata"), ClusterScoped: true, Validation: cluster.ServiceCIDRs()},
		),
		in(discoveryv1.SchemeGroupVersion, Kind{
			Kind: "EndpointSlice", Generations: true, AllCounts: true, LabelsCount: true,
			Strategy: strategy.EndpointSlices(), Validation: cluster.EndpointSlices(), Warnings: warnings.EndpointSlices(),
		})...,
	)
}

// policyKinds returns the kinds of rbac.authorization.k8s.io and policy.
func policyKinds() []Kind {
	return append(
		in(policyv1.SchemeGroupVersion,
			Kind{
				Kind: "PodDisruptionBudget", ShortNames: names("pdb"),
				Generations: true, Conditional: true, Validation: workloads.DisruptionBudgets(),
			},
		),
		in(rbacv1.SchemeGroupVersion,
			Kind{
				Kind: "ClusterRoleBinding", ClusterScoped: true, CreatesOnUpdate: true,
				Strategy: strategy.ClusterRoleBindings(), Validation: cluster.ClusterRoleBindings(),
			},
			Kind{Kind: "ClusterRole", ClusterScoped: true, CreatesOnUpdate: true, Validation: cluster.ClusterRoles()},
			Kind{Kind: "RoleBinding", CreatesOnUpdate: true, Strategy: strategy.RoleBindings(), Validation: cluster.RoleBindings()},
			Kind{Kind: "Role", CreatesOnUpdate: true, Validation: cluster.Roles()},
		)...,
	)
}

// otherKinds returns the kinds that neither the storage plane nor workloads need.
func otherKinds() []Kind {
	return slices.Concat(
		admissionKinds(),
		schedulingKinds(),
		in(coordinationv1.SchemeGroupVersion,
			Kind{Kind: "Lease", Conditional: true, CreatesOnUpdate: true, Strategy: strategy.Leases(), Validation: cluster.Leases()}),
		in(coordinationv1beta1.SchemeGroupVersion, Kind{Kind: "LeaseCandidate", OnRequest: true, Conditional: true, CreatesOnUpdate: true}),
		in(nodev1.SchemeGroupVersion,
			Kind{Kind: "RuntimeClass", ClusterScoped: true, Conditional: true, CreatesOnUpdate: true, Validation: cluster.RuntimeClasses(),
				Warnings: warnings.RuntimeClasses()},
		),
		in(flowcontrolv1.SchemeGroupVersion,
			Kind{Kind: "FlowSchema", StatusKeeps: names("metadata"), ClusterScoped: true, Generations: true, Strategy: strategy.FlowSchemas()},
			Kind{Kind: "PriorityLevelConfiguration", StatusKeeps: names("metadata"), ClusterScoped: true, Generations: true,
				Strategy: strategy.PriorityLevels()},
		),
		in(apiserverinternalv1alpha1.SchemeGroupVersion,
			Kind{Kind: "StorageVersion", StatusKeeps: names("metadata"), OnRequest: true, ClusterScoped: true, Conditional: true},
		),
		in(storagemigrationv1.SchemeGroupVersion, Kind{
			Kind: "StorageVersionMigration", StatusKeeps: names("metadata"), ClusterScoped: true, Conditional: true,
			HashAs: schema.GroupVersion{Group: storagemigrationv1.GroupName, Version: "v1beta1"},
		}),
		in(schema.GroupVersion{Group: "lifecycle.k8s.io", Version: "v1alpha1"}, Kind{Kind: "Eviction", StatusKeeps: names("metadata"), OnRequest: true},
			Kind{Kind: "EvictionRequest", StatusKeeps: names("metadata"), OnRequest: true}),
	)
}

// aggregatorKinds returns the kinds of the API server that passes requests on to others, whose Go types are in a library of
// their own: they are unstructured here.
func aggregatorKinds() []Kind {
	return in(schema.GroupVersion{Group: "apiregistration.k8s.io", Version: "v1"}, Kind{
		Kind: "APIService", Categories: []string{"api-extensions"}, ClusterScoped: true, Warnings: warnings.Kind{Write: warnNotPassedOn},
	})
}

// warnNotPassedOn returns the warning for API servers of others, to which no request is passed on.
func warnNotPassedOn(_, _ runtime.Object) []string {
	return []string{"the simulation stores API services, but passes no request on to another API server"}
}

// admissionKinds returns the kinds of admissionregistration.k8s.io.
func admissionKinds() []Kind {
	kinds := in(admissionregistrationv1.SchemeGroupVersion,
		Kind{Kind: "MutatingAdmissionPolicyBinding"},
		Kind{Kind: "MutatingAdmissionPolicy"},
		Kind{Kind: "MutatingWebhookConfiguration", Strategy: strategy.MutatingWebhooks(), Validation: cluster.MutatingWebhooks()},
		Kind{Kind: "ValidatingAdmissionPolicyBinding", Strategy: strategy.AdmissionPolicyBindings(), Validation: cluster.AdmissionPolicyBindings()},
		Kind{Kind: "ValidatingAdmissionPolicy", StatusKeeps: names("metadata"), Strategy: strategy.AdmissionPolicies(),
			Validation: cluster.AdmissionPolicies()},
		Kind{Kind: "ValidatingWebhookConfiguration", Strategy: strategy.ValidatingWebhooks(), Validation: cluster.ValidatingWebhooks()},
	)
	for i := range kinds {
		k := &kinds[i]
		k.Categories, k.ClusterScoped, k.Generations, k.AllCounts, k.Conditional = []string{"api-extensions"}, true, true, true, true
		if !strings.HasSuffix(k.Kind, "WebhookConfiguration") { // of those the server says whether it asks them
			k.Warnings = warnings.Kind{Write: warnUnasked}
		}
	}
	return kinds
}

// UnaskedMessage is the warning for admission policies, which are not asked, and for webhooks whose program is not known: a call to a program
// elsewhere would take real time, and its answer could not be repeated from a seed.
const UnaskedMessage = "the simulation stores admission policies, and webhooks of programs that it does not know, but asks none of them: " +
	"nothing is refused or changed by this object"

func warnUnasked(_, _ runtime.Object) []string { return []string{UnaskedMessage} }

// schedulingKinds returns the kinds of scheduling.k8s.io and resource.k8s.io.
func schedulingKinds() []Kind {
	return slices.Concat(
		in(schedulingv1.SchemeGroupVersion,
			Kind{
				Kind: "PriorityClass", ShortNames: names("pc"), ClusterScoped: true, Generations: true,
				Strategy: strategy.PriorityClasses(), Validation: cluster.PriorityClasses(),
			},
		),
		in(schedulingv1beta1.SchemeGroupVersion,
			Kind{Kind: "PodGroup", StatusKeeps: names("metadata"), OnRequest: true},
			Kind{Kind: "Workload", OnRequest: true},
		),
		in(schedulingv1alpha3.SchemeGroupVersion, Kind{Kind: "CompositePodGroup", StatusKeeps: names("metadata"), OnRequest: true}),
		in(resourcev1.SchemeGroupVersion,
			Kind{Kind: "DeviceClass", AnswersDeleted: true, ClusterScoped: true, Generations: true},
			Kind{
				Kind: "DeviceTaintRule", StatusKeeps: names("metadata"), AnswersDeleted: true, ClusterScoped: true, Generations: true,
				HashAs: schema.GroupVersion{Group: resourcev1.GroupName, Version: "v1beta2"},
			},
			Kind{Kind: "ResourceClaim", StatusKeeps: names("metadata"), AnswersDeleted: true},
			Kind{Kind: "ResourceClaimTemplate", AnswersDeleted: true},
			Kind{Kind: "ResourceSlice", AnswersDeleted: true, ClusterScoped: true, Generations: true},
		),
		in(resourcev1alpha3.SchemeGroupVersion,
			Kind{Kind: "ResourcePoolStatusRequest", StatusKeeps: names("metadata"), OnRequest: true, AnswersDeleted: true, ClusterScoped: true},
		),
	)
}
