package crd

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	internal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validate returns the errors of a definition; old is its previous version, nil if it is new.
// Paths and words belong to the internal version, in which upstream validates.
// Upstream: apis/apiextensions/validation ValidateCustomResourceDefinition and
// ValidateCustomResourceDefinitionUpdate, v1.37.
func validate(def, old *apiextensions.CustomResourceDefinition) field.ErrorList {
	var in internal.CustomResourceDefinition
	if err := apiextensions.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(def.DeepCopy(), &in, nil); err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	p := &problems{path: field.NewPath("spec"), brief: def.Size() > maxQuoted}
	p.spec(&in.Spec)
	p.list = append(p.list, validateStatus(def)...)
	p.storedVersions(def)
	p.approval(def, old)
	if old != nil {
		p.update(&def.Spec, old)
	}
	return append(p.list, checkRules(&in, internalOf(old), p.list)...)
}

// internalOf returns a definition in the internal version, nil if there is none or it cannot be
// brought into that.
func internalOf(def *apiextensions.CustomResourceDefinition) *internal.CustomResourceDefinition {
	if def == nil {
		return nil
	}
	in := &internal.CustomResourceDefinition{}
	if apiextensions.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(def.DeepCopy(), in, nil) != nil {
		return nil
	}
	return in
}

// maxQuoted is the number of bytes of a definition beyond which refusals quote no schemas: each part of a schema has forty fields, most of
// them empty, which a real server quotes as well.
const maxQuoted = 16 << 10

// problems collects what is wrong with a spec.
type problems struct {
	path *field.Path
	list field.ErrorList
	// brief: schemas are not quoted.
	brief bool
}

// quoted returns a value with schemas as it is quoted.
func (p *problems) quoted(value any) any {
	if p.brief {
		return field.OmitValueType{}
	}
	return value
}

func (p *problems) invalid(path *field.Path, value any, message string) {
	p.list = append(p.list, field.Invalid(path, value, message))
}

func (p *problems) required(path *field.Path, message string) {
	p.list = append(p.list, field.Required(path, message))
}

func (p *problems) forbidden(path *field.Path, message string) {
	p.list = append(p.list, field.Forbidden(path, message))
}

// oneOf requires one of some texts.
func (p *problems) oneOf(path *field.Path, value string, accepted ...string) {
	switch {
	case value == "":
		p.required(path, "")
	case !slices.Contains(accepted, value):
		p.list = append(p.list, field.NotSupported(path, value, accepted))
	}
}

// label requires a DNS label, if there is anything.
func (p *problems) label(path *field.Path, value string) {
	if msgs := utilvalidation.IsDNS1035Label(value); value != "" && len(msgs) > 0 {
		p.invalid(path, value, strings.Join(msgs, ","))
	}
}

// Upstream: validateCustomResourceDefinitionSpec, v1.37.
func (p *problems) spec(spec *internal.CustomResourceDefinitionSpec) {
	group := p.path.Child("group")
	if spec.Group == "" {
		p.required(group, "")
	} else if msgs := utilvalidation.IsDNS1123Subdomain(spec.Group); len(msgs) > 0 {
		p.invalid(group, spec.Group, strings.Join(msgs, ","))
	} else if !strings.Contains(spec.Group, ".") {
		p.invalid(group, spec.Group, "should be a domain with at least one dot")
	}
	p.oneOf(p.path.Child("scope"), string(spec.Scope), string(internal.ClusterScoped), string(internal.NamespaceScoped))
	if spec.PreserveUnknownFields != nil && *spec.PreserveUnknownFields {
		p.invalid(p.path.Child("preserveUnknownFields"), true,
			"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead")
	}
	p.versions(spec)
	p.names(&spec.Names, p.path.Child("names"))
	for _, name := range [][2]string{
		{"plural", spec.Names.Plural}, {"singular", spec.Names.Singular}, {"kind", spec.Names.Kind}, {"listKind", spec.Names.ListKind},
	} {
		if name[1] == "" {
			p.required(p.path.Child("names", name[0]), "")
		}
	}
	p.schema(spec.Validation, statusEnabled(spec), p.path.Child("validation"))
	p.subresources(spec.Subresources, p.path.Child("subresources"))
	for i := range spec.AdditionalPrinterColumns {
		p.column(&spec.AdditionalPrinterColumns[i], p.path.Child("additionalPrinterColumns").Index(i))
	}
	p.selectable(spec.SelectableFields, spec.Validation, p.path.Child("selectableFields"))
	p.conversion(spec.Conversion, p.path.Child("conversion"))
}

