package nodestatus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/readonly"
	"github.com/storagesim/storagesim/volume"
)

// CSIDriver holds the answers of a CSI driver that registers with a kubelet.
type CSIDriver = volume.CSINodeDriver

// migratedPlugins are the in-tree volume plugins whose volumes CSI drivers handle.
//
// Upstream: pkg/volume/csi/csi_plugin.go Init, v1.37.
const migratedPlugins = "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder," +
	"kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume"

// nodeIDAnnotation holds the drivers' names for the node, as JSON.
//
// Upstream: nodeinfomanager.go annotationKeyNodeID, v1.37.
const nodeIDAnnotation = "csi.volume.kubernetes.io/nodeid"

// checkCSIDrivers refuses drivers of a configuration that lack a name.
func checkCSIDrivers(node string, drivers []CSIDriver) error {
	for i, d := range drivers {
		switch {
		case d.Name == "" || d.NodeID == "":
			return fmt.Errorf("kubelet.Config.CSIDrivers[%d] of node %s has Name %q and NodeID %q; both are required", i, node, d.Name, d.NodeID)
		case d.MaxVolumes < 0:
			return fmt.Errorf("kubelet.Config.CSIDrivers[%d] of node %s has MaxVolumes %d; it must not be negative", i, node, d.MaxVolumes)
		}
	}
	return nil
}

// ensureCSINode creates the node's CSINode object, or brings its annotation up to date.
// One that belongs to an earlier node of the same name is replaced.
//
// Upstream: nodeinfomanager.go tryInitializeCSINodeWithAnnotation, v1.37.
func (m *nodeInfoManager) ensureCSINode(ctx context.Context, node types.UID) error {
	m.nodeID = node
	csiNodes := m.env.Client().StorageV1().CSINodes()
	found, err := csiNodes.Get(ctx, m.node, metav1.GetOptions{})
	if err == nil && !ownedByNode(found, node) {
		if err = csiNodes.Delete(ctx, found.Name, metav1.DeleteOptions{}); err == nil {
			err = apierrors.NewNotFound(storagev1.Resource("csinodes"), found.Name)
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		_, err = m.createCSINode(readonly.Answers(ctx))
		return err
	case err != nil:
		return err
	case found.Annotations[v1.MigratedPluginsAnnotationKey] == migratedPlugins:
		return nil
	}
	found = found.DeepCopy()
	metav1.SetMetaDataAnnotation(&found.ObjectMeta, v1.MigratedPluginsAnnotationKey, migratedPlugins)
	_, err = csiNodes.Update(readonly.Answers(ctx), found, metav1.UpdateOptions{})
	return err
}

// createCSINode creates a CSINode object without drivers.
//
// Upstream: nodeinfomanager.go CreateCSINode, v1.37.
func (m *nodeInfoManager) createCSINode(ctx context.Context) (*storagev1.CSINode, error) {
	return m.env.Client().StorageV1().CSINodes().Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{
		Name: m.node, Annotations: map[string]string{v1.MigratedPluginsAnnotationKey: migratedPlugins},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: m.node, UID: m.nodeID}},
	}}, metav1.CreateOptions{})
}

// ensureNodeOwnsCSINode removes a CSINode that belongs to another node of this name. The error has the driver registered once more.
//
// Upstream: nodeinfomanager.go ensureNodeOwnsCSINode, v1.37.2. The first driver that registers with a kubelet that has started again may be ahead of
// what reads the Node: its CSINode is removed then, too, although it is its own.
func (m *nodeInfoManager) ensureNodeOwnsCSINode(ctx context.Context, csiNode *storagev1.CSINode) error {
	id := m.nodeID
	if !m.registered {
		m.registered = true
		if m.late && m.env.Choose(2) == 1 {
			id = ""
		}
	}
	if ownedByNode(csiNode, id) {
		return nil
	}
	var old types.UID
	for _, ref := range csiNode.OwnerReferences {
		if ref.Kind == "Node" {
			old = ref.UID
		}
	}
	if err := m.env.Client().StorageV1().CSINodes().Delete(ctx, m.node, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("error deleting existing CSINode %q: %w", m.node, err)
	}
	return fmt.Errorf("CSINode %q was owned by different node (oldNodeID=%q, newNodeID=%q), deleted it", m.node, old, id)
}

func ownedByNode(csiNode *storagev1.CSINode, node types.UID) bool {
	return slices.ContainsFunc(csiNode.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return ref.Kind == "Node" && ref.Name == csiNode.Name && ref.UID == node
	})
}

