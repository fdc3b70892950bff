package localpath

import (
	"errors"
	"fmt"
	"strings"

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
	ownership                  ownership
	size                       int64
	mode                       v1.PersistentVolumeMode
}

// persistentVolume returns the object that stands for the directory.
//
// Upstream: provisioner.go provisionFor, v0.0.37.
func (v volume) persistentVolume(options provisioner.ProvisionOptions) (*v1.PersistentVolume, error) {
	source, err := createPersistentVolumeSource(volumeType(options.StorageClass, options.PVC), v.path)
	if err != nil {
		return nil, fmt.Errorf("failed to create persistent volume source: %w", err)
	}
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
		PersistentVolumeSource:        source,
	}
	if !v.shared {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v.affinityKey, Operator: v1.NodeSelectorOpIn, Values: []string{v.affinityValue}}},
		}}}}
	}
	return pv, nil
}

// createPersistentVolumeSource returns a directory as a volume of that type.
//
// Upstream: provisioner.go createPersistentVolumeSource, v0.0.37.
func createPersistentVolumeSource(volumeType, dir string) (source v1.PersistentVolumeSource, err error) {
	switch {
	case strings.EqualFold(volumeType, volumeTypeLocal):
		source.Local = &v1.LocalVolumeSource{Path: dir}
	case strings.EqualFold(volumeType, volumeTypeHostPath):
		kind := v1.HostPathDirectoryOrCreate
		source.HostPath = &v1.HostPathVolumeSource{Path: dir, Type: &kind}
	default:
		return source, fmt.Errorf("\"%s\" is not a recognised volume type", volumeType)
	}
	return source, nil
}

// pathOf returns the volume's directory.
//
// Upstream: provisioner.go getPathAndNodeForPV, v0.0.37.
func pathOf(pv *v1.PersistentVolume) (string, error) {
	switch local, hostPath := pv.Spec.Local, pv.Spec.HostPath; {
	case hostPath != nil && local == nil:
		return hostPath.Path, nil
	case local != nil && hostPath == nil:
		return local.Path, nil
	}
	return "", errors.New("no path set")
}

// affinityValue returns the value that the volume's affinity asks of a node.
//
// Upstream: provisioner.go getPathAndNodeForPV, v0.0.37.
func affinityValue(pv *v1.PersistentVolume) (string, error) {
	switch {
	case pv.Spec.NodeAffinity == nil:
		return "", errors.New("no NodeAffinity set")
	case pv.Spec.NodeAffinity.Required == nil:
		return "", errors.New("no NodeAffinity.Required set")
	}
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			switch {
			case e.Operator != v1.NodeSelectorOpIn:
			case len(e.Values) != 1:
				return "", errors.New("multiple values for the node affinity")
			case e.Values[0] != "":
				return e.Values[0], nil
			}
		}
	}
	return "", errors.New("cannot find affinited node")
}
