package patch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/quantity"
	"github.com/storagesim/storagesim/internal/semantic"
)

// typeConverter knows the schema of every built-in kind. It takes a while to
// build, so that it is built by the first apply.
var typeConverter = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
})

// fieldManager tracks which manager set which field of the objects of a kind. Only
// objects that were once applied, or that came over HTTP, are tracked: everything else stays fast.
func fieldManager(k *registry.Entry, sub string) (*managedfields.FieldManager, error) {
	ignored := fieldpath.NewSet()
	switch {
	case sub == "" && !k.NoStatus, sub == "finalize":
		ignored.Insert(fieldpath.MakePathOrDie("status"))
	case sub == "status":
		ignored.Insert(fieldpath.MakePathOrDie("spec"))
		for _, field := range k.StatusKeeps {
			ignored.Insert(fieldpath.MakePathOrDie(parts(field)...))
		}
	}
	reset := map[fieldpath.APIVersion]fieldpath.Filter{
		fieldpath.APIVersion(k.GVK.GroupVersion().String()): fieldpath.NewExcludeSetFilter(ignored),
	}
	converter := managedfields.NewDeducedTypeConverter()
	switch {
	case k.Types != nil:
		converter = k.Types
	case k.Scheme == scheme.Scheme:
		converter = typeConverter()
	}
	converter = sameErrors{converter}
	if k.Scheme == nil {
		return managedfields.NewDefaultCRDFieldManager(converter, asIs{k}, asIs{k}, asIs{k}, k.GVK, k.GVK.GroupVersion(), sub, reset)
	}
	return managedfields.NewDefaultFieldManager(converter, asIs{k}, asIs{k}, asIs{k}, k.GVK, k.GVK.GroupVersion(), sub, reset)
}

// parts returns the steps to a field such as metadata.labels.
func parts(field string) (steps []any) {
	for step := range strings.SplitSeq(field, ".") {
		steps = append(steps, step)
	}
	return steps
}

// asIs converts and defaults nothing: objects come in one version, and the
// server applies its defaults itself. It only sets their
// kind.
type asIs struct{ Entry *registry.Entry }

// New makes an empty object: there is only one kind here.
func (a asIs) New(schema.GroupVersionKind) (runtime.Object, error) { return a.Entry.NewObject(), nil }

func (asIs) Default(runtime.Object) {}

func (asIs) Convert(in, out, _ any) error {
	return fmt.Errorf("%T is not converted to %T: there is one version of everything", in, out)
}

func (a asIs) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	out := in.DeepCopyObject()
	if u, ok := in.(*unstructured.Unstructured); ok && a.Entry.Scheme != nil {
		typed := a.Entry.NewObject()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
			return nil, fmt.Errorf("unable to convert unstructured object to %v: %w", a.Entry.GVK, err)
		}
		out = typed
	}
	out.GetObjectKind().SetGroupVersionKind(a.Entry.GVK)
	return out, nil
}

func (asIs) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Configuration decodes the configuration to apply.
func (t *Target) Configuration(data []byte) (*unstructured.Unstructured, error) {
	config := &unstructured.Unstructured{Object: map[string]any{}}
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, apierrors.NewBadRequest("error encoding patch: " + err.Error())
	}
	if err := json.Unmarshal(text, &config.Object); err != nil {
		return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	var whole map[string]any // in which whole numbers are int64
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &whole); err != nil {
		return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	config.Object = whole
	return config, nil
}

// Check refuses a configuration that is not one of the target.
// Upstream: apimachinery util/managedfields/internal versionCheckManager.Apply, v0.37.2, for its kind.
func (t *Target) Check(config *unstructured.Unstructured) error {
	if gvk := config.GroupVersionKind(); gvk != t.Kind.GVK {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid object type: %v", gvk))
	}
	if metadata, _ := config.Object["metadata"].(map[string]any); metadata["name"] == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", t.Name))
	}
	asJSON, err := json.Marshal(config.Object)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := quantity.CheckJSON(asJSON, t.Kind.NewObject()); err != nil {
		return refusal.Quantity(t.Kind.GVK.GroupKind(), t.Name, err)
	}
	return nil
}

// Applied returns the live object, or a new one where it is nil, with the configuration applied for a manager.
func (t *Target) Applied(live call.Object, config *unstructured.Unstructured, manager string, force bool) (call.Object, error) {
	fields, err := fieldManager(t.Kind, t.Sub)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	base := t.Kind.NewObject()
	if live != nil {
		base = live.DeepCopyObject().(call.Object)
	}
	base.GetObjectKind().SetGroupVersionKind(t.Kind.GVK)
	out, err := fields.Apply(base, config, manager, force)
	if err != nil {
		return nil, refusal.AsStatus(err)
	}
	obj, ok := out.(call.Object)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("apply returned a %T, which is no API object", out))
	}
	if err := t.checkPlace(config); err != nil {
		return nil, err
	}
	obj.SetName(t.Name) // which the configuration may leave out
	return obj, nil
}

