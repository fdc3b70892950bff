package admission

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/internal/semantic"
)

var runtimeClasses = nodev1.SchemeGroupVersion.WithResource("runtimeclasses")

// runtimeClass returns the class that a pod names, nil if it names none, and an error if the
// class does not exist. What cannot be a name is no answer of the server but an error of the client that asks it.
// Upstream: plugin/pkg/admission/runtimeclass prepareObjects and client-go rest/request.go Request.Name, v1.37.2.
func runtimeClass(r Reader, pod *v1.Pod) (*nodev1.RuntimeClass, error) {
	if pod.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	name := *pod.Spec.RuntimeClassName
	if name == "" {
		return nil, refusal.Internal("resource name may not be empty")
	}
	if wrong := content.IsPathSegmentName(name); len(wrong) > 0 {
		return nil, refusal.Internal(fmt.Sprintf("invalid resource name %q: %v", name, wrong))
	}
	class := get[*nodev1.RuntimeClass](r, runtimeClasses, name)
	if class == nil {
		return nil, rejectPod(pod, fmt.Sprintf("RuntimeClass %q not found", name))
	}
	return class, nil
}

// admitRuntimeClass gives a new pod what its runtime class says: what it costs
// beside its containers, and where it can run.
// Upstream: plugin/pkg/admission/runtimeclass setOverhead and setScheduling, v1.37.
func admitRuntimeClass(r Reader, pod *v1.Pod) error {
	class, err := runtimeClass(r, pod)
	if err != nil || class == nil {
		return err
	}
	if class.Overhead != nil {
		if len(pod.Spec.Overhead) > 0 && !semantic.Equal(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return rejectPod(pod, overheadDiffers)
		}
		pod.Spec.Overhead = class.Overhead.PodFixed.DeepCopy()
	}
	if class.Scheduling == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(class.Scheduling.NodeSelector)) {
		value := class.Scheduling.NodeSelector[key]
		if own, ok := pod.Spec.NodeSelector[key]; ok && own != value {
			return refusal.Forbidden(v1.Resource("pods"), pod.Name, fmt.Sprintf(
				"conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, value, key, own))
		}
	}
	pod.Spec.NodeSelector = strategy.Merged(pod.Spec.NodeSelector, class.Scheduling.NodeSelector)
	for _, t := range class.Scheduling.Tolerations {
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(o v1.Toleration) bool { return semantic.Equal(o, t) }) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, t)
		}
	}
	return nil
}

const overheadDiffers = "Pod's Overhead doesn't match RuntimeClass's defined Overhead"

// checkOverhead refuses, after validation, an overhead that no class defines.
// Upstream: plugin/pkg/admission/runtimeclass validateOverhead, v1.37.
func checkOverhead(r Reader, pod *v1.Pod) error {
	class, err := runtimeClass(r, pod)
	switch {
	case err != nil:
		return err
	case class != nil && class.Overhead != nil:
		if !semantic.Equal(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return rejectPod(pod, overheadDiffers)
		}
	case pod.Spec.Overhead != nil:
		return rejectPod(pod, "Pod Overhead set without corresponding RuntimeClass defined Overhead")
	}
	return nil
}

func rejectPod(pod *v1.Pod, reason string) *apierrors.StatusError {
	return apierrors.NewForbidden(v1.Resource("pods"), pod.Name, fmt.Errorf("pod rejected: %s", reason))
}
