package validation

import (
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Paths that many rules start from. A path is extended only when something is
// wrong, so that a good object costs no allocations.
var (
	MetadataPath = field.NewPath("metadata")
	SpecPath     = field.NewPath("spec")
	StatusPath   = field.NewPath("status")
)

// Problems collects the errors of one object, in the order in which the rules run.
// Paths and wording are the same as in kube-apiserver v1.36, oddities included:
// people search for them.
type Problems struct {
	List         field.ErrorList
	anyFinalizer bool // see Kind
	twice        bool // see Kind
}

// once returns the problems, each once.
func (p *Problems) once() (list field.ErrorList) {
	if p.twice || len(p.List) < 2 {
		return p.List
	}
	for _, err := range p.List {
		if !slices.ContainsFunc(list, func(o *field.Error) bool {
			return o.Type == err.Type && o.Field == err.Field && o.Error() == err.Error()
		}) {
			list = append(list, err)
		}
	}
	return list
}

// Add adds problems.
func (p *Problems) Add(errs ...*field.Error) { p.List = append(p.List, errs...) }

// Required adds that a field must have a value.
func (p *Problems) Required(path *field.Path, detail string) {
	p.List = append(p.List, field.Required(path, detail))
}

// Invalid adds that a value is not allowed.
func (p *Problems) Invalid(path *field.Path, value any, detail string) {
	p.List = append(p.List, field.Invalid(path, shown(value), detail))
}

// Forbidden adds that a field must not be set, or not changed.
func (p *Problems) Forbidden(path *field.Path, detail string) {
	p.List = append(p.List, field.Forbidden(path, detail))
}

// Duplicate adds that a value occurs twice in a list.
func (p *Problems) Duplicate(path *field.Path, value any) {
	p.List = append(p.List, field.Duplicate(path, shown(value)))
}

// Need refuses an empty required field below path.
func (p *Problems) Need(path *field.Path, name, value string) {
	if value == "" {
		p.Required(path.Child(name), "")
	}
}

// Messages adds one invalid-value problem for each message about the value.
func (p *Problems) Messages(path *field.Path, value string, msgs []string) {
	for _, msg := range msgs {
		p.Invalid(path, value, msg)
	}
}

// OneOf refuses a missing value of a field with a closed list of values, and a
// value that is not on the list.
func OneOf[T ~string](p *Problems, value T, known []T, at *field.Path, name string) {
	switch {
	case slices.Contains(known, value):
	case value == "":
		p.Required(at.Child(name), "")
	default:
		p.Add(field.NotSupported(at.Child(name), value, known))
	}
}

// NotNegative refuses negative numbers.
func (p *Problems) NotNegative(n int64, at *field.Path, name string) {
	if n < 0 {
		p.Invalid(at.Child(name), n, apivalidation.IsNegativeErrorMsg)
	}
}

// IfSetOneOf refuses a value that is not on the list of those that are known.
func IfSetOneOf[T ~string](p *Problems, value *T, known []T, at *field.Path, name string) {
	if value != nil && !slices.Contains(known, *value) {
		p.Add(field.NotSupported(at.Child(name), *value, known))
	}
}
