package localpath

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/provisioner"
)

// AnnSelectedNode is the node's name, on the volume that was made there.
const AnnSelectedNode = "local.path.provisioner/selected-node"

// volume is a directory on a node.
type volume struct {
	name string // of the PersistentVolume
	path string // of the directory
	// node is the node's name; a shared volume may have none.
	node   string
	shared bool
	// affinityKey and affinityValue are the node's label, unless it is shared.
	affinityKey, affinityValue string
	kind                       string // volumeTypeLocal or volumeTypeHostPath
	size                       int64
	mode                       v1.PersistentVolumeMode
}

// persistentVolume is the object that stands for the directory.
//
// Upstream: provisioner.go provisionFor and createPersistentVolumeSource,
// v0.0.37.
func (v volume) persistentVolume(options provisioner.ProvisionOptions) *v1.PersistentVolume {
	policy := v1.PersistentVolumeReclaimDelete
	if options.StorageClass.ReclaimPolicy != nil {
		policy = *options.StorageClass.ReclaimPolicy
	}
	mode := v1.PersistentVolumeFilesystem
	pv := &v1.PersistentVolume{}
	pv.Name = v.name
	pv.Annotations = map[string]string{AnnSelectedNode: v.node}
	pv.Spec = v1.PersistentVolumeSpec{
		PersistentVolumeReclaimPolicy: policy,
		AccessModes:                   options.PVC.Spec.AccessModes,
		VolumeMode:                    &mode,
		Capacity:                      v1.ResourceList{v1.ResourceStorage: options.PVC.Spec.Resources.Requests[v1.ResourceStorage]},
	}
	if v.kind == volumeTypeLocal {
		pv.Spec.Local = &v1.LocalVolumeSource{Path: v.path}
	} else {
		kind := v1.HostPathDirectoryOrCreate
		pv.Spec.HostPath = &v1.HostPathVolumeSource{Path: v.path, Type: &kind}
	}
	if !v.shared {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v.affinityKey, Operator: v1.NodeSelectorOpIn, Values: []string{v.affinityValue}}},
		}}}}
	}
	return pv
}

// pathOf is the volume's directory.
func pathOf(pv *v1.PersistentVolume) (string, error) {
	switch local, hostPath := pv.Spec.Local, pv.Spec.HostPath; {
	case local != nil && hostPath == nil && local.Path != "":
		return local.Path, nil
	case hostPath != nil && local == nil && hostPath.Path != "":
		return hostPath.Path, nil
	}
	return "", errors.New("no path set: it must have a local or a hostPath source")
}

// affinityValue is the value that the volume's affinity asks of a node.
//
// Upstream: provisioner.go getPathAndNodeForPV, v0.0.37.
func affinityValue(pv *v1.PersistentVolume) (string, error) {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return "", errors.New("no NodeAffinity.Required set")
	}
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			if e.Operator != v1.NodeSelectorOpIn {
				continue
			}
			if len(e.Values) != 1 {
				return "", fmt.Errorf("%d values for the node affinity on %s; it must be one", len(e.Values), e.Key)
			}
			return e.Values[0], nil
		}
	}
	return "", errors.New("cannot find affinited node")
}
