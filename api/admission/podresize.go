package admission

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"

	"github.com/storagesim/storagesim/api/internal/refusal"
)

var (
	nodes   = v1.SchemeGroupVersion.WithResource("nodes")
	podKind = v1.SchemeGroupVersion.WithResource("pods")
)

// Resize refuses to resize a pod beyond what its node has. It runs after validation.
// Upstream: plugin/pkg/admission/podresize Plugin.Validate, v1.37.2.
func Resize(r Reader, pod, old *v1.Pod) error {
	if pod.Spec.NodeName == "" || pod.Generation == old.Generation {
		return nil
	}
	node := get[*v1.Node](r, nodes, pod.Spec.NodeName)
	if node == nil {
		return refusal.OfObject(podKind.GroupResource(), pod, fmt.Errorf("node %q not found", pod.Spec.NodeName))
	}
	if system, ok := node.Labels[v1.LabelOSStable]; ok && system != "linux" {
		return resizeRefused(pod, "UnsupportedPlatform", fmt.Errorf("pod resize is only supported on linux nodes, node %q is %q", node.Name, system))
	}
	if err := fits(pod, node.Status.Allocatable); err != nil {
		return resizeRefused(pod, "NodeCapacity", err)
	}
	return nil
}

// resizeRefused returns a refusal with a cause.
func resizeRefused(pod *v1.Pod, cause metav1.CauseType, why error) error {
	err := refusal.OfObject(podKind.GroupResource(), pod, why)
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	}
	return err
}

// fits says of which resources a pod requests more than a node has.
// Upstream: plugin/pkg/admission/podresize validateRequestsWithinAllocatable, v1.37.2.
func fits(pod *v1.Pod, allocatable v1.ResourceList) error {
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})
	cpu, memory := requests[v1.ResourceCPU], requests[v1.ResourceMemory]
	var more []string
	if has := allocatable.Cpu(); cpu.Cmp(*has) > 0 {
		more = append(more, fmt.Sprintf("cpu, requested: %d, allocatable: %d", cpu.MilliValue(), has.MilliValue()))
	}
	if has := allocatable.Memory(); memory.Cmp(*has) > 0 {
		more = append(more, fmt.Sprintf("memory, requested: %d, allocatable: %d", memory.Value(), has.Value()))
	}
	if len(more) > 0 {
		return fmt.Errorf("node didn't have enough allocatable resources: %s", strings.Join(more, "; "))
	}
	return nil
}