// registerCSIDrivers adds drivers to the Node and the CSINode.
//
// Upstream: nodeinfomanager.go InstallCSIDriver, v1.37.
func (m *nodeInfoManager) registerCSIDrivers(ctx context.Context, drivers []CSIDriver) error {
	for _, d := range drivers {
		err := m.installInNode(ctx, d)
		if err == nil {
			err = m.installInCSINode(ctx, d)
		}
		if err != nil {
			return fmt.Errorf("cannot register CSI driver %s with node %s: %w", d.Name, m.node, err)
		}
	}
	return nil
}

// driverIDs returns the drivers' names for the node, from its annotation.
//
// Upstream: nodeinfomanager.go buildNodeIDMapFromAnnotation, v1.37.
func driverIDs(node *v1.Node) (map[string]string, error) {
	ids := map[string]string{}
	if text := node.Annotations[nodeIDAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &ids); err != nil {
			return nil, fmt.Errorf("failed to parse node's %q annotation value (%q) err=%w", nodeIDAnnotation, text, err)
		}
	}
	return ids, nil
}

func setDriverIDs(node *v1.Node, ids map[string]string) error {
	if len(ids) == 0 {
		delete(node.Annotations, nodeIDAnnotation)
		return nil
	}
	text, err := json.Marshal(ids)
	if err == nil {
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, nodeIDAnnotation, string(text))
	}
	return err
}

// installInNode adds the driver's name for the node to the annotation, and its topology to the
// labels.
//
// Upstream: nodeinfomanager.go updateNodeIDInNode and updateTopologyLabels, v1.37.
func (m *nodeInfoManager) installInNode(ctx context.Context, d CSIDriver) error {
	old, err := m.env.Client().CoreV1().Nodes().Get(ctx, m.node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	ids, err := driverIDs(old)
	if err != nil {
		return err
	}
	ids[d.Name] = d.NodeID
	node := old.DeepCopy()
	if err := setDriverIDs(node, ids); err != nil {
		return err
	}
	for _, label := range slices.Sorted(maps.Keys(d.Topology)) {
		if value, ok := node.Labels[label]; ok && value != d.Topology[label] {
			return fmt.Errorf("detected topology value collision: driver reported %q:%q but existing label is %q:%q", label, d.Topology[label], label, value)
		}
		metav1.SetMetaDataLabel(&node.ObjectMeta, label, d.Topology[label])
	}
	_, err = patchNode(ctx, m.env.Client(), old, node)
	return err
}

// installInCSINode adds the driver to the CSINode, at the end if it is new or has changed.
//
// Upstream: nodeinfomanager.go tryUpdateCSINode and installDriverToCSINode, v1.37.
func (m *nodeInfoManager) installInCSINode(ctx context.Context, d CSIDriver) error {
	csiNodes := m.env.Client().StorageV1().CSINodes()
	old, err := csiNodes.Get(ctx, m.node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		old, err = m.createCSINode(ctx)
	}
	if err != nil {
		return err
	}
	if err := m.ensureNodeOwnsCSINode(ctx, old); err != nil {
		return err
	}
	driver := storagev1.CSINodeDriver{Name: d.Name, NodeID: d.NodeID, TopologyKeys: slices.Sorted(maps.Keys(d.Topology))}
	if d.MaxVolumes > 0 {
		driver.Allocatable = &storagev1.VolumeNodeResources{Count: &d.MaxVolumes}
	}
	csiNode := old.DeepCopy()
	for _, was := range old.Spec.Drivers {
		if was.Name == d.Name && sameCSINodeDriver(was, driver) {
			return nil
		}
	}
	csiNode.Spec.Drivers = slices.DeleteFunc(csiNode.Spec.Drivers, func(was storagev1.CSINodeDriver) bool { return was.Name == d.Name })
	csiNode.Spec.Drivers = append(csiNode.Spec.Drivers, driver)
	_, err = csiNodes.Update(readonly.Answers(ctx), csiNode, metav1.UpdateOptions{})
	return err
}

func sameCSINodeDriver(a, b storagev1.CSINodeDriver) bool {
	limit := func(d storagev1.CSINodeDriver) int32 {
		if d.Allocatable == nil || d.Allocatable.Count == nil {
			return 0
		}
		return *d.Allocatable.Count
	}
	keys := slices.Clone(a.TopologyKeys)
	slices.Sort(keys)
	return a.NodeID == b.NodeID && slices.Equal(keys, b.TopologyKeys) && limit(a) == limit(b)
}
