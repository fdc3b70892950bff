package admission

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation/pods"
)

// Privileged returns the errors for privileged containers.
func Privileged(obj call.Object) field.ErrorList {
	if pod, ok := obj.(*v1.Pod); ok {
		return pods.DenyPrivileged(&pod.Spec, field.NewPath("spec"))
	}
	if t := strategy.PodTemplate(obj); t != nil {
		return pods.DenyPrivileged(&t.Spec, field.NewPath("spec").Child("template", "spec"))
	}
	return nil
}
