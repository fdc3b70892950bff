package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/storagesim/storagesim/internal/release"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

// controllerManagedAttach says that the attach/detach controller attaches this node's
// volumes.
//
// Upstream: pkg/volume/util ControllerManagedAttachAnnotation, v1.36.
const controllerManagedAttach = "volumes.kubernetes.io/controller-managed-attach-detach"

// Labels of the operating system and the processor under their old names.
//
// Upstream: k8s.io/kubelet/pkg/apis LabelOS and LabelArch, v0.36.
const (
	labelOSBeta   = "beta.kubernetes.io/os"
	labelArchBeta = "beta.kubernetes.io/arch"
)

// defaultLabels are those whose values are the kubelet's to say.
//
// Upstream: kubelet_node_status.go updateDefaultLabels, v1.36.
func defaultLabels() []string {
	return []string{
		v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion,
		v1.LabelInstanceTypeStable, v1.LabelInstanceType, v1.LabelOSStable, v1.LabelArchStable, v1.LabelWindowsBuild, labelOSBeta, labelArchBeta,
	}
}

// syncNode is what a kubelet does once when it starts: it registers the node and its
// CSI drivers, says that the node is ready, and gives up what is on disk of pods that do
// not exist any more.
func (k *kubelet) syncNode(ctx context.Context, _ string) error {
	k.volumes.ReportReconstructed()
	node, err := k.registerNode(ctx)
	if err != nil {
		return err
	}
	k.renewNodeLease(ctx)
	if err := k.ensureCSINode(ctx, node.UID); err != nil {
		return fmt.Errorf("cannot register the CSINode of node %s: %w", node.Name, err)
	}
	k.volumes.SetReportedInUse(node.Status.VolumesInUse)
	k.registered = true
	if err := k.syncNodeStatus(ctx); err != nil {
		return err
	}
	if err := k.registerCSIDrivers(ctx); err != nil {
		return err
	}
	for _, plugin := range k.volumes.RegistrationPlugins() {
		plugin.Ready()
	}
	k.adoptOrphans()
	k.volumes.Reconcile()
	return nil
}

// registerNode creates the Node object, which is not ready yet, or brings labels and
// annotations of the one that exists up to date.
//
// Upstream: kubelet_node_status.go tryRegisterWithAPIServer, v1.36.
func (k *kubelet) registerNode(ctx context.Context) (*v1.Node, error) {
	nodes := k.env.Client().CoreV1().Nodes()
	initial := k.initialNode()
	node, err := nodes.Create(ctx, initial, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		node, err = nodes.Get(ctx, k.node.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("cannot register node %s: %w", k.node.Name, err)
	}
	reconciled := node.DeepCopy()
	for _, label := range defaultLabels() {
		if value, ok := initial.Labels[label]; ok {
			metav1.SetMetaDataLabel(&reconciled.ObjectMeta, label, value)
		}
	}
	metav1.SetMetaDataAnnotation(&reconciled.ObjectMeta, controllerManagedAttach, "true")
	return k.patchNode(ctx, node, reconciled)
}

// patchNode sends what differs in metadata and status, if anything does.
func (k *kubelet) patchNode(ctx context.Context, old, node *v1.Node) (*v1.Node, error) {
	if apiequality.Semantic.DeepEqual(old.Labels, node.Labels) && apiequality.Semantic.DeepEqual(old.Annotations, node.Annotations) &&
		apiequality.Semantic.DeepEqual(old.Status, node.Status) {
		return old, nil
	}
	from, to := &v1.Node{ObjectMeta: old.ObjectMeta, Status: old.Status}, &v1.Node{ObjectMeta: node.ObjectMeta, Status: node.Status}
	dropEqual(&from.ObjectMeta, &to.ObjectMeta)
	dropEqual(&from.Status, &to.Status)
	if patch, ok := patchOfConditions(from, to); ok {
		updated, err := k.env.Client().CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil {
			err = fmt.Errorf("failed to patch status %q for node %q: %w", patch, node.Name, err)
		}
		return updated, err
	}
	updated, _, err := nodeutil.PatchNodeStatus(k.env.Client().CoreV1(), types.NodeName(node.Name), from, to)
	return updated, err
}

// patchOfConditions is the patch that the library makes of two nodes, if only texts and times
// of conditions differ, as with nearly every heartbeat. To have the library compare both nodes
// in JSON takes far longer.
func patchOfConditions(from, to *v1.Node) (patch []byte, ok bool) {
	was, is := from.Status.Conditions, to.Status.Conditions
	from.Status.Conditions, to.Status.Conditions = nil, nil
	alike := apiequality.Semantic.DeepEqual(from.ObjectMeta, to.ObjectMeta) && apiequality.Semantic.DeepEqual(from.Status, to.Status)
	from.Status.Conditions, to.Status.Conditions = was, is
	if !alike || !slices.EqualFunc(was, is, func(a, b v1.NodeCondition) bool { return a.Type == b.Type }) {
		return nil, false
	}
	var order, changed []map[string]any
	for i := range is {
		order = append(order, map[string]any{"type": is[i].Type})
		if changes := conditionChanges(was[i], is[i]); len(changes) > 0 {
			changes["type"] = is[i].Type
			changed = append(changed, changes)
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"$setElementOrder/conditions": order, "conditions": changed}})
	return patch, err == nil && len(changed) > 0
}

