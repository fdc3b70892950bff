package validation

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// The kinds of Kubernetes of which more than the metadata is validated.
// Upstream: Validate and ValidateUpdate of each kind's strategies, v1.37.

// Claims returns the validation of persistentvolumeclaims.
func Claims() Kind {
	return rules[*v1.PersistentVolumeClaim]{
		again:  true,
		create: func(p *problems, claim *v1.PersistentVolumeClaim) { p.claimSpec(&claim.Spec, specPath, nil) },
		update: (*problems).claimUpdate,
		status: func(p *problems, claim, _ *v1.PersistentVolumeClaim) { p.claimStatus(claim) },
	}.kind()
}

// Volumes returns the validation of persistentvolumes.
func Volumes() Kind {
	return rules[*v1.PersistentVolume]{again: true, create: (*problems).volume, update: (*problems).volumeUpdate}.kind()
}

// Pods returns the validation of pods.
func Pods() Kind {
	return rules[*v1.Pod]{
		again: true, create: (*problems).newPod, update: (*problems).podUpdate, status: (*problems).podStatus,
	}.kind()
}

// Events returns the validation of events of the core group.
func Events() Kind { return rules[*v1.Event]{create: (*problems).event}.kind() }

// StorageClasses returns the validation of storageclasses.
func StorageClasses() Kind {
	return rules[*storagev1.StorageClass]{
		again: true, create: (*problems).storageClass, update: (*problems).storageClassUpdate,
	}.kind()
}

// VolumeAttributesClasses returns the validation of volumeattributesclasses.
func VolumeAttributesClasses() Kind {
	return rules[*storagev1.VolumeAttributesClass]{
		again: true, create: (*problems).attributesClass, update: (*problems).attributesClassUpdate,
	}.kind()
}

// VolumeAttachments returns the validation of volumeattachments.
func VolumeAttachments() Kind {
	return rules[*storagev1.VolumeAttachment]{
		again: true, create: (*problems).attachment, update: (*problems).attachmentUpdate,
		status: func(p *problems, va, old *storagev1.VolumeAttachment) {
			p.prefixAgain(va, DNSSubdomain)
			p.attachmentUpdate(va, old)
		},
	}.kind()
}

// CSIDrivers returns the validation of csidrivers.
func CSIDrivers() Kind {
	return rules[*storagev1.CSIDriver]{
		create: func(p *problems, driver *storagev1.CSIDriver) { p.csiDriver(&driver.Spec) },
		update: (*problems).csiDriverUpdate,
	}.kind()
}

// CSINodes returns the validation of csinodes.
func CSINodes() Kind {
	return rules[*storagev1.CSINode]{again: true, create: (*problems).csiNode, update: (*problems).csiNodeUpdate}.kind()
}

// CSIStorageCapacities returns the validation of csistoragecapacities.
func CSIStorageCapacities() Kind {
	return rules[*storagev1.CSIStorageCapacity]{
		again: true, create: (*problems).storageCapacity, update: (*problems).storageCapacityUpdate,
	}.kind()
}

// Nodes returns the validation of nodes.
func Nodes() Kind {
	return rules[*v1.Node]{
		again: true, create: (*problems).node, status: (*problems).nodeUpdate,
		update: func(p *problems, node, old *v1.Node) {
			p.node(node)
			p.nodeUpdate(node, old)
		},
	}.kind()
}

// Namespaces returns the validation of namespaces.
func Namespaces() Kind {
	return rules[*v1.Namespace]{
		names: DNSLabel, again: true,
		create: func(p *problems, ns *v1.Namespace) { p.namespaceFinalizers(ns.Spec.Finalizers) },
		status: (*problems).namespaceStatus,
	}.kind()
}

// ConfigMaps returns the validation of configmaps.
func ConfigMaps() Kind {
	return rules[*v1.ConfigMap]{again: true, create: (*problems).configMap, update: (*problems).configMapUpdate}.kind()
}

// Secrets returns the validation of secrets.
func Secrets() Kind {
	return rules[*v1.Secret]{again: true, create: (*problems).secret, update: (*problems).secretUpdate}.kind()
}

// StatefulSets returns the validation of statefulsets.
func StatefulSets() Kind {
	return rules[*appsv1.StatefulSet]{
		names:  DNSLabel,
		create: func(p *problems, set *appsv1.StatefulSet) { p.statefulSet(set, nil) },
		update: (*problems).statefulSetUpdate, status: (*problems).statefulSetStatus,
	}.kind()
}

// Deployments returns the validation of deployments.
func Deployments() Kind {
	return rules[*appsv1.Deployment]{
		create: (*problems).deployment,
		update: func(p *problems, d, old *appsv1.Deployment) {
			p.deployment(d)
			p.immutable(d.Spec.Selector, old.Spec.Selector, specPath.Child("selector"))
		},
		status: (*problems).deploymentStatus,
	}.kind()
}

// DaemonSets returns the validation of daemonsets.
func DaemonSets() Kind {
	return rules[*appsv1.DaemonSet]{
		create: (*problems).daemonSet,
		update: func(p *problems, set, old *appsv1.DaemonSet) {
			p.daemonSet(set)
			p.immutable(set.Spec.Selector, old.Spec.Selector, specPath.Child("selector"))
		},
	}.kind()
}

// ReplicaSets returns the validation of replicasets.
func ReplicaSets() Kind {
	return rules[*appsv1.ReplicaSet]{
		create: (*problems).replicaSet,
		update: func(p *problems, set, old *appsv1.ReplicaSet) {
			p.replicaSet(set)
			p.immutable(set.Spec.Selector, old.Spec.Selector, specPath.Child("selector"))
		},
	}.kind()
}

// Jobs returns the validation of jobs.
func Jobs() Kind {
	return rules[*batchv1.Job]{create: (*problems).job, update: (*problems).jobUpdate, status: (*problems).jobStatus}.kind()
}

// Roles returns those of rbac.authorization.k8s.io, and their bindings. Only their metadata are
// validated.
func Roles() Kind { return Kind{Names: PathSegment} }
