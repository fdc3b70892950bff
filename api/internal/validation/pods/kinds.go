package pods

import (
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Pods returns the validation of pods.
func Pods() validation.Kind {
	return validation.Typed[*v1.Pod]{
		Again: true, Create: checkNewPod, Update: checkPodUpdate, Status: checkPodStatus,
	}.Kind()
}