func (p *problems) versions(spec *internal.CustomResourceDefinitionSpec) {
	path := p.path.Child("versions")
	storage, unique := 0, map[string]bool{}
	for i, v := range spec.Versions {
		at := path.Index(i)
		if v.Storage {
			storage++
		}
		unique[v.Name] = true
		if (v.Schema == nil || v.Schema.OpenAPIV3Schema == nil) && (spec.Validation == nil || spec.Validation.OpenAPIV3Schema == nil) {
			p.required(at.Child("schema", "openAPIV3Schema"), "")
		}
		if msgs := utilvalidation.IsDNS1035Label(v.Name); len(msgs) > 0 {
			p.invalid(at.Child("name"), v.Name, strings.Join(msgs, ","))
		}
		if v.DeprecationWarning != nil {
			p.deprecation(&spec.Versions[i], at.Child("deprecationWarning"))
		}
		subresources := v.Subresources
		if subresources == nil {
			subresources = spec.Subresources
		}
		p.schema(v.Schema, subresources != nil && subresources.Status != nil, at.Child("schema"))
		p.subresources(v.Subresources, at.Child("subresources"))
		for j := range v.AdditionalPrinterColumns {
			p.column(&v.AdditionalPrinterColumns[j], at.Child("additionalPrinterColumns").Index(j))
		}
		p.selectable(v.SelectableFields, v.Schema, at.Child("selectableFields"))
	}
	if len(unique) < len(spec.Versions) {
		p.invalid(path, p.quoted(spec.Versions), "must contain unique version names")
	}
	if storage != 1 {
		p.invalid(path, p.quoted(spec.Versions), "must have exactly one version marked as storage version")
	}
}

// Upstream: validateDeprecationWarning, v1.37.
func (p *problems) deprecation(v *internal.CustomResourceDefinitionVersion, path *field.Path) {
	text := *v.DeprecationWarning
	switch {
	case !v.Deprecated:
		p.invalid(path, text, "can only be set for deprecated versions")
	case len(text) > 256:
		p.invalid(path, text, "must be <= 256 characters long")
	case text == "":
		p.invalid(path, text, "must not be an empty string")
	}
}

func statusEnabled(spec *internal.CustomResourceDefinitionSpec) bool {
	has := func(s *internal.CustomResourceSubresources) bool { return s != nil && s.Status != nil }
	return has(spec.Subresources) || slices.ContainsFunc(spec.Versions, func(v internal.CustomResourceDefinitionVersion) bool { return has(v.Subresources) })
}

// Upstream: ValidateCustomResourceDefinitionNames, v1.37.
func (p *problems) names(names *internal.CustomResourceDefinitionNames, path *field.Path) {
	p.label(path.Child("plural"), names.Plural)
	p.label(path.Child("singular"), names.Singular)
	for _, name := range [][2]string{{"kind", names.Kind}, {"listKind", names.ListKind}} {
		if name[1] != "" {
			p.list = append(p.list, kindName(path.Child(name[0]), name[1])...)
		}
	}
	for i, name := range names.ShortNames {
		if msgs := utilvalidation.IsDNS1035Label(name); len(msgs) > 0 {
			p.invalid(path.Child("shortNames").Index(i), name, strings.Join(msgs, ","))
		}
	}
	if names.Kind != "" && names.Kind == names.ListKind {
		p.invalid(path.Child("listKind"), names.ListKind, "kind and listKind may not be the same")
	}
	for i, name := range names.Categories {
		if msgs := utilvalidation.IsDNS1035Label(name); len(msgs) > 0 {
			p.invalid(path.Child("categories").Index(i), name, strings.Join(msgs, ","))
		}
	}
}

