package warnings

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/internal/semantic"
)

// Kind returns the warnings for objects of one kind. A function that is nil has none to give.
// Upstream: WarningsOnCreate and WarningsOnUpdate of each kind's strategies, v1.37.
type Kind struct {
	// Write is about an object that is created, for which old is nil, or updated.
	Write func(obj, old runtime.Object) []string
	// Status is about an object whose status is updated.
	Status func(obj, old runtime.Object) []string
}

// of returns a rule for objects of one Go type.
func of[T runtime.Object](rule func(obj, old T) []string) func(obj, old runtime.Object) []string {
	return func(obj, old runtime.Object) []string {
		var before T // nil for a new object
		if old != nil {
			before = old.(T)
		}
		return rule(obj.(T), before)
	}
}

// either returns a rule that new and updated objects share.
func either[T runtime.Object](rule func(obj T) []string) func(obj, old runtime.Object) []string {
	return of(func(obj, _ T) []string { return rule(obj) })
}

// Pods returns the warnings for pods. Updates have none.
func Pods() Kind {
	return Kind{
		Write: of(func(pod, old *v1.Pod) []string {
			if old != nil {
				return nil
			}
			return append(dottedName(pod.Name, "the Pod's hostname"), podParts(&pod.Spec, &pod.ObjectMeta, nil)...)
		}),
		Status: either(podStatus),
	}
}

// dottedName warns of a name that makes no good name of a host.
func dottedName(name, use string) []string {
	if texts := validation.IsDNS1123Label(name); len(texts) > 0 {
		return []string{fmt.Sprintf("metadata.name: this is used in %s, which can result in surprising behavior; a DNS label is recommended: %v", use, texts)}
	}
	return nil
}

const podNames = "Pod names and hostnames"

// Claims returns the warnings for persistentvolumeclaims.
// Upstream: pkg/api/persistentvolumeclaim/util.go GetWarningsForPersistentVolumeClaim, v1.37.
func Claims() Kind {
	return Kind{Write: either(func(claim *v1.PersistentVolumeClaim) []string {
		return append(betaClass(&claim.ObjectMeta), claimSpec(&claim.Spec, field.NewPath("spec"))...)
	})}
}

// betaClass warns of the annotation that named the class.
func betaClass(meta *metav1.ObjectMeta) []string {
	return ofAnnotation(meta, v1.BetaStorageClassAnnotation, `deprecated since v1.8; use "storageClassName" attribute instead`)
}

