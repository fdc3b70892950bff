package strategy

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/semantic"
)

// The kinds of Kubernetes that are not stored as they come.
// Upstream: the defaults and strategies of each kind, v1.37.

// Claims returns the defaults and preparation of persistentvolumeclaims.
func Claims() Kind { return claims(false) }

// ClaimsAcrossNamespaces returns the defaults and preparation of persistentvolumeclaims in a server with the feature gate
// CrossNamespaceVolumeDataSource (alpha in v1.37): dataSourceRef may name another namespace.
func ClaimsAcrossNamespaces() Kind { return claims(true) }

func claims(across bool) Kind {
	return Of[*v1.PersistentVolumeClaim]{
		Default: defaultClaim,
		Create: func(claim *v1.PersistentVolumeClaim, _ metav1.Time) {
			claim.Status = v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending}
			prepareDataSources(&claim.Spec, nil, across)
		},
		Undefaulted: func(*v1.PersistentVolumeClaim) bool { return true }, // the phase
		Update:      func(claim, old *v1.PersistentVolumeClaim) { prepareDataSources(&claim.Spec, &old.Spec, across) },
		UpdateStatus: func(claim, _ *v1.PersistentVolumeClaim, _ metav1.Time) {
			claim.Status.HealthStatus = nil // behind a feature gate
		},
	}.Kind()
}

// Volumes returns the defaults and preparation of persistentvolumes.
func Volumes() Kind {
	return Of[*v1.PersistentVolume]{
		Default: defaultVolume,
		Create: func(volume *v1.PersistentVolume, now metav1.Time) {
			volume.Status = v1.PersistentVolumeStatus{Phase: v1.VolumePending, LastPhaseTransitionTime: &now}
		},
		UpdateStatus: func(volume, old *v1.PersistentVolume, now metav1.Time) { stampPhase(&volume.Status, &old.Status, now) },
	}.Kind()
}

// Pods returns the defaults and preparation of pods.
func Pods() Kind {
	k := Of[*v1.Pod]{
		Default: func(pod *v1.Pod) {
			defaultPod(pod)
			canonicalPod(pod)
		},
		Create: func(pod *v1.Pod, now metav1.Time) {
			DefaultPodResources(pod)
			pod.Status = newPodStatus(&pod.Spec, pod.Status.QOSClass, now)
			dropDisabledPodFields(&pod.Spec)
			mergeLabelKeys(pod)
		},
		Update: func(pod, old *v1.Pod) {
			KeepPodResources(&pod.Spec, &old.Spec)
			keepAdmitted(&pod.Spec, &old.Spec)
			dropDisabledPodFields(&pod.Spec)
		},
		UpdateStatus: func(pod, old *v1.Pod, _ metav1.Time) {
			setDefault(&pod.Status.QOSClass, old.Status.QOSClass)
			keepObservedGeneration(&pod.Status, &old.Status)
			pod.Status.NodeAllocatableResourceClaimStatuses, pod.Status.VolumeHealth = nil, nil // behind feature gates
			for _, list := range [...][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses} {
				for i := range list {
					for j := range list[i].VolumeMounts {
						list[i].VolumeMounts[j].VolumeStatus = nil // behind the feature gate ImageVolumeWithDigest
					}
				}
			}
		},
	}.Kind()
	k.KeepStatus = true // of which Create reads the quality of service
	return k
}

// Nodes returns the defaults and preparation of nodes.
func Nodes() Kind {
	k := Of[*v1.Node]{
		Default: defaultNode,
		Create: func(node *v1.Node, _ metav1.Time) { // a feature that was given up
			node.Spec.ConfigSource, node.Status.Config = nil, nil //nolint:staticcheck // deprecated, and dropped
			node.Spec.PodPreemptionPolicy = nil                   // behind a feature gate
		},
		Update: func(node, _ *v1.Node) {
			node.Spec.ConfigSource = nil //nolint:staticcheck // deprecated, and dropped
			node.Spec.PodPreemptionPolicy = nil
		},
		UpdateStatus: func(node, _ *v1.Node, _ metav1.Time) { node.Status.Config = nil },
	}.Kind()
	k.KeepStatus = true // a kubelet registers its node complete
	return k
}

// Namespaces returns the defaults and preparation of namespaces. Their finalizers have a subresource of their own.
func Namespaces() Kind {
	return Of[*v1.Namespace]{
		Default: defaultNamespace,
		Create: func(ns *v1.Namespace, _ metav1.Time) {
			ns.Status.Phase = v1.NamespaceActive
			if !slices.Contains(ns.Spec.Finalizers, v1.FinalizerKubernetes) {
				ns.Spec.Finalizers = append(ns.Spec.Finalizers, v1.FinalizerKubernetes)
			}
			defaultNamespace(ns)
		},
		Update: func(ns, old *v1.Namespace) { ns.Spec.Finalizers = old.Spec.Finalizers },
	}.Kind()
}

// ServiceAccounts returns the preparation of serviceaccounts: of a secret only the name is kept.
// Upstream: registry/core/serviceaccount strategy.cleanSecretReferences, v1.37.2.
func ServiceAccounts() Kind {
	clean := func(account *v1.ServiceAccount) {
		for i, secret := range account.Secrets {
			account.Secrets[i] = v1.ObjectReference{Name: secret.Name}
		}
	}
	return Of[*v1.ServiceAccount]{
		Create: func(account *v1.ServiceAccount, _ metav1.Time) { clean(account) },
		Update: func(account, _ *v1.ServiceAccount) { clean(account) },
	}.Kind()
}

