package kubelet

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubeletVersion is the Kubernetes version that is modelled.
const kubeletVersion = "v1.36.3"

// syncNode is what a kubelet does once when it starts: it registers the node, and
// gives up what is on disk of pods that do not exist any more.
func (k *kubelet) syncNode(ctx context.Context, _ string) error {
	if err := k.registerNode(ctx); err != nil {
		return err
	}
	k.adoptOrphans()
	k.volumeQueue.Add(k.node.Name)
	return nil
}

// registerNode creates the Node object, or adds what is missing to the one that
// exists.
//
// Upstream: kubelet_node_status.go tryRegisterWithAPIServer, v1.36.
func (k *kubelet) registerNode(ctx context.Context) error {
	nodes := k.env.Client().CoreV1().Nodes()
	initial := k.initialNode()
	node, err := nodes.Create(ctx, initial, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		node, err = nodes.Get(ctx, k.node.Name, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("cannot register node %s: %w", k.node.Name, err)
	}
	if labelled, changed := withDefaultLabels(node, initial); changed {
		if node, err = nodes.Update(ctx, labelled, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("cannot label node %s: %w", k.node.Name, err)
		}
	}
	k.reportedInUse = node.Status.VolumesInUse
	want := withStatus(node, initial)
	if apiequality.Semantic.DeepEqual(node.Status, want.Status) {
		return nil
	}
	_, err = nodes.UpdateStatus(ctx, want, metav1.UpdateOptions{})
	return err
}

// withDefaultLabels adds the labels that are missing; others' values stay.
func withDefaultLabels(node, initial *v1.Node) (*v1.Node, bool) {
	labels := maps.Clone(initial.Labels)
	maps.Copy(labels, node.Labels)
	if maps.Equal(labels, node.Labels) {
		return node, false
	}
	node = node.DeepCopy()
	node.Labels = labels
	return node, true
}

// withStatus gives a node the kubelet's status; a condition that holds already
// keeps its times.
func withStatus(node, initial *v1.Node) *v1.Node {
	node = node.DeepCopy()
	status := initial.Status.DeepCopy()
	for i, c := range status.Conditions {
		for _, old := range node.Status.Conditions {
			if old.Type == c.Type && old.Status == c.Status {
				status.Conditions[i] = old
			}
		}
	}
	status.VolumesAttached, status.VolumesInUse = node.Status.VolumesAttached, node.Status.VolumesInUse
	node.Status = *status
	return node
}

// initialNode is the Node object as of now.
func (k *kubelet) initialNode() *v1.Node {
	node := k.node.DeepCopy()
	now := k.now()
	condition := func(kind v1.NodeConditionType, status v1.ConditionStatus, reason, message string) v1.NodeCondition {
		return v1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	node.Status.Conditions = []v1.NodeCondition{
		condition(v1.NodeMemoryPressure, v1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(v1.NodeDiskPressure, v1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(v1.NodePIDPressure, v1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(v1.NodeReady, v1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
	return node
}

// nodeTemplate fills in what a template leaves out.
func nodeTemplate(template *v1.Node) *v1.Node {
	node := template.DeepCopy()
	labels := map[string]string{v1.LabelHostname: node.Name, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64"}
	maps.Copy(labels, node.Labels)
	node.Labels = labels
	host, podCIDR := addresses(node.Name)
	if node.Spec.PodCIDR == "" {
		node.Spec.PodCIDR = podCIDR
	}
	if len(node.Spec.PodCIDRs) == 0 {
		node.Spec.PodCIDRs = []string{node.Spec.PodCIDR}
	}
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
			KubeletVersion: kubeletVersion, ContainerRuntimeVersion: "containerd://2.1.0",
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

// hostIP is the node's internal address.
func (k *kubelet) hostIP() string {
	for _, a := range k.node.Status.Addresses {
		if a.Type == v1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}