func ofAnnotation(meta *metav1.ObjectMeta, key, text string) []string {
	if _, ok := meta.Annotations[key]; !ok {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s", field.NewPath("metadata", "annotations").Key(key), text)}
}

// claimSpec warns of sizes that are no whole number of bytes.
// Upstream: pkg/api/persistentvolumeclaim/util.go GetWarningsForPersistentVolumeClaimSpec, v1.37.
func claimSpec(spec *v1.PersistentVolumeClaimSpec, at *field.Path) []string {
	return append(
		fraction(spec.Resources.Requests, v1.ResourceStorage, at.Child("resources", "requests")),
		fraction(spec.Resources.Limits, v1.ResourceStorage, at.Child("resources", "limits"))...)
}

// Volumes returns the warnings for persistentvolumes.
// Upstream: pkg/api/persistentvolume/util.go warningsForPersistentVolumeSpecAndMeta, v1.37.
func Volumes() Kind {
	return Kind{Write: either(func(pv *v1.PersistentVolume) []string {
		at := field.NewPath("spec")
		list := append(betaClass(&pv.ObjectMeta),
			ofAnnotation(&pv.ObjectMeta, v1.MountOptionAnnotation, `deprecated since v1.31; use "mountOptions" attribute instead`)...)
		if pv.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimRecycle {
			list = append(list, at.Child("persistentVolumeReclaimPolicy").String()+
				": The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
		}
		if pv.Spec.NodeAffinity != nil {
			list = append(list, nodeTerms(pv.Spec.NodeAffinity.Required, at.Child("nodeAffinity", "required"))...)
		}
		for _, source := range [...]struct {
			there      bool
			name, text string
		}{
			{pv.Spec.CephFS != nil, "cephfs", goneIn31},
			{pv.Spec.PhotonPersistentDisk != nil, "photonPersistentDisk", goneIn16},
			{pv.Spec.ScaleIO != nil, "scaleIO", goneIn22},
			{pv.Spec.StorageOS != nil, "storageOS", goneIn25},
			{pv.Spec.Glusterfs != nil, "glusterfs", goneIn26},
			{pv.Spec.RBD != nil, "rbd", goneIn31},
		} {
			if source.there {
				list = append(list, fmt.Sprintf("%s: %s", at.Child(source.name), source.text))
			}
		}
		return list
	})}
}

// StorageClasses returns the warnings for storageclasses.
// Upstream: pkg/api/storage/util.go GetWarningsForStorageClass, v1.37.
func StorageClasses() Kind {
	return Kind{Write: either(func(class *storagev1.StorageClass) (list []string) {
		for i, term := range class.AllowedTopologies {
			for j, e := range term.MatchLabelExpressions {
				if text := oldNodeLabel(e.Key); text != "" {
					at := field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j).Child("key")
					list = append(list, fmt.Sprintf("%s: %s", at, text))
				}
			}
		}
		return list
	})}
}

// CSIStorageCapacities returns the warnings for csistoragecapacities.
func CSIStorageCapacities() Kind {
	return Kind{Write: either(func(capacity *storagev1.CSIStorageCapacity) []string {
		return topology(capacity.NodeTopology, field.NewPath("nodeTopology"))
	})}
}

// CSIDrivers returns the warnings for csidrivers.
// Upstream: registry/storage/csidriver WarningsOnCreate and WarningsOnUpdate, v1.37.
func CSIDrivers() Kind {
	return Kind{Write: of(func(driver, old *storagev1.CSIDriver) []string {
		tokens := driver.Spec.TokenRequests
		if len(tokens) == 0 || driver.Spec.ServiceAccountTokenInSecrets != nil || old != nil && semantic.Equal(tokens, old.Spec.TokenRequests) {
			return nil
		}
		return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in " +
			"volume attributes"}
	})}
}

// Nodes returns the warnings for nodes.
// Upstream: registry/core/node nodeWarnings, v1.37.
func Nodes() Kind {
	return Kind{Write: either(nodeParts)}
}

func nodeParts(node *v1.Node) (list []string) {
	//nolint:staticcheck // deprecated, as the warnings say
	if node.Spec.ConfigSource != nil {
		list = append(list, "spec.configSource: the feature is removed")
	}
	if node.Spec.DoNotUseExternalID != "" {
		list = append(list, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	for i, cidr := range node.Spec.PodCIDRs {
		list = append(list, ofCIDR(field.NewPath("spec", "podCIDRs").Index(i), cidr)...)
	}
	return list
}

// Secrets returns the warnings for secrets.
// Upstream: registry/core/secret warningsForSecret, v1.37.
func Secrets() Kind {
	return Kind{Write: either(func(secret *v1.Secret) []string {
		if secret.Type != v1.SecretTypeTLS {
			return nil
		}
		if _, err := tls.X509KeyPair(secret.Data[v1.TLSCertKey], secret.Data[v1.TLSPrivateKeyKey]); err != nil {
			return []string{err.Error()}
		}
		return nil
	})}
}

// ResourceQuotas returns the warnings for resourcequotas. Updates have none.
// Upstream: registry/core/resourcequota WarningsOnCreate, v1.37.
func ResourceQuotas() Kind {
	return Kind{Write: of(func(quota, old *v1.ResourceQuota) (list []string) {
		if old != nil {
			return nil
		}
		hard := quota.Spec.Hard
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceStorage, v1.ResourceEphemeralStorage} {
			requests, limits := "requests."+name, "limits."+name
			request, ok := hard[requests]
			if !ok && (name == v1.ResourceCPU || name == v1.ResourceMemory) {
				requests = name
				request, ok = hard[name]
			}
			if limit, limited := hard[limits]; ok && limited && request.Cmp(limit) > 0 {
				list = append(list, fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)", requests, request.String(), limits, limit.String()))
			}
		}
		return list
	})}
}

// Endpoints returns the warnings for endpoints.
// Upstream: registry/core/endpoint endpointsWarnings, v1.37.
func Endpoints() Kind {
	//nolint:staticcheck // deprecated, and served
	return Kind{Write: either(func(endpoints *v1.Endpoints) (list []string) {
		if endpoints.Labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
			return nil
		}
		for i, subset := range endpoints.Subsets {
			at := field.NewPath("subsets").Index(i)
			for j := range subset.Addresses {
				list = append(list, ofIP(at.Child("addresses").Index(j).Child("ip"), subset.Addresses[j].IP)...)
			}
			for j := range subset.NotReadyAddresses {
				list = append(list, ofIP(at.Child("notReadyAddresses").Index(j).Child("ip"), subset.NotReadyAddresses[j].IP)...)
			}
		}
		return list
	})}
}

