package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Paths that many rules start from. A path is extended only when something is
// wrong, so that a good object costs no allocations.
var (
	metadataPath = field.NewPath("metadata")
	specPath     = field.NewPath("spec")
	statusPath   = field.NewPath("status")
)

// problems collects the errors of one object, in the order in which the rules run.
// Paths and wording are the same as in kube-apiserver v1.36, oddities included:
// people search for them.
type problems struct {
	list         field.ErrorList
	anyFinalizer bool // see Kind
}

func (p *problems) add(errs ...*field.Error) { p.list = append(p.list, errs...) }

func (p *problems) required(path *field.Path, detail string) {
	p.list = append(p.list, field.Required(path, detail))
}

func (p *problems) invalid(path *field.Path, value any, detail string) {
	p.list = append(p.list, field.Invalid(path, value, detail))
}

func (p *problems) forbidden(path *field.Path, detail string) {
	p.list = append(p.list, field.Forbidden(path, detail))
}

func (p *problems) duplicate(path *field.Path, value any) {
	p.list = append(p.list, field.Duplicate(path, value))
}

// need refuses an empty required field below path.
func (p *problems) need(path *field.Path, name, value string) {
	if value == "" {
		p.required(path.Child(name), "")
	}
}

// messages adds one invalid-value problem for each message about the value.
func (p *problems) messages(path *field.Path, value string, msgs []string) {
	for _, msg := range msgs {
		p.invalid(path, value, msg)
	}
}
