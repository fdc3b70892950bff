package crd

import (
	"fmt"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/util/jsonpath"

	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/warnings"
	"github.com/storagesim/storagesim/api/registry"
)

// kind returns the entry of the definitions themselves.
// Upstream: registry/customresourcedefinition strategy, v1.37.
func (c *controller) kind() registry.Kind {
	def := func(obj runtime.Object) *apiextensions.CustomResourceDefinition {
		return obj.(*apiextensions.CustomResourceDefinition)
	}
	return registry.Kind{
		Group: apiextensions.GroupName, Version: "v1", Kind: "CustomResourceDefinition", ShortNames: []string{"crd", "crds"},
		Categories: []string{"api-extensions"}, ClusterScoped: true, Generations: true, Conditional: true,
		HashAs: schema.GroupVersion{Group: apiextensions.GroupName, Version: "v1beta1"},
		Strategy: strategy.Kind{
			Default: func(obj runtime.Object) { apiextensions.SetDefaults_CustomResourceDefinition(def(obj)) },
			Create: func(obj runtime.Object, _ metav1.Time) {
				def(obj).Status = apiextensions.CustomResourceDefinitionStatus{}
				storeVersion(def(obj))
			},
			Update: func(obj, _ runtime.Object) { storeVersion(def(obj)) },
		},
		Validation: validation.Kind{
			AnyFinalizer: true, Twice: true,
			Named:        func(obj runtime.Object, name string) string { return named(def(obj), name) },
			Create:       func(obj runtime.Object) field.ErrorList { return validate(def(obj), nil) },
			Update:       func(obj, old runtime.Object) field.ErrorList { return validate(def(obj), def(old)) },
			UpdateStatus: func(obj, _ runtime.Object) field.ErrorList { return validateStatus(def(obj)) },
		},
		BeforeDelete: c.beginDeletion,
		Written:      func(_, _ runtime.Object) { c.changed() },
		Warnings:     warnings.Kind{Write: func(obj, old runtime.Object) []string { return warningsOf(def(obj), old) }},
		Columns:      definitionColumns(), Cells: definitionCells, Types: onApply{},
	}
}

// storeVersion notes the version in which objects are stored: objects of each that is noted
// may be in the store.
func storeVersion(def *apiextensions.CustomResourceDefinition) {
	for _, v := range def.Spec.Versions {
		if v.Storage && !slices.Contains(def.Status.StoredVersions, v.Name) {
			def.Status.StoredVersions = append(slices.Clone(def.Status.StoredVersions), v.Name)
		}
	}
}