// checkPlace refuses a configuration of another name or namespace. A conflict is found before.
// Upstream: apiserver endpoints/handlers patcher.applyPatch, v1.37.2.
func (t *Target) checkPlace(config *unstructured.Unstructured) error {
	if ns := config.GetNamespace(); t.Kind.Namespaced && ns != "" && ns != t.Namespace {
		return refusal.Namespace()
	}
	if name := config.GetName(); name != "" && name != t.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, t.Name))
	}
	return nil
}

// Form returns the target of a request for another form of the object, such as its Scale.
func (t *Target) Form(gvk schema.GroupVersionKind) *Target {
	form := *t
	form.Kind = &registry.Entry{
		Kind: registry.Kind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Types: formTypes(gvk)}, GVK: gvk,
		Namespaced: t.Kind.Namespaced,
		Scheme:     scheme.Scheme, Type: scheme.Scheme.KnownTypes(gvk.GroupVersion())[gvk.Kind],
	}
	return &form
}

// Track notes in obj which fields a manager has set in an update of old, or of a new object where old is nil. Where that
// cannot be told the entries stay as they were.
// Upstream: apimachinery util/managedfields FieldManager.UpdateNoErrors, v0.37.2.
func (t *Target) Track(old, obj call.Object, manager string, now metav1.Time) {
	live, before := t.Kind.NewObject(), []metav1.ManagedFieldsEntry(nil)
	if old != nil {
		live, before = t.Kind.Shown(old).(call.Object), old.GetManagedFields()
	}
	entries, err := t.tracked(live, obj, manager)
	if err != nil {
		entries = slices.Clone(before) // those of old are shared
	}
	obj.SetManagedFields(entries)
	t.Kind.Label(obj)
	Stamp(old, obj, now)
}

// tracked returns the entries of obj after an update of live by a manager.
func (t *Target) tracked(live, obj call.Object, manager string) ([]metav1.ManagedFieldsEntry, error) {
	fields, err := fieldManager(t.Kind, t.Sub)
	if err != nil {
		return nil, err
	}
	live.GetObjectKind().SetGroupVersionKind(t.Kind.GVK)
	obj.GetObjectKind().SetGroupVersionKind(t.Kind.GVK)
	out, err := fields.Update(live, obj, manager)
	if err != nil {
		return nil, err
	}
	return out.(call.Object).GetManagedFields(), nil
}

// Stamp gives the entries of obj that the field manager has given the time of the wall clock the time of the write instead: those that
// old, which is nil for a new object, does not have at the same time. Then it sorts them. An entry of an apply that changed nothing but
// who manages the object has no time.
// Upstream: apimachinery util/managedfields managedFieldsUpdater, v0.37.2.
func Stamp(old, obj call.Object, now metav1.Time) {
	times := map[metav1.ManagedFieldsEntry]*metav1.Time{}
	if old != nil {
		for _, was := range old.GetManagedFields() {
			times[identity(was)] = was.Time
		}
	}
	entries := obj.GetManagedFields()
	for i := range entries {
		if at := entries[i].Time; at != nil && !at.Equal(times[identity(entries[i])]) {
			entries[i].Time = &now
		}
	}
	sortEncodedManagedFields(entries)
	obj.SetManagedFields(entries)
}

// identity returns the fields of an entry that tell it from the others of its object.
func identity(e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: e.Manager, Operation: e.Operation, APIVersion: e.APIVersion, Subresource: e.Subresource}
}

// sortEncodedManagedFields sorts entries: those of applies first, each by time.
// Upstream: apimachinery util/managedfields/internal/managedfields.go sortEncodedManagedFields, v0.37.2.
func sortEncodedManagedFields(entries []metav1.ManagedFieldsEntry) {
	seconds := func(e metav1.ManagedFieldsEntry) int64 {
		if e.Time == nil {
			return 0
		}
		return e.Time.Unix()
	}
	slices.SortFunc(entries, func(p, q metav1.ManagedFieldsEntry) int {
		return cmp.Or(cmp.Compare(p.Operation, q.Operation), cmp.Compare(seconds(p), seconds(q)), cmp.Compare(p.Manager, q.Manager),
			cmp.Compare(p.APIVersion, q.APIVersion), cmp.Compare(p.Subresource, q.Subresource))
	})
}

// DifferInTimes reports whether nothing but the times of managedFields differs: such a write changes nothing.
// Upstream: apiserver endpoints/handlers/fieldmanager/equality.go IgnoreManagedFieldsTimestampsTransformer, v1.37.2.
func DifferInTimes(old, obj call.Object) bool {
	before, entries := old.GetManagedFields(), obj.GetManagedFields()
	if len(before) == 0 || !slices.EqualFunc(before, entries, sameEntry) {
		return false
	}
	defer obj.SetManagedFields(entries)
	obj.SetManagedFields(before)
	return semantic.Equal(old, obj)
}

func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	a.Time, b.Time = nil, nil
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