// EndpointSlices returns the warnings for endpointslices.
// Upstream: registry/discovery/endpointslice WarningsOnCreate, warnOnDeprecatedAddressType and warnOnBadIPs, v1.37.
func EndpointSlices() Kind {
	return Kind{Write: of(func(slice, old *discoveryv1.EndpointSlice) (list []string) {
		if old == nil && slice.AddressType == discoveryv1.AddressTypeFQDN {
			list = append(list, "spec.addressType: FQDN endpoints are deprecated")
		}
		managed := slice.Labels[discoveryv1.LabelManagedBy]
		if managed == "endpointslice-controller.k8s.io" || managed == "endpointslicemirroring-controller.k8s.io" || slice.AddressType == discoveryv1.AddressTypeFQDN {
			return list
		}
		for i := range slice.Endpoints {
			for j, address := range slice.Endpoints[i].Addresses {
				list = append(list, ofIP(field.NewPath("endpoints").Index(i).Child("addresses").Index(j), address)...)
			}
		}
		return list
	})}
}

// Services returns the warnings for services.
// Upstream: pkg/api/service/warnings.go GetWarningsForService, v1.37.
func Services() Kind {
	return Kind{
		Write: either(serviceParts),
		Status: either(func(service *v1.Service) (list []string) {
			for i, ingress := range service.Status.LoadBalancer.Ingress {
				if ingress.IP != "" {
					list = append(list, ofIP(field.NewPath("status", "loadBalancer", "ingress").Index(i), ingress.IP)...)
				}
			}
			return list
		}),
	}
}

