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
func (p *Provisioner) Delete(ctx context.Context, pv *v1.PersistentVolume) error {
	if pv.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimRetain {
		return nil
	}
	if err := p.deleteHostPath(ctx, pv); err != nil {
		return fmt.Errorf("failed to delete volume %s: %w", pv.Name, err)
	}
	return nil
}

func (p *Provisioner) deleteHostPath(ctx context.Context, pv *v1.PersistentVolume) error {
	dir, err := pathOf(pv)
	if err != nil {
		return err
	}
	affinity, err := affinityLabels(pv)
	if err != nil {
		return err
	}
	// Read now: its taints may have changed since the volume was made.
	node, err := p.nodeWithLabels(ctx, affinity)
	if err != nil {
		return err
	}
	vol, err := newVolume(pv.Name, dir, affinity, node.Spec.Taints)
	if err != nil {
		return err
	}
	return p.runHelperPod(ctx, p.cleanupPod(vol))
}

// nodeWithLabels is the one node that has the labels. If there are several,
// removing the directory from any of them could be wrong.
//
// Upstream: provisioner_hostpath.go GetNodeObjectFromLabels.
func (p *Provisioner) nodeWithLabels(ctx context.Context, want map[string]string) (*v1.Node, error) {
	selector := labels.SelectorFromSet(want).String()
	nodes, err := p.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector})
	switch {
	case err != nil:
		return nil, err
	case len(nodes.Items) == 0:
		return nil, fmt.Errorf("no node has the labels %s", selector)
	case len(nodes.Items) > 1:
		return nil, fmt.Errorf("unable to determine the node: %d nodes have the labels %s", len(nodes.Items), selector)
	}
	return &nodes.Items[0], nil
}