func conditionChanges(was, is v1.NodeCondition) map[string]any {
	changes := map[string]any{}
	text := func(field, was, is string) {
		if was != is {
			changes[field] = is
		}
		if was != is && is == "" {
			changes[field] = nil
		}
	}
	moment := func(field string, was, is metav1.Time) {
		if !was.Equal(&is) {
			changes[field] = is
		}
	}
	if was.Status != is.Status {
		changes["status"] = is.Status
	}
	text("reason", was.Reason, is.Reason)
	text("message", was.Message, is.Message)
	moment("lastHeartbeatTime", was.LastHeartbeatTime, is.LastHeartbeatTime)
	moment("lastTransitionTime", was.LastTransitionTime, is.LastTransitionTime)
	return changes
}

// dropEqual empties the fields that are the same in both: what is converted to JSON to
// make a patch of the others is most of the patch's cost.
func dropEqual[T any](a, b *T) {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		if reflect.DeepEqual(x.Field(i).Addr().Interface(), y.Field(i).Addr().Interface()) {
			x.Field(i).SetZero()
			y.Field(i).SetZero()
		}
	}
}

// initialNode is the Node object as it is registered.
//
// Upstream: kubelet_node_status.go initialNode, v1.36.
func (k *kubelet) initialNode() *v1.Node {
	node := k.node.DeepCopy()
	k.setNodeStatus(node)
	return node
}

// nodeTemplate fills in what a template leaves out.
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
		status.Capacity = v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110"),
		}
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

// addresses makes a node's address and its pods' network from its name alone, so
// that they are the same in every run.
func addresses(name string) (host, podCIDR string) {
	h := fnv.New32a()
	h.Write([]byte(name))
	sum := h.Sum32()
	b, c := byte(sum>>8), byte(sum)
	return fmt.Sprintf("172.18.%d.%d", b, 1+c%254), fmt.Sprintf("10.%d.%d.0/24", b, c)
}

// podCIDR is the network of the node's pods: the node's own, if somebody gave it one.
func (k *kubelet) podCIDR() string {
	if k.node.Spec.PodCIDR != "" {
		return k.node.Spec.PodCIDR
	}
	_, podCIDR := addresses(k.node.Name)
	return podCIDR
}

// hostIP is the node's internal address.
func (k *kubelet) hostIP() string {
	for _, a := range k.node.Status.Addresses {
		if a.Type == v1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}
