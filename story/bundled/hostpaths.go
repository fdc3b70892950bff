package bundled

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/provisioner"
)

// hostPaths provisions hostPath volumes. The kubelets make the directories. If a node was selected, the volume belongs to it.
type hostPaths struct {
	cluster *storagesim.Cluster
	name    string
}

var _ provisioner.Provisioner = hostPaths{}

// dir returns the directory of a volume.
func (h hostPaths) dir(volume string) string { return path.Join("/var/lib/storagesim", h.name, volume) }

// Provision returns the volume.
func (h hostPaths) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if source := options.PVC.Spec.DataSourceRef; source != nil {
		return nil, provisioner.ProvisioningFinished, fmt.Errorf("a stand-in for %s cannot fill a volume from %s %q", h.name, source.Kind, source.Name)
	}
	policy, create := v1.PersistentVolumeReclaimDelete, v1.HostPathDirectoryOrCreate
	if options.StorageClass.ReclaimPolicy != nil {
		policy = *options.StorageClass.ReclaimPolicy
	}
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: policy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: options.PVC.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource:        v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: h.dir(options.PVName), Type: &create}},
		},
	}
	if node := options.SelectedNodeName; node != "" {
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
		}}}}
	}
	return volume, provisioner.ProvisioningFinished, nil
}

// Delete removes the volume's directory on each node.
func (h hostPaths) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	var errs []error
	for _, name := range h.cluster.Lab().Machines() {
		if !strings.HasPrefix(name, string(machine.Node)+"/") {
			continue
		}
		disk, err := h.cluster.Machine(name).Disk()
		if err == nil {
			err = disk.RemoveAll(h.dir(volume.Name))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
