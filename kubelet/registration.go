package kubelet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/volume"
)

// How often a write about a driver is tried, and how long after which failure, without
// upstream's random part.
//
// Upstream: nodeinfomanager.go updateBackoff, v1.36.
const (
	updateSteps    = 4
	updateDuration = 10 * time.Millisecond
	updateFactor   = 5
)

// watchRegistrations has the plugins that drivers register with begin to watch for them.
func (k *kubelet) watchRegistrations() {
	for _, plugin := range k.volumes.RegistrationPlugins() {
		plugin.WatchRegistrations(k.env, nodeInfoManager{k})
	}
}

// nodeInfoManager writes about the node's drivers to the API.
//
// Upstream: nodeinfomanager.go nodeInfoManager, v1.36.
type nodeInfoManager struct{ k *kubelet }

// InstallCSIDriver implements volume.NodeInfoManager.
//
// Upstream: nodeinfomanager.go InstallCSIDriver, v1.36.
func (m nodeInfoManager) InstallCSIDriver(ctx context.Context, d volume.CSINodeDriver) error {
	if d.NodeID == "" {
		return errors.New("error adding CSI driver node info: driverNodeID must not be empty")
	}
	if err := m.retry(ctx, "node", func() error { return m.k.installInNode(ctx, d) }); err != nil {
		return fmt.Errorf("error updating Node object with CSI driver node info: %w", err)
	}
	if err := m.retry(ctx, "CSINode", func() error { return m.k.installInCSINode(ctx, d) }); err != nil {
		return fmt.Errorf("error updating CSINode object with CSI driver node info: %w", err)
	}
	return nil
}

// UpdateCSIDriver implements volume.NodeInfoManager.
//
// Upstream: nodeinfomanager.go UpdateCSIDriver, v1.36.
func (m nodeInfoManager) UpdateCSIDriver(ctx context.Context, d volume.CSINodeDriver) error {
	if err := m.retry(ctx, "CSINode", func() error { return m.k.installInCSINode(ctx, d) }); err != nil {
		return fmt.Errorf("error updating CSINode object with CSI driver node info: %w", err)
	}
	return nil
}

// UninstallCSIDriver implements volume.NodeInfoManager.
//
// Upstream: nodeinfomanager.go UninstallCSIDriver, v1.36.
func (m nodeInfoManager) UninstallCSIDriver(ctx context.Context, name string) error {
	if err := m.retry(ctx, "CSINode", func() error { return m.k.uninstallFromCSINode(ctx, name) }); err != nil {
		return fmt.Errorf("error uninstalling CSI driver from CSINode object %w", err)
	}
	if err := m.retry(ctx, "node", func() error { return m.k.removeFromNode(ctx, name) }); err != nil {
		return fmt.Errorf("error removing CSI driver node info from Node object %w", err)
	}
	return nil
}

// retry tries a write a few times, since others write the same objects.
//
// Upstream: nodeinfomanager.go updateNode and updateCSINode, v1.36.
func (m nodeInfoManager) retry(ctx context.Context, what string, write func() error) error {
	var errs []error
	wait := updateDuration
	for step := range updateSteps {
		err := write()
		if err == nil {
			return nil
		}
		errs = append(errs, err)
		if step == updateSteps-1 {
			break
		}
		if err := m.k.env.Sleep(ctx, wait); err != nil {
			return err
		}
		wait *= updateFactor
	}
	return fmt.Errorf("error updating %s: timed out waiting for the condition; caused by: %w", what, errors.Join(errs...))
}

// uninstallFromCSINode takes a driver off the list.
//
// Upstream: nodeinfomanager.go tryUninstallDriverFromCSINode, v1.36.
func (k *kubelet) uninstallFromCSINode(ctx context.Context, name string) error {
	csiNodes := k.env.Client().StorageV1().CSINodes()
	old, err := csiNodes.Get(ctx, k.node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	csiNode := old.DeepCopy()
	csiNode.Spec.Drivers = slices.DeleteFunc(csiNode.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == name })
	if len(csiNode.Spec.Drivers) == len(old.Spec.Drivers) {
		return nil
	}
	_, err = csiNodes.Update(ctx, csiNode, metav1.UpdateOptions{})
	return err
}

// removeFromNode takes a driver's name for the node away. Its topology labels stay.
//
// Upstream: nodeinfomanager.go removeNodeIDFromNode, v1.36.
func (k *kubelet) removeFromNode(ctx context.Context, name string) error {
	old, err := k.env.Client().CoreV1().Nodes().Get(ctx, k.node.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	ids, err := driverIDs(old)
	if err != nil {
		return err
	}
	delete(ids, name)
	node := old.DeepCopy()
	if err := setDriverIDs(node, ids); err != nil {
		return err
	}
	_, err = k.patchNode(ctx, old, node)
	return err
}
