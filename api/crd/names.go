package crd

import (
	"errors"
	"fmt"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/storagesim/storagesim/internal/semantic"
)

// name decides which of its names a definition gets, and says whether it wrote that down.
// Upstream: controller/status NamingConditionController.sync and
// calculateNamesAndConditions, v1.37.
func (c *controller) name(def *apiextensions.CustomResourceDefinition, all []apiextensions.CustomResourceDefinition) bool {
	if semantic.Equal(def.Spec.Names, def.Status.AcceptedNames) {
		return false
	}
	accepted, naming := accept(def, taken(def, all))
	before := def.Status.DeepCopy()
	def.Status.AcceptedNames = accepted
	c.set(def, naming)
	if established := find(def, apiextensions.Established); established == nil || established.Status != apiextensions.ConditionTrue {
		is := condition(apiextensions.Established, false, "NotAccepted", "not all names are accepted")
		if naming.Status == apiextensions.ConditionTrue {
			is = condition(apiextensions.Established, false, "Installing", "the initial names have been accepted")
		}
		c.set(def, is)
	}
	if semantic.Equal(before, &def.Status) {
		return false
	}
	c.updateStatus(def)
	return true
}

// used are the names that other definitions of a group have.
type used struct{ resources, kinds []string }

func taken(def *apiextensions.CustomResourceDefinition, all []apiextensions.CustomResourceDefinition) (u used) {
	for i := range all {
		if other := &all[i]; other.Spec.Group == def.Spec.Group && other.Name != def.Name {
			names := other.Status.AcceptedNames
			u.resources = append(append(u.resources, names.Plural, names.Singular), names.ShortNames...)
			u.kinds = append(u.kinds, names.Kind, names.ListKind)
		}
	}
	return u
}

// accept returns the names that a definition may have, and the condition NamesAccepted.
func accept(def *apiextensions.CustomResourceDefinition, u used) (apiextensions.CustomResourceDefinitionNames,
	apiextensions.CustomResourceDefinitionCondition) {
	want, is := def.Spec.Names, def.Status.AcceptedNames
	got := is
	result := condition(apiextensions.NamesAccepted, true, "NoConflicts", "no conflicts found")
	acceptOrKeep := func(want, is string, taken []string, reason string, into *string) {
		if want != is && slices.Contains(taken, want) {
			result = condition(apiextensions.NamesAccepted, false, reason, inUse(want).Error())
			return
		}
		*into = want
	}
	acceptOrKeep(want.Plural, is.Plural, u.resources, "PluralConflict", &got.Plural)
	acceptOrKeep(want.Singular, is.Singular, u.resources, "SingularConflict", &got.Singular)
	var conflicts []error
	for _, short := range want.ShortNames {
		if !slices.Contains(is.ShortNames, short) && slices.Contains(u.resources, short) {
			conflicts = append(conflicts, inUse(short))
		}
	}
	if err := errors.Join(conflicts...); err != nil {
		result = condition(apiextensions.NamesAccepted, false, "ShortNamesConflict", err.Error())
	} else {
		got.ShortNames = want.ShortNames
	}
	acceptOrKeep(want.Kind, is.Kind, u.kinds, "KindConflict", &got.Kind)
	acceptOrKeep(want.ListKind, is.ListKind, u.kinds, "ListKindConflict", &got.ListKind)
	got.Categories = want.Categories
	return got, result
}

func inUse(name string) error { return fmt.Errorf("%q is already in use", name) }
