package strategy

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// setDefault sets an empty value.
func setDefault[T comparable](value *T, to T) {
	var zero T
	if *value == zero {
		*value = to
	}
}

// setDefaultPtr sets a value that is not there.
func setDefaultPtr[T any](value **T, to T) {
	if *value == nil {
		set := to // so that nothing is allocated where nothing is set
		*value = &set
	}
}

// roundUp raises quantities to the next multiple of 1m, the smallest there is.
func roundUp(list v1.ResourceList) {
	for name, q := range list {
		if !q.RoundUp(resource.Milli) {
			list[name] = q
		}
	}
}

// defaultVolume sets the defaults of a volume.
// Upstream: core/v1 SetDefaults_PersistentVolume, v1.37.
func defaultVolume(pv *v1.PersistentVolume) {
	setDefault(&pv.Status.Phase, v1.VolumePending)
	setDefault(&pv.Spec.PersistentVolumeReclaimPolicy, v1.PersistentVolumeReclaimRetain)
	setDefaultPtr(&pv.Spec.VolumeMode, v1.PersistentVolumeFilesystem)
	defaultVolumeSource(&pv.Spec)
}

// defaultVolumeSource sets those of a volume's sources and of its capacity, which a volume in a VolumeAttachment has, too.
func defaultVolumeSource(spec *v1.PersistentVolumeSpec) {
	roundUp(spec.Capacity)
	if spec.HostPath != nil {
		setDefaultPtr(&spec.HostPath.Type, v1.HostPathUnset)
	}
	if spec.ISCSI != nil {
		setDefault(&spec.ISCSI.ISCSIInterface, "default")
	}
	if spec.RBD != nil {
		defaultRBD(&spec.RBD.RBDPool, &spec.RBD.RadosUser, &spec.RBD.Keyring)
	}
	if spec.AzureDisk != nil {
		defaultAzureDisk(spec.AzureDisk)
	}
	if spec.ScaleIO != nil {
		setDefault(&spec.ScaleIO.StorageMode, "ThinProvisioned")
		setDefault(&spec.ScaleIO.FSType, "xfs")
	}
}

func defaultClaim(claim *v1.PersistentVolumeClaim) {
	defaultClaimSpec(&claim.Spec)
	setDefault(&claim.Status.Phase, v1.ClaimPending)
	roundUp(claim.Status.Capacity)
	roundUp(claim.Status.AllocatedResources)
}

// defaultClaimSpec sets the defaults of claims and of templates of claims.
func defaultClaimSpec(spec *v1.PersistentVolumeClaimSpec) {
	setDefaultPtr(&spec.VolumeMode, v1.PersistentVolumeFilesystem)
	roundUp(spec.Resources.Requests)
	roundUp(spec.Resources.Limits)
}

// Upstream: storage/v1 SetDefaults_CSIDriver, v1.37.
func defaultCSIDriver(spec *storagev1.CSIDriverSpec) {
	setDefaultPtr(&spec.AttachRequired, true)
	setDefaultPtr(&spec.PodInfoOnMount, false)
	setDefaultPtr(&spec.StorageCapacity, false)
	setDefaultPtr(&spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	setDefaultPtr(&spec.RequiresRepublish, false)
	setDefaultPtr(&spec.SELinuxMount, false)
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

// Upstream: core/v1 SetDefaults_NodeStatus, v1.37.
func defaultNode(node *v1.Node) {
	if len(node.Status.Allocatable) == 0 && len(node.Status.Capacity) > 0 {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
	roundUp(node.Status.Capacity)
	roundUp(node.Status.Allocatable)
	canonicalPodCIDRs(&node.Spec)
}

func defaultNamespace(ns *v1.Namespace) {
	setDefault(&ns.Status.Phase, v1.NamespaceActive)
	if ns.Name == "" {
		return // a generated name is not known yet; Create sets the label
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[v1.LabelMetadataName] = ns.Name
}

// defaultSecret also turns the text that clients may write into data.
func defaultSecret(s *v1.Secret) {
	setDefault(&s.Type, v1.SecretTypeOpaque)
	if len(s.StringData) == 0 {
		return
	}
	if s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for key, text := range s.StringData {
		s.Data[key] = []byte(text)
	}
	s.StringData = nil
}

// Upstream: core/v1 SetDefaults_Service, v1.37.
func defaultService(spec *v1.ServiceSpec) {
	setDefault(&spec.Type, v1.ServiceTypeClusterIP)
	setDefault(&spec.SessionAffinity, v1.ServiceAffinityNone)
	switch config := spec.SessionAffinityConfig; {
	case spec.SessionAffinity == v1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case spec.SessionAffinity == v1.ServiceAffinityClientIP && (config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil):
		timeout := v1.DefaultClientIPServiceAffinitySeconds
		spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: &timeout}}
	}
	for i := range spec.Ports {
		port := &spec.Ports[i]
		setDefault(&port.Protocol, v1.ProtocolTCP)
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	if spec.Type == v1.ServiceTypeClusterIP || spec.Type == v1.ServiceTypeNodePort || spec.Type == v1.ServiceTypeLoadBalancer {
		setDefaultPtr(&spec.InternalTrafficPolicy, v1.ServiceInternalTrafficPolicyCluster)
	}
	if spec.Type == v1.ServiceTypeNodePort || spec.Type == v1.ServiceTypeLoadBalancer || spec.Type == v1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0 {
		setDefault(&spec.ExternalTrafficPolicy, v1.ServiceExternalTrafficPolicyCluster)
	}
	if spec.Type == v1.ServiceTypeLoadBalancer {
		setDefaultPtr(&spec.AllocateLoadBalancerNodePorts, true)
	}
}

func defaultRBD(pool, user, keyring *string) {
	setDefault(pool, "rbd")
	setDefault(user, "admin")
	setDefault(keyring, "/etc/ceph/keyring")
}

func defaultAzureDisk(v *v1.AzureDiskVolumeSource) {
	setDefaultPtr(&v.CachingMode, v1.AzureDataDiskCachingReadWrite)
	setDefaultPtr(&v.Kind, v1.AzureSharedBlobDisk)
	setDefaultPtr(&v.FSType, "ext4")
	setDefaultPtr(&v.ReadOnly, false)
}