func serviceParts(service *v1.Service) (list []string) {
	spec, at := &service.Spec, field.NewPath("spec")
	add := func(when bool, text string) {
		if when {
			list = append(list, text)
		}
	}
	if _, ok := service.Annotations[v1.DeprecatedAnnotationTopologyAwareHints]; ok {
		list = append(list, fmt.Sprintf("annotation %s is deprecated, please use %s instead", v1.DeprecatedAnnotationTopologyAwareHints, v1.AnnotationTopologyMode))
	}
	if spec.ClusterIP != "" && spec.ClusterIP != v1.ClusterIPNone {
		for i, ip := range spec.ClusterIPs {
			list = append(list, ofIP(at.Child("clusterIPs").Index(i), ip)...)
		}
	}
	external, balancer := spec.ExternalIPs, spec.LoadBalancerIP
	headless := spec.Type == v1.ServiceTypeClusterIP && spec.ClusterIP == v1.ClusterIPNone
	add(headless && balancer != "", "spec.loadBalancerIP is ignored for headless services")
	add(headless && len(external) > 0, "spec.externalIPs is ignored for headless services")
	add(headless && spec.SessionAffinity != v1.ServiceAffinityNone, "spec.SessionAffinity is ignored for headless services")
	for i, ip := range external {
		list = append(list, ofIP(at.Child("externalIPs").Index(i), ip)...)
	}
	isName := spec.Type == v1.ServiceTypeExternalName
	add(len(external) > 0 && !headless && !isName, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	if balancer != "" {
		list = append(list, ofIP(at.Child("loadBalancerIP"), balancer)...)
	}
	for i, cidr := range spec.LoadBalancerSourceRanges {
		list = append(list, ofCIDR(at.Child("loadBalancerSourceRanges").Index(i), cidr)...)
	}
	add(isName && len(external) > 0, `spec.externalIPs is ignored when spec.type is "ExternalName"`)
	add(!isName && spec.ExternalName != "", `spec.externalName is ignored when spec.type is not "ExternalName"`)
	add(spec.TrafficDistribution != nil && *spec.TrafficDistribution == v1.ServiceTrafficDistributionPreferClose,
		`spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`)
	return list
}

// NetworkPolicies returns the warnings for networkpolicies.
// Upstream: registry/networking/networkpolicy networkPolicyWarnings, v1.37.
func NetworkPolicies() Kind {
	return Kind{Write: either(func(policy *networkingv1.NetworkPolicy) (list []string) {
		blocks := func(peers []networkingv1.NetworkPolicyPeer, at *field.Path) {
			for i := range peers {
				block, at := peers[i].IPBlock, at.Index(i).Child("ipBlock")
				if block == nil {
					continue
				}
				list = append(list, ofCIDR(at.Child("cidr"), block.CIDR)...)
				for j, except := range block.Except {
					list = append(list, ofCIDR(at.Child("except").Index(j), except)...)
				}
			}
		}
		for i := range policy.Spec.Ingress {
			blocks(policy.Spec.Ingress[i].From, field.NewPath("spec", "ingress").Index(i).Child("from"))
		}
		for i := range policy.Spec.Egress {
			blocks(policy.Spec.Egress[i].To, field.NewPath("spec", "egress").Index(i).Child("to"))
		}
		return list
	})}
}

// Ingresses returns the warnings for ingresses.
// Upstream: registry/networking/ingress WarningsOnCreate and the status strategy's WarningsOnUpdate, v1.37.
func Ingresses() Kind {
	const class = "kubernetes.io/ingress.class"
	return Kind{
		Write: of(func(ingress, old *networkingv1.Ingress) []string {
			if _, ok := ingress.Annotations[class]; old != nil || !ok || ingress.Spec.IngressClassName != nil {
				return nil
			}
			return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead", class)}
		}),
		Status: either(func(ingress *networkingv1.Ingress) (list []string) {
			for i, in := range ingress.Status.LoadBalancer.Ingress {
				if in.IP != "" {
					list = append(list, ofIP(field.NewPath("status", "loadBalancer", "ingress").Index(i), in.IP)...)
				}
			}
			return list
		}),
	}
}

// RuntimeClasses returns the warnings for runtimeclasses.
// Upstream: pkg/api/node/util.go GetWarningsForRuntimeClass, v1.37.
func RuntimeClasses() Kind {
	return Kind{Write: either(func(class *nodev1.RuntimeClass) (list []string) {
		if class.Scheduling == nil {
			return nil
		}
		for key := range class.Scheduling.NodeSelector {
			if text := oldNodeLabel(key); text != "" {
				list = append(list, "scheduling.nodeSelector: "+text)
			}
		}
		slices.Sort(list)
		return list
	})}
}

// templated returns the warnings for a kind with a template of pods: of the whole when it is created, of the template when an
// update changes the spec.
func templated[T interface {
	runtime.Object
	metav1.Object
}](ofName bool, parts func(obj T) []string) Kind {
	return Kind{Write: of(func(obj, old T) (list []string) {
		switch {
		case any(old) != any(*new(T)) && obj.GetGeneration() == old.GetGeneration():
			return nil
		case any(old) == any(*new(T)) && ofName:
			list = dottedName(obj.GetName(), podNames)
		}
		return append(list, parts(obj)...)
	})}
}

func templatePath() *field.Path { return field.NewPath("spec", "template") }

// Deployments returns the warnings for deployments.
func Deployments() Kind {
	return templated(true, func(d *appsv1.Deployment) []string {
		return template(&d.Spec.Template, templatePath())
	})
}

// ReplicaSets returns the warnings for replicasets.
func ReplicaSets() Kind {
	return templated(true, func(set *appsv1.ReplicaSet) []string {
		return template(&set.Spec.Template, templatePath())
	})
}

// DaemonSets returns the warnings for daemonsets. Their names are used as they are.
func DaemonSets() Kind {
	return templated(false, func(set *appsv1.DaemonSet) []string {
		return template(&set.Spec.Template, templatePath())
	})
}

// ReplicationControllers returns the warnings for replicationcontrollers. An update is warned of what was wrong before: upstream takes the
// templates the wrong way round.
// Upstream: pkg/registry/core/replicationcontroller rcStrategy.WarningsOnUpdate, v1.37.2.
func ReplicationControllers() Kind {
	of := func(rc *v1.ReplicationController) []string {
		if rc.Spec.Template == nil {
			return nil
		}
		return template(rc.Spec.Template, templatePath())
	}
	kind := templated(true, of)
	return Kind{Write: func(obj, old runtime.Object) []string {
		if old == nil || obj.(*v1.ReplicationController).Generation == old.(*v1.ReplicationController).Generation {
			return kind.Write(obj, old)
		}
		return of(old.(*v1.ReplicationController))
	}}
}

// PodTemplates returns the warnings for podtemplates.
func PodTemplates() Kind {
	return templated(false, func(t *v1.PodTemplate) []string { return template(&t.Template, field.NewPath("template")) })
}

// StatefulSets returns the warnings for statefulsets.
// Upstream: registry/apps/statefulset WarningsOnCreate and WarningsOnUpdate, v1.37; also for the path of a template of claims, which
// leaves the spec out.
func StatefulSets() Kind {
	return Kind{Write: of(func(set, old *appsv1.StatefulSet) (list []string) {
		if old == nil || set.Generation != old.Generation {
			list = template(&set.Spec.Template, templatePath())
		}
		for i := range set.Spec.VolumeClaimTemplates {
			list = append(list, claimSpec(&set.Spec.VolumeClaimTemplates[i].Spec, field.NewPath("spec", "volumeClaimTemplates").Index(i))...)
		}
		if limit := set.Spec.RevisionHistoryLimit; limit != nil && *limit < 0 {
			list = append(list, "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
		}
		return list
	})}
}

// Jobs returns the warnings for jobs.
func Jobs() Kind {
	return templated(true, func(job *batchv1.Job) []string { return jobSpec(&job.Spec, field.NewPath("spec")) })
}

// Upstream: pkg/api/job/warnings.go WarningsForJobSpec, v1.37.
func jobSpec(spec *batchv1.JobSpec, at *field.Path) (list []string) {
	const manyCompletions, manyAtOnce = 100_000, 10_000
	indexed := spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
	if indexed && spec.Completions != nil && *spec.Completions > manyCompletions && spec.Parallelism != nil && *spec.Parallelism > manyAtOnce {
		list = append(list, at.String()+": In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "+
			"Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	return append(list, template(&spec.Template, at.Child("template"))...)
}

// CronJobs returns the warnings for cronjobs.
// Upstream: registry/batch/cronjob WarningsOnCreate and WarningsOnUpdate, v1.37; also for the path of the schedule.
func CronJobs() Kind {
	kind := templated(true, func(job *batchv1.CronJob) []string {
		return jobSpec(&job.Spec.JobTemplate.Spec, field.NewPath("spec", "jobTemplate", "spec"))
	})
	return Kind{Write: func(obj, old runtime.Object) []string {
		list := kind.Write(obj, old)
		if job := obj.(*batchv1.CronJob); old != nil && strings.Contains(job.Spec.Schedule, "TZ") {
			list = append(list, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, "+
				"see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
		}
		return list
	}}
}
