package provisioner

import (
	"maps"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

// provisionerIDKey is an attribute of volumes: the identity of the provisioner's life that created the volume.
const provisionerIDKey = "storage.kubernetes.io/csiProvisionerIdentity"

// Annotations of volumes that name secrets of calls to come.
const (
	annDeletionSecretName      = "volume.kubernetes.io/provisioner-deletion-secret-name"
	annDeletionSecretNamespace = "volume.kubernetes.io/provisioner-deletion-secret-namespace"
	annModifySecretName        = "volume.kubernetes.io/controller-modify-secret-name"
	annModifySecretNamespace   = "volume.kubernetes.io/controller-modify-secret-namespace"
)

// persistentVolume returns the object for the volume of an answer.
//
// Upstream: controller.go Provision, v6.4.
func (p *csiProvisioner) persistentVolume(options provisioner.ProvisionOptions, result *prepareProvisionResult, made *csi.Volume) *v1.PersistentVolume {
	claim := options.PVC
	source := result.source
	source.VolumeHandle = made.GetVolumeId()
	source.VolumeAttributes = map[string]string{provisionerIDKey: p.identity}
	maps.Copy(source.VolumeAttributes, made.GetVolumeContext())
	source.ReadOnly = p.cfg.ControllerPublishReadOnly && onlyReaders(result.req.GetVolumeCapabilities())
	if !wantsBlock(claim) {
		source.FSType = result.fsType
	}
	size := made.GetCapacityBytes()
	if size == 0 { // unknown to the driver
		size = result.req.GetCapacityRange().GetRequiredBytes()
	}
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: result.req.GetName()},
		Spec: v1.PersistentVolumeSpec{
			AccessModes:            claim.Spec.AccessModes,
			MountOptions:           options.StorageClass.MountOptions,
			Capacity:               v1.ResourceList{v1.ResourceStorage: *resource.NewQuantity(size, resource.BinarySI)},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: source},
			VolumeMode:             claim.Spec.VolumeMode,
		},
	}
	annotateSecrets(pv, result)
	if policy := options.StorageClass.ReclaimPolicy; policy != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *policy
	}
	if p.supportsTopology() {
		pv.Spec.NodeAffinity = GenerateVolumeNodeAffinity(made.GetAccessibleTopology())
	}
	if attributesClass(claim) != "" {
		pv.Spec.VolumeAttributesClassName = claim.Spec.VolumeAttributesClassName
	}
	return pv
}

// annotateSecrets writes the references to the secrets for deletion and modification. Without a secret for deletion,
// these annotations are empty.
func annotateSecrets(pv *v1.PersistentVolume, result *prepareProvisionResult) {
	deletion := result.deletion
	if deletion == nil {
		deletion = &v1.SecretReference{}
	}
	metav1.SetMetaDataAnnotation(&pv.ObjectMeta, annDeletionSecretName, deletion.Name)
	metav1.SetMetaDataAnnotation(&pv.ObjectMeta, annDeletionSecretNamespace, deletion.Namespace)
	if result.modify != nil {
		metav1.SetMetaDataAnnotation(&pv.ObjectMeta, annModifySecretName, result.modify.Name)
		metav1.SetMetaDataAnnotation(&pv.ObjectMeta, annModifySecretNamespace, result.modify.Namespace)
	}
}

// onlyReaders reports whether all capabilities are for readers on many nodes.
func onlyReaders(capabilities []*csi.VolumeCapability) bool {
	return len(capabilities) == 1 && capabilities[0].GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
}

// GenerateVolumeNodeAffinity returns the node affinity of a volume: a node must have all segments of
// one of the topologies. Without topologies it returns nil.
//
// Upstream: topology.go GenerateVolumeNodeAffinity, v6.4.
func GenerateVolumeNodeAffinity(accessible []*csi.Topology) *v1.VolumeNodeAffinity {
	if len(accessible) == 0 {
		return nil
	}
	var terms []v1.NodeSelectorTerm
	for _, topology := range accessible {
		var expressions []v1.NodeSelectorRequirement
		for _, key := range slices.Sorted(maps.Keys(topology.GetSegments())) {
			expressions = append(expressions, v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{topology.GetSegments()[key]}})
		}
		if len(expressions) > 0 {
			terms = append(terms, v1.NodeSelectorTerm{MatchExpressions: expressions})
		}
	}
	return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: terms}}
}
