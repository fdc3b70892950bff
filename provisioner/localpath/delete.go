package localpath

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/trace"
)

// Delete removes the volume's directory from its node, unless it is to be
// retained or the node is gone.
//
// Upstream: provisioner.go Delete, v0.0.37.
func (p *localPathProvisioner) Delete(ctx context.Context, pv *v1.PersistentVolume) error {
	config, template, err := p.configuration(ctx)
	if err != nil {
		return err
	}
	class, err := config.pickConfig(pv.Spec.StorageClassName)
	if err != nil {
		return err
	}
	if err := p.deleteFor(ctx, pv, config, class, template); err != nil {
		return fmt.Errorf("failed to delete volume %s: %w", pv.Name, err)
	}
	return nil
}

// Upstream: provisioner.go deleteFor, v0.0.37.
func (p *localPathProvisioner) deleteFor(ctx context.Context, pv *v1.PersistentVolume, config *pathConfig, class classConfig, template *v1.Pod) error {
	vol, err := p.volumeOf(pv, class)
	if err != nil {
		return fmt.Errorf("failed to delete volume %s: %w", pv.Name, err)
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimRetain {
		return nil
	}
	if vol.node != "" {
		_, err := p.client.CoreV1().Nodes().Get(ctx, vol.node, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			p.env.Trace(trace.Decision{
				About: trace.RefOf("PersistentVolume", pv),
				Text:  fmt.Sprintf("node %s does not exist, so cleanup of %s is skipped", vol.node, vol.path),
			})
			return nil
		}
	}
	return p.createHelperPod(ctx, actionDelete, config, template, vol)
}

// volumeOf returns the directory that the volume stands for, and its node.
//
// Upstream: provisioner.go getPathAndNodeForPV, v0.0.37.
func (p *localPathProvisioner) volumeOf(pv *v1.PersistentVolume, class classConfig) (vol volume, err error) {
	vol = volume{name: pv.Name, mode: v1.PersistentVolumeFilesystem}
	if vol.path, err = pathOf(pv); err != nil {
		return volume{}, err
	}
	if vol.shared, err = class.isSharedFilesystem(); err != nil {
		return volume{}, err
	}
	if !vol.shared {
		if vol.node, err = p.nodeOf(pv); err != nil {
			return volume{}, err
		}
	}
	if size, ok := pv.Spec.Capacity[v1.ResourceStorage]; ok {
		vol.size = size.Value()
	}
	if pv.Spec.VolumeMode != nil {
		vol.mode = *pv.Spec.VolumeMode
	}
	return vol, nil
}

// nodeOf returns the name of the volume's node. Upstream takes the value of the
// affinity for it, which is a label's.
func (p *localPathProvisioner) nodeOf(pv *v1.PersistentVolume) (string, error) {
	value, err := affinityValue(pv)
	if node := pv.Annotations[AnnSelectedNode]; err == nil && p.cfg.DeleteOnSelectedNode && node != "" {
		return node, nil
	}
	return value, err
}
