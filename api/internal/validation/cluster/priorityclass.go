package cluster

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// PriorityClasses returns the validation of priorityclasses.
// Upstream: pkg/apis/scheduling/validation ValidatePriorityClass and ValidatePriorityClassUpdate, v1.37.
func PriorityClasses() validation.Kind {
	return validation.Typed[*schedulingv1.PriorityClass]{
		Create: func(p *validation.Problems, class *schedulingv1.PriorityClass) {
			switch {
			case strings.HasPrefix(class.Name, "system-"):
				if text := systemPriority(class); text != "" {
					p.Forbidden(validation.MetadataPath.Child("name"), "priority class names with 'system-' prefix are reserved for system use only. error: "+text)
				}
			case class.Value > highestPriority:
				p.Forbidden(field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %d", highestPriority))
			}
			checkPreemptionPolicy(p, class.PreemptionPolicy, field.NewPath("preemptionPolicy"))
		},
		Update: func(p *validation.Problems, class, old *schedulingv1.PriorityClass) {
			if class.Value != old.Value {
				p.Forbidden(field.NewPath("value"), "may not be changed in an update.")
			}
			p.Immutable(class.PreemptionPolicy, old.PreemptionPolicy, field.NewPath("preemptionPolicy"))
		},
	}.Kind()
}

// highestPriority is the highest priority of a class that is not the system's.
const highestPriority = 1_000_000_000

// systemPriority says why a class is none of the system's; empty for those.
// Upstream: pkg/apis/scheduling/v1 IsKnownSystemPriorityClass, v1.37.
func systemPriority(class *schedulingv1.PriorityClass) string {
	value := int32(0)
	switch class.Name {
	case "system-node-critical":
		value = 2_000_001_000
	case "system-cluster-critical":
		value = 2_000_000_000
	default:
		return class.Name + " is not a known system priority class"
	}
	switch {
	case class.Value != value:
		return fmt.Sprintf("value of %s PriorityClass must be %d", class.Name, value)
	case class.GlobalDefault:
		return fmt.Sprintf("globalDefault of %s PriorityClass must be false", class.Name)
	}
	return ""
}

// Upstream: core/validation ValidatePreemptionPolicy, v1.37.
func checkPreemptionPolicy(p *validation.Problems, policy *v1.PreemptionPolicy, at *field.Path) {
	switch {
	case policy == nil || *policy == v1.PreemptLowerPriority || *policy == v1.PreemptNever:
	case *policy == "":
		p.Required(at, "")
	default:
		p.Add(field.NotSupported(at, *policy, []v1.PreemptionPolicy{v1.PreemptLowerPriority, v1.PreemptNever}))
	}
}