// kindsOf returns the entries of the kind that a definition defines, one for each version that
// is served, the preferred one first.
// Upstream: apiserver crdHandler.getOrCreateServingInfoFor, v1.37.
func (c *controller) kindsOf(def *apiextensions.CustomResourceDefinition, terminating bool) ([]registry.Kind, error) {
	versions := slices.Clone(def.Spec.Versions)
	slices.SortStableFunc(versions, func(a, b apiextensions.CustomResourceDefinitionVersion) int {
		return version.CompareKubeAwareVersionStrings(b.Name, a.Name)
	})
	stored, err := storedShape(def)
	if err != nil {
		return nil, err
	}
	var kinds []registry.Kind
	for i := range versions {
		v := &versions[i]
		if !v.Served {
			continue
		}
		kind, err := c.kindOf(def, v, stored)
		if err != nil {
			return nil, notServed(v.Name, err)
		}
		kind.NotPreferred = len(kinds) > 0
		if terminating {
			kind.Sealed = sealed
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// storedShape returns the schema of the version in which objects are stored.
func storedShape(def *apiextensions.CustomResourceDefinition) (*shape, error) {
	for i := range def.Spec.Versions {
		if v := &def.Spec.Versions[i]; v.Storage {
			s, err := compile(def, v)
			if err != nil {
				return nil, notServed(v.Name, err)
			}
			return s, nil
		}
	}
	return &shape{structural: &structural.Structural{}, preserve: true}, nil // validation sees to it that there is one
}

// kindOf returns the registry's entry of version v. An object that is written in v gets the defaults of v. When it is stored, it loses the
// fields that the stored version does not have, and gets the defaults of that. When an object is shown in a version that is not the stored
// one, it loses the fields which that version does not have, and gets no defaults.
// Upstream: apiserver customresource_handler.go crdConversionRESTOptionsGetter.GetRESTOptions, v1.37.2.
func (c *controller) kindOf(def *apiextensions.CustomResourceDefinition, v *apiextensions.CustomResourceDefinitionVersion,
	stored *shape) (registry.Kind, error) {
	names, s := def.Status.AcceptedNames, stored
	if !v.Storage {
		var err error
		if s, err = compile(def, v); err != nil {
			return registry.Kind{}, err
		}
	}
	fields, err := selectable(v.SelectableFields)
	if err != nil {
		return registry.Kind{}, err
	}
	columns, cells, err := printer(v.AdditionalPrinterColumns)
	if err != nil {
		return registry.Kind{}, err
	}
	types, err := s.types(def.Spec.Group, v.Name, names.Kind)
	if err != nil {
		return registry.Kind{}, err
	}
	hasStatus := v.Subresources != nil && v.Subresources.Status != nil
	return registry.Kind{
		Group: def.Spec.Group, Version: v.Name, Kind: names.Kind, ListKind: names.ListKind, Resource: names.Plural, Singular: names.Singular,
		ShortNames: names.ShortNames, Categories: names.Categories, ClusterScoped: def.Spec.Scope == apiextensions.ClusterScoped,
		Verbs: customVerbs, StoredAs: storedAs(def), NoStatus: !hasStatus, StatusKeeps: []string{"metadata"}, Generations: true, Conditional: true,
		Strategy: strategy.Kind{
			Default: func(obj runtime.Object) { s.complete(obj.(*unstructured.Unstructured)) },
			// What was applied is not decoded, which drops null. Upstream: apimachinery util/managedfields structuredMergeManager.Apply, v0.37.2.
			DefaultApplied: func(obj runtime.Object) { setDefaults(fieldsOf(obj), s.structural) },
			UpdateStatus:   func(obj, old runtime.Object, _ metav1.Time) { takeStatus(obj.(*unstructured.Unstructured), old) },
		},
		Validation: validation.Kind{
			AnyFinalizer: true, Twice: true,
			Create:       func(obj runtime.Object) field.ErrorList { return s.validate(fieldsOf(obj), nil) },
			Update:       func(obj, old runtime.Object) field.ErrorList { return s.validate(fieldsOf(obj), fieldsOf(old)) },
			UpdateStatus: func(obj, old runtime.Object) field.ErrorList { return s.validateStatus(fieldsOf(obj), fieldsOf(old)) },
			Last: func(errs field.ErrorList, obj, old runtime.Object) field.ErrorList {
				if old == nil {
					return s.validateRules(errs, fieldsOf(obj), nil)
				}
				return s.validateRules(errs, fieldsOf(obj), fieldsOf(old))
			},
		},
		Unknown: s.unknown,
		Show: func(obj runtime.Object) {
			if v.Storage {
				s.complete(obj.(*unstructured.Unstructured))
			} else {
				s.prune(fieldsOf(obj))
			}
		},
		Store: func(obj runtime.Object) { stored.complete(obj.(*unstructured.Unstructured)) },
		Written: func(_, obj runtime.Object) {
			if obj == nil {
				c.changed() // a definition may wait for it
			}
		},
		Warnings:   warnings.Custom(),
		Scale:      s.scaling(),
		Deprecated: deprecated(def.Spec.Group, names.Kind, v),
		Fields:     fields, Columns: columns, Cells: cells, Types: types, Schema: s.published(),
	}, nil
}

// customVerbs are the verbs of a custom kind in the order in which discovery lists them.
// Upstream: apiserver customresource_discovery_controller.go sync, v1.37.2.
var customVerbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}

// deprecated returns the warning that each request for a version gets, if it is deprecated.
// Upstream: apiserver customresource_handler.go crdHandler, v1.37.
func deprecated(group, kind string, v *apiextensions.CustomResourceDefinitionVersion) string {
	switch {
	case !v.Deprecated:
		return ""
	case v.DeprecationWarning != nil:
		return *v.DeprecationWarning
	}
	return fmt.Sprintf("%s/%s %s is deprecated", group, v.Name, kind)
}

func fieldsOf(obj runtime.Object) map[string]any { return obj.(*unstructured.Unstructured).Object }

// storedAs returns the version in which the objects of a definition are stored.
func storedAs(def *apiextensions.CustomResourceDefinition) string {
	for _, v := range def.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return "" // validation sees to it that there is one
}

// takeStatus has an update of the status change nothing else, also no metadata.
// Upstream: registry/customresource statusStrategy.PrepareForUpdate, v1.37.
func takeStatus(obj *unstructured.Unstructured, old runtime.Object) {
	status, ok := obj.Object["status"]
	apiVersion, managed := obj.GetAPIVersion(), obj.GetManagedFields()
	obj.Object = old.DeepCopyObject().(*unstructured.Unstructured).Object
	obj.SetAPIVersion(apiVersion)
	if len(managed) > 0 {
		obj.SetManagedFields(managed)
	}
	if ok {
		obj.Object["status"] = status
	} else {
		delete(obj.Object, "status")
	}
}

// selectable returns the fields by which the objects of a version can be selected.
// Upstream: registry/customresource prepareSelectableFields, v1.37.
func selectable(list []apiextensions.SelectableField) (map[string]func(runtime.Object) string, error) {
	fields := map[string]func(runtime.Object) string{}
	for _, f := range list {
		path := jsonpath.New("selectableField").AllowMissingKeys(true)
		if err := path.Parse("{" + f.JSONPath + "}"); err != nil {
			return nil, fmt.Errorf("selectable field %s: %w", f.JSONPath, err)
		}
		fields[strings.TrimPrefix(f.JSONPath, ".")] = func(obj runtime.Object) string {
			found, err := path.FindResults(fieldsOf(obj))
			if err != nil || len(found) == 0 || len(found[0]) == 0 || found[0][0].Interface() == nil {
				return ""
			}
			return fmt.Sprint(found[0][0].Interface())
		}
	}
	return fields, nil
}