// Leases returns the preparation of leases: how a leader is chosen is behind the feature gate CoordinatedLeaderElection.
// Upstream: registry/coordination/lease strategy, v1.37.2.
func Leases() Kind {
	return Of[*coordinationv1.Lease]{
		Create: func(lease *coordinationv1.Lease, _ metav1.Time) {
			lease.Spec.Strategy, lease.Spec.PreferredHolder = nil, nil
		},
		Update: func(lease, _ *coordinationv1.Lease) { lease.Spec.Strategy, lease.Spec.PreferredHolder = nil, nil },
	}.Kind()
}

// Secrets returns the defaults and preparation of secrets.
func Secrets() Kind { return Of[*v1.Secret]{Default: defaultSecret}.Kind() }

// Services returns the defaults and preparation of services.
func Services() Kind {
	return Of[*v1.Service]{Default: func(service *v1.Service) {
		defaultService(&service.Spec)
		if service.Spec.Type == v1.ServiceTypeLoadBalancer {
			for i := range service.Status.LoadBalancer.Ingress {
				if point := &service.Status.LoadBalancer.Ingress[i]; point.IP != "" {
					setDefaultPtr(&point.IPMode, v1.LoadBalancerIPModeVIP)
				}
			}
		}
	}}.Kind()
}

// StorageClasses returns the defaults and preparation of storageclasses.
func StorageClasses() Kind {
	return Of[*storagev1.StorageClass]{Default: func(class *storagev1.StorageClass) {
		setDefaultPtr(&class.ReclaimPolicy, v1.PersistentVolumeReclaimDelete)
		setDefaultPtr(&class.VolumeBindingMode, storagev1.VolumeBindingImmediate)
	}}.Kind()
}

// CSIDrivers returns the defaults and preparation of csidrivers.
func CSIDrivers() Kind {
	return Of[*storagev1.CSIDriver]{Default: func(driver *storagev1.CSIDriver) {
		defaultCSIDriver(&driver.Spec)
		setDefaultPtr(&driver.Spec.PreventPodSchedulingIfMissing, false)
	}}.Kind()
}

// CSINodes returns the defaults and preparation of csinodes.
func CSINodes() Kind {
	return Of[*storagev1.CSINode]{Default: canonicalCSINode, UpdateStatus: func(node, old *storagev1.CSINode, _ metav1.Time) {
		status := node.Status
		*node = *old
		node.Status = status
	}}.Kind()
}

// VolumeAttachments returns the defaults and preparation of volumeattachments.
func VolumeAttachments() Kind {
	return Of[*storagev1.VolumeAttachment]{
		Default: func(va *storagev1.VolumeAttachment) {
			if inline := va.Spec.Source.InlineVolumeSpec; inline != nil {
				defaultVolumeSource(inline)
			}
		},
	}.Kind()
}

// StatefulSets returns the defaults and preparation of statefulsets.
func StatefulSets() Kind {
	return workload(func(set *appsv1.StatefulSet) { defaultStatefulSet(&set.Spec) })
}

// Deployments returns the defaults and preparation of deployments.
func Deployments() Kind {
	return workload(func(d *appsv1.Deployment) { defaultDeployment(&d.Spec) })
}

// DaemonSets returns the defaults and preparation of daemonsets.
func DaemonSets() Kind {
	return Of[*appsv1.DaemonSet]{
		Default: func(set *appsv1.DaemonSet) { defaultDaemonSet(&set.Spec) },
		Create: func(set *appsv1.DaemonSet, _ metav1.Time) {
			dropDisabledPodFields(&set.Spec.Template.Spec)
			setTemplateGeneration(set, max(templateGeneration(set), 1))
		},
		Update: func(set, old *appsv1.DaemonSet) {
			dropDisabledPodFields(&set.Spec.Template.Spec)
			n := templateGeneration(old)
			if !semantic.Equal(&set.Spec.Template, &old.Spec.Template) {
				n++
			}
			setTemplateGeneration(set, n)
		},
	}.Kind()
}

// ReplicaSets returns the defaults and preparation of replicasets.
func ReplicaSets() Kind {
	return workload(func(set *appsv1.ReplicaSet) {
		setDefaultPtr(&set.Spec.Replicas, 1)
		defaultPodSpec(&set.Spec.Template.Spec)
	})
}

// Jobs returns the defaults and preparation of jobs.
func Jobs() Kind {
	return Of[*batchv1.Job]{
		Default: func(job *batchv1.Job) {
			defaultJob(&job.Spec)
			labelJob(job)
		},
		Create: func(job *batchv1.Job, _ metav1.Time) {
			dropDisabledPodFields(&job.Spec.Template.Spec)
			job.Spec.Scheduling = nil // behind the feature gate WorkloadWithJob
			if !*job.Spec.ManualSelector {
				generateSelector(job)
			}
			labelJob(job) // with the labels that were just made: what is read has the defaults, too
		},
		Undefaulted: func(job *batchv1.Job) bool {
			return !*job.Spec.ManualSelector && maps.Equal(job.Labels, job.Spec.Template.Labels)
		},
		Update: func(job, old *batchv1.Job) {
			dropDisabledPodFields(&job.Spec.Template.Spec)
			job.Spec.Scheduling = old.Spec.Scheduling // behind a feature gate
		},
	}.Kind()
}

// labelJob gives a Job without labels those of its pods.
// Upstream: batch/v1 SetDefaults_Job, v1.37.
func labelJob(job *batchv1.Job) {
	if len(job.Labels) == 0 {
		job.Labels = maps.Clone(job.Spec.Template.Labels)
	}
}

// workload returns a kind with a template of pods.
func workload[T runtime.Object](setDefaults func(T)) Kind {
	return Of[T]{
		Default: setDefaults,
		Create:  func(obj T, _ metav1.Time) { dropDisabledPodFields(&PodTemplate(obj).Spec) },
		Update:  func(obj, _ T) { dropDisabledPodFields(&PodTemplate(obj).Spec) },
	}.Kind()
}
