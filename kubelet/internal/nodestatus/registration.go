package nodestatus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/volume"
)

// Number of attempts of a write about a driver, and the waits between them, without upstream's
// random part.
//
// Upstream: nodeinfomanager.go updateBackoff, v1.37.
const (
	updateSteps    = 4
	updateDuration = 10 * time.Millisecond
	updateFactor   = 5
)

// nodeInfoManager writes the node's CSI drivers into the Node and the CSINode.
//
// Upstream: nodeinfomanager.go nodeInfoManager, v1.37.
type nodeInfoManager struct {
	env  control.Env
	node string
	// nodeID is the Node's UID as it was when the kubelet started, "" before it was read.
	nodeID types.UID
	// late has the first driver register before the Node is read, by choice; registered: it has.
	late, registered bool
}

// InstallCSIDriver implements volume.NodeInfoManager.
//
// Upstream: nodeinfomanager.go InstallCSIDriver, v1.37.
func (m *nodeInfoManager) InstallCSIDriver(ctx context.Context, d volume.CSINodeDriver) error {
	if d.NodeID == "" {
		return errors.New("error adding CSI driver node info: driverNodeID must not be empty")
	}
	if err := m.retry(ctx, "node", func() error { return m.installInNode(ctx, d) }); err != nil {
		return fmt.Errorf("error updating Node object with CSI driver node info: %w", err)
	}
	if err := m.retry(ctx, "CSINode", func() error { return m.installInCSINode(ctx, d) }); err != nil {
		return fmt.Errorf("error updating CSINode object with CSI driver node info: %w", err)
	}
	return nil
}

// UpdateCSIDriver implements volume.NodeInfoManager.
//
// Upstream: nodeinfomanager.go UpdateCSIDriver, v1.37.
func (m *nodeInfoManager) UpdateCSIDriver(ctx context.Context, d volume.CSINodeDriver) error {
	if err := m.retry(ctx, "CSINode", func() error { return m.installInCSINode(ctx, d) }); err != nil {
		return fmt.Errorf("error updating CSINode object with CSI driver node info: %w", err)
	}
	return nil
}

// UninstallCSIDriver implements volume.NodeInfoManager.
//
// Upstream: nodeinfomanager.go UninstallCSIDriver, v1.37.
func (m *nodeInfoManager) UninstallCSIDriver(ctx context.Context, name string) error {
	if err := m.retry(ctx, "CSINode", func() error { return m.uninstallFromCSINode(ctx, name) }); err != nil {
		return fmt.Errorf("error uninstalling CSI driver from CSINode object %w", err)
	}
	if err := m.retry(ctx, "node", func() error { return m.removeFromNode(ctx, name) }); err != nil {
		return fmt.Errorf("error removing CSI driver node info from Node object %w", err)
	}
	return nil
}

// retry tries a write a few times, since others write the same objects.
//
// Upstream: nodeinfomanager.go updateNode and updateCSINode, v1.37.
func (m *nodeInfoManager) retry(ctx context.Context, what string, write func() error) error {
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
		if err := m.env.Sleep(ctx, wait); err != nil {
			return err
		}
		wait *= updateFactor
	}
	return fmt.Errorf("error updating %s: timed out waiting for the condition; caused by: %w", what, errors.Join(errs...))
}

// uninstallFromCSINode removes a driver from the CSINode.
//
// Upstream: nodeinfomanager.go tryUninstallDriverFromCSINode, v1.37.
func (m *nodeInfoManager) uninstallFromCSINode(ctx context.Context, name string) error {
	csiNodes := m.env.Client().StorageV1().CSINodes()
	old, err := csiNodes.Get(ctx, m.node, metav1.GetOptions{})
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

// removeFromNode removes a driver's name for the node. Its topology labels stay.
//
// Upstream: nodeinfomanager.go removeNodeIDFromNode, v1.37.
func (m *nodeInfoManager) removeFromNode(ctx context.Context, name string) error {
	old, err := m.env.Client().CoreV1().Nodes().Get(ctx, m.node, metav1.GetOptions{})
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
	_, err = patchNode(ctx, m.env.Client(), old, node)
	return err
}