// named says what the name of a definition must be; "" if it is that.
// Upstream: ValidateCustomResourceDefinition, v1.37.2.
func named(def *apiextensions.CustomResourceDefinition, name string) string {
	if name == def.Spec.Names.Plural+"."+def.Spec.Group {
		return ""
	}
	return `must be spec.names.plural+"."+spec.group`
}

// validateStatus says what is wrong with the status of a definition. An update of the status may name any stored versions.
// Upstream: ValidateCustomResourceDefinitionStatus, v1.37.2.
func validateStatus(def *apiextensions.CustomResourceDefinition) field.ErrorList {
	p := &problems{path: field.NewPath("status")}
	accepted := internal.CustomResourceDefinitionNames(def.Status.AcceptedNames)
	p.names(&accepted, p.path.Child("acceptedNames"))
	return p.list
}

// storedVersions says what is wrong with the versions in which objects may be stored.
// Upstream: ValidateCustomResourceDefinitionStoredVersions, v1.37.2.
func (p *problems) storedVersions(def *apiextensions.CustomResourceDefinition) {
	stored, path := def.Status.StoredVersions, field.NewPath("status", "storedVersions")
	if len(stored) == 0 {
		p.invalid(path, stored, "must have at least one stored version")
	}
	for i, name := range stored {
		if !slices.ContainsFunc(def.Spec.Versions, func(v apiextensions.CustomResourceDefinitionVersion) bool { return v.Name == name }) {
			p.invalid(path.Index(i), name, fmt.Sprintf("missing from spec.versions; %[1]s was previously a storage version, and must remain in spec.versions "+
				"until a storage migration ensures no data remains persisted in %[1]s and removes %[1]s from status.storedVersions", name))
		}
	}
}

// update refuses changes of what cannot change.
// Upstream: validateCustomResourceDefinitionSpecUpdate, v1.37.
func (p *problems) update(spec *apiextensions.CustomResourceDefinitionSpec, old *apiextensions.CustomResourceDefinition) {
	same := func(is, was any, path *field.Path) {
		p.list = append(p.list, apivalidation.ValidateImmutableField(is, was, path)...)
	}
	if isTrue(old, apiextensions.Established) {
		same(spec.Scope, old.Spec.Scope, p.path.Child("scope"))
		same(spec.Names.Kind, old.Spec.Names.Kind, p.path.Child("names", "kind"))
	}
	same(spec.Group, old.Spec.Group, p.path.Child("group"))
	same(spec.Names.Plural, old.Spec.Names.Plural, p.path.Child("names", "plural"))
}

// approval requires an annotation of definitions in the groups of Kubernetes.
// Upstream: validateAPIApproval, v1.37.
func (p *problems) approval(def, old *apiextensions.CustomResourceDefinition) {
	if !apihelpers.IsProtectedCommunityGroup(def.Spec.Group) {
		return
	}
	state, reason := apihelpers.GetAPIApprovalState(def.Annotations)
	if old != nil {
		if was, _ := apihelpers.GetAPIApprovalState(old.Annotations); was == state {
			return
		}
	}
	const name = apiextensions.KubeAPIApprovedAnnotation
	path := field.NewPath("metadata", "annotations").Key(name)
	switch state {
	case apihelpers.APIApprovalInvalid:
		p.invalid(path, def.Annotations[name], reason)
	case apihelpers.APIApprovalMissing:
		p.required(path, reason)
	}
}
