package nodestatus

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/readonly"
	"github.com/storagesim/storagesim/internal/release"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

// controllerManagedAttach is the annotation of nodes whose volumes the attach/detach controller
// attaches.
//
// Upstream: pkg/volume/util ControllerManagedAttachAnnotation, v1.37.
const controllerManagedAttach = "volumes.kubernetes.io/controller-managed-attach-detach"

// Labels of the operating system and the processor under their old names.
//
// Upstream: k8s.io/kubelet/pkg/apis LabelOS and LabelArch, v1.37.
const (
	labelOSBeta   = "beta.kubernetes.io/os"
	labelArchBeta = "beta.kubernetes.io/arch"
)

// defaultLabels returns the labels whose values the kubelet determines.
//
// Upstream: kubelet_node_status.go updateDefaultLabels, v1.37.
func defaultLabels() []string {
	return []string{
		v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion,
		v1.LabelInstanceTypeStable, v1.LabelInstanceType, v1.LabelOSStable, v1.LabelArchStable, v1.LabelWindowsBuild, labelOSBeta, labelArchBeta,
	}
}

// Register registers the node: it creates the Node, the lease and the CSINode, or brings them up
// to date, reports the node ready, and adds the CSI drivers of the configuration. If turns may be late, the first one of a kubelet
// that has started again may come before the CSINode, by choice. It then reports the node as not ready, until the next turn.
//
// Upstream: csi_plugin.go initializeCSINode, and kubelet_node_status.go fastNodeStatusUpdate, which does nothing for a Node that was ready
// before, v1.37.2.
func (n *Node) Register(ctx context.Context) error {
	node, existed, err := n.registerNode(ctx)
	if err != nil {
		return err
	}
	n.renewNodeLease(ctx)
	if err := n.drivers.ensureCSINode(ctx, node.UID); err != nil {
		return fmt.Errorf("cannot register the CSINode of node %s: %w", node.Name, err)
	}
	n.volumes.UpdateFromNodeStatus(&node.Status)
	early := existed && n.late && n.env.Choose(2) == 1
	n.registered = !early
	if err := n.syncNodeStatus(ctx); err != nil {
		return err
	}
	if early {
		n.recorder.Eventf(node, v1.EventTypeNormal, "NodeNotReady", "Node %s status is now: NodeNotReady", n.name())
		n.registered = true
		n.ReportLater()
	}
	return n.drivers.registerCSIDrivers(ctx, n.configured)
}

// registerNode creates the Node object, which is not ready yet. If it exists, registerNode brings
// its labels and annotations up to date.
//
// Upstream: kubelet_node_status.go tryRegisterWithAPIServer, v1.37.
func (n *Node) registerNode(ctx context.Context) (_ *v1.Node, existed bool, err error) {
	nodes, ctx := n.env.Client().CoreV1().Nodes(), readonly.Answers(ctx)
	initial := withOwnConditions(n.template)
	n.setNodeStatus(initial)
	node, err := nodes.Create(ctx, initial, metav1.CreateOptions{})
	if existed = apierrors.IsAlreadyExists(err); existed {
		node, err = nodes.Get(ctx, n.name(), metav1.GetOptions{})
	}
	if err != nil {
		return nil, existed, fmt.Errorf("cannot register node %s: %w", n.name(), err)
	}
	reconciled := withOwnConditions(node)
	reconciled.Labels, reconciled.Annotations = maps.Clone(node.Labels), maps.Clone(node.Annotations)
	for _, label := range defaultLabels() {
		if value, ok := initial.Labels[label]; ok {
			metav1.SetMetaDataLabel(&reconciled.ObjectMeta, label, value)
		}
	}
	metav1.SetMetaDataAnnotation(&reconciled.ObjectMeta, controllerManagedAttach, "true")
	node, err = patchNode(ctx, n.env.Client(), node, reconciled)
	return node, existed, err
}

// DefaultCapacity returns the resources of a node whose template has none.
func DefaultCapacity() v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110"),
	}
}

// nodeTemplate returns the template with defaults for the fields that it leaves out.
func nodeTemplate(template *v1.Node, version runtime.Version) *v1.Node {
	node := template.DeepCopy()
	labels := map[string]string{
		v1.LabelHostname: node.Name, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64", labelOSBeta: "linux", labelArchBeta: "amd64",
	}
	maps.Copy(labels, node.Labels)
	node.Labels = labels
	metav1.SetMetaDataAnnotation(&node.ObjectMeta, controllerManagedAttach, "true")
	host, _ := addresses(node.Name)
	status := &node.Status
	if len(status.Capacity) == 0 {
		status.Capacity = DefaultCapacity()
	}
	if len(status.Allocatable) == 0 {
		status.Allocatable = status.Capacity.DeepCopy()
	}
	if len(status.Addresses) == 0 {
		status.Addresses = []v1.NodeAddress{
			{Type: v1.NodeInternalIP, Address: host}, {Type: v1.NodeHostName, Address: node.Name},
		}
	}
	if status.NodeInfo.KubeletVersion == "" {
		status.NodeInfo = v1.NodeSystemInfo{
			KubeletVersion: release.Kubernetes, ContainerRuntimeVersion: version.RuntimeName + "://" + version.RuntimeVersion,
			OperatingSystem: "linux", Architecture: "amd64", OSImage: "storagesim", KernelVersion: "6.12.0",
		}
	}
	return node
}

// addresses derives a node's address and its pods' network from its name, so that they are the
// same in every run.
func addresses(name string) (host, podCIDR string) {
	h := fnv.New32a()
	h.Write([]byte(name))
	sum := h.Sum32()
	b, c := byte(sum>>8), byte(sum)
	return fmt.Sprintf("172.18.%d.%d", b, 1+c%254), fmt.Sprintf("10.%d.%d.0/24", b, c)
}
