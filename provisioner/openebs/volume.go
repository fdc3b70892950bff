package openebs

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/provisioner"
)

// volume is a directory on a node.
type volume struct {
	name string // of the PersistentVolume
	// parent/dir is the directory.
	parent, dir string
	// labels pick its node.
	labels map[string]string
	// taints of that node are tolerated by helper pods.
	taints []v1.Taint
	// mode is the directory's mode, owner its owner and group, "uid:gid"; quota is its limit, nil
	// without one.
	mode, owner string
	quota       *quota
}

func newVolume(name, path string, labels map[string]string, taints []v1.Taint) (volume, error) {
	parent, dir, err := extractSubPath(path)
	return volume{name: name, parent: parent, dir: dir, labels: labels, taints: taints, mode: defaultMode}, err
}

// persistentVolume returns the object that stands for the directory.
//
// Upstream: provisioner_hostpath.go ProvisionHostPath.
func (v volume) persistentVolume(options provisioner.ProvisionOptions) *v1.PersistentVolume {
	policy := v1.PersistentVolumeReclaimDelete
	if options.StorageClass.ReclaimPolicy != nil {
		policy = *options.StorageClass.ReclaimPolicy
	}
	// Always, whatever the claim says.
	mode := v1.PersistentVolumeFilesystem
	// Empty, not absent, as in upstream's volumes.
	fsType := ""

	pv := &v1.PersistentVolume{}
	pv.Name = v.name
	pv.Labels = map[string]string{"openebs.io/cas-type": "local-hostpath"}
	pv.Spec = v1.PersistentVolumeSpec{
		PersistentVolumeReclaimPolicy: policy,
		AccessModes:                   options.PVC.Spec.AccessModes,
		VolumeMode:                    &mode,
		Capacity:                      v1.ResourceList{v1.ResourceStorage: options.PVC.Spec.Resources.Requests[v1.ResourceStorage]},
		PersistentVolumeSource:        v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: v.parent + "/" + v.dir, FSType: &fsType}},
		NodeAffinity:                  &v1.VolumeNodeAffinity{Required: nodeSelector(v.labels)},
	}
	return pv
}

// nodeSelector asks for every label, in order of key.
func nodeSelector(labels map[string]string) *v1.NodeSelector {
	var term v1.NodeSelectorTerm
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		term.MatchExpressions = append(term.MatchExpressions, v1.NodeSelectorRequirement{
			Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{labels[key]},
		})
	}
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}
}

// affinityLabels returns the labels that nodeSelector made the volume's affinity of.
//
// Upstream: pkg/kubernetes/api/core/v1/persistentvolume GetAffinitedNodeLabels.
func affinityLabels(pv *v1.PersistentVolume) (map[string]string, error) {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil || len(pv.Spec.NodeAffinity.Required.NodeSelectorTerms) == 0 {
		return nil, errors.New("cannot find affinited node details")
	}
	terms := pv.Spec.NodeAffinity.Required.NodeSelectorTerms
	if len(terms) != 1 || len(terms[0].MatchFields) > 0 || len(terms[0].MatchExpressions) == 0 {
		return nil, fmt.Errorf("volume %s: node affinity must be one term of label expressions", pv.Name)
	}
	labels := map[string]string{}
	for _, e := range terms[0].MatchExpressions {
		if e.Operator != v1.NodeSelectorOpIn || len(e.Values) != 1 {
			return nil, fmt.Errorf("volume %s: node affinity on %s is %s %v; it must be In one value", pv.Name, e.Key, e.Operator, e.Values)
		}
		labels[e.Key] = e.Values[0]
	}
	return labels, nil
}
