package openebs

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Delete removes the volume's directory from its node, unless it is to be
// retained.
//
// Upstream: provisioner.go Delete and provisioner_hostpath.go DeleteHostPath.
func (p *hostpathProvisioner) Delete(ctx context.Context, pv *v1.PersistentVolume) error {
	if pv.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimRetain {
		return nil
	}
	if err := p.deleteHostPath(ctx, pv); err != nil {
		return fmt.Errorf("failed to delete volume %s: %w", pv.Name, err)
	}
	return nil
}

// Upstream: provisioner_hostpath.go DeleteHostPath, which says once more what failed.
func (p *hostpathProvisioner) deleteHostPath(ctx context.Context, pv *v1.PersistentVolume) error {
	vol, err := p.volumeOf(ctx, pv)
	if err == nil {
		if err = p.runHelperPod(ctx, p.cleanupPod(vol)); err != nil {
			err = fmt.Errorf("clean up volume %s failed: %w", pv.Name, err)
		}
	}
	if err != nil {
		return fmt.Errorf("failed to delete volume %s: %w", pv.Name, err)
	}
	return nil
}

// volumeOf returns the directory that the volume stands for, on the one node that its
// affinity selects.
func (p *hostpathProvisioner) volumeOf(ctx context.Context, pv *v1.PersistentVolume) (volume, error) {
	dir, err := pathOf(pv)
	if err != nil {
		return volume{}, err
	}
	affinity, err := affinityLabels(pv)
	if err != nil {
		return volume{}, err
	}
	// Read now: its taints may have changed since the volume was made.
	node, err := p.nodeWithLabels(ctx, affinity)
	if err != nil {
		return volume{}, err
	}
	return newVolume(pv.Name, dir, affinity, node.Spec.Taints)
}

// nodeWithLabels returns the one node that has the labels. If there are several,
// removing the directory from any of them could be wrong.
//
// Upstream: provisioner_hostpath.go GetNodeObjectFromLabels.
func (p *hostpathProvisioner) nodeWithLabels(ctx context.Context, want map[string]string) (*v1.Node, error) {
	selector := labels.SelectorFromSet(want).String()
	nodes, err := p.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector})
	switch {
	case err != nil || len(nodes.Items) == 0:
		return nil, fmt.Errorf("Unable to get the Node with the Node Labels {%v}", want)
	case len(nodes.Items) > 1:
		return nil, fmt.Errorf("Unable to determine the Node. Found multiple nodes matching the labels {%v}", want)
	}
	return &nodes.Items[0], nil
}
