package api

import (
	"encoding/json"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/quantity"
)

// typeConverter knows the schema of every built-in kind. It takes a while to
// build, so that it is built by the first apply.
var typeConverter = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
})

// fieldManager tracks which manager set which field of the objects of a kind. Only
// objects that were once applied are tracked: everything else stays fast.
func fieldManager(k *registry.Entry, sub string) (*managedfields.FieldManager, error) {
	ignored := "status"
	if sub == "status" {
		ignored = "spec"
	}
	reset := map[fieldpath.APIVersion]fieldpath.Filter{
		fieldpath.APIVersion(k.GVK.GroupVersion().String()): fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie(ignored))),
	}
	converter := managedfields.NewDeducedTypeConverter()
	switch {
	case k.Types != nil:
		converter = k.Types
	case k.Scheme == scheme.Scheme:
		converter = typeConverter()
	}
	return managedfields.NewDefaultFieldManager(converter, asIs{k}, asIs{k}, asIs{k}, k.GVK, k.GVK.GroupVersion(), sub, reset)
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
			return nil, apierrors.NewBadRequest(err.Error())
		}
		out = typed
	}
	out.GetObjectKind().SetGroupVersionKind(a.Entry.GVK)
	return out, nil
}

func (asIs) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// apply returns a server-side apply: it creates the object, or sets the fields in the
// configuration and removes those that the same manager set before and no longer
// mentions. Another manager's field is a conflict unless forced.
func (s *Server) apply(r *request, data []byte, opts metav1.PatchOptions) (runtime.Object, error) {
	config, err := r.configuration(data)
	if err != nil {
		return nil, s.refuse(r, err)
	}
	r.tracked = true
	return s.change(r, func(r *request, old call.Object) (call.Object, error) {
		live := r.asShown(old)
		exists := live != nil
		if uid := config.GetUID(); uid != "" && !exists {
			return nil, r.invalid(field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
		}
		if !exists && r.sub != "" {
			return nil, r.notFound()
		}
		obj, err := s.applied(r, live, exists, config, opts)
		if err != nil || !r.strict {
			return obj, err
		}
		if err := yaml.UnmarshalStrict(data, &map[string]any{}); err != nil { // a field is there twice
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
		}
		return obj, nil
	})
}

// configuration decodes the configuration to apply.
func (r *request) configuration(data []byte) (*unstructured.Unstructured, error) {
	config := &unstructured.Unstructured{Object: map[string]any{}}
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, apierrors.NewBadRequest("error encoding patch: " + err.Error())
	}
	if err := json.Unmarshal(text, &config.Object); err != nil {
		return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
	}
	if gvk := config.GroupVersionKind(); gvk.Version == "" || gvk.Kind == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("invalid object type: %v", gvk))
	} else if gvk != r.kind.GVK {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the API version or kind in the data (%s) does not match the expected one (%s)", gvk, r.kind.GVK))
	}
	if metadata, _ := config.Object["metadata"].(map[string]any); metadata["name"] == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", r.name))
	}
	if name := config.GetName(); name != "" && name != r.name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, r.name))
	}
	if ns := config.GetNamespace(); r.kind.Namespaced && ns != "" && ns != r.namespace {
		return nil, apierrors.NewBadRequest(wrongNamespace)
	}
	asJSON, err := json.Marshal(config.Object)
	if err == nil {
		err = config.UnmarshalJSON(asJSON) // whole numbers are int64 then
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := quantity.CheckJSON(asJSON, r.kind.NewObject()); err != nil {
		return nil, r.refusedQuantity(err)
	}
	if len(config.GetManagedFields()) > 0 {
		return nil, apierrors.NewBadRequest("metadata.managedFields must be nil")
	}
	config.SetName(r.name)
	return config, nil
}

// applied returns the live object, or an empty one, with the configuration applied.
func (s *Server) applied(r *request, live call.Object, exists bool, config *unstructured.Unstructured, opts metav1.PatchOptions) (call.Object, error) {
	manager, err := fieldManager(r.kind, r.sub)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	base := r.kind.NewObject()
	if exists {
		base = live.DeepCopyObject().(call.Object)
	}
	base.GetObjectKind().SetGroupVersionKind(r.kind.GVK)
	out, err := manager.Apply(base, config, opts.FieldManager, opts.Force != nil && *opts.Force)
	if err != nil {
		return nil, refusal.AsStatus(err)
	}
	obj, ok := out.(call.Object)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("apply made a %T", out))
	}
	if obj, err = r.accept(obj); err != nil {
		return nil, err
	}
	s.stampFields(live, obj)
	return obj, nil
}

// trackFields notes which manager set which field in an update of an object that was once
// applied.
func (s *Server) trackFields(r *request, old, obj call.Object) error {
	if r.tracked || len(old.GetManagedFields()) == 0 {
		return nil
	}
	manager, err := fieldManager(r.kind, r.sub)
	if err != nil {
		return err
	}
	name := r.manager
	if name == "" {
		name = r.actor
	}
	live := r.kind.Shown(old).(call.Object)
	live.GetObjectKind().SetGroupVersionKind(r.kind.GVK)
	obj.GetObjectKind().SetGroupVersionKind(r.kind.GVK)
	out, err := manager.Update(live, obj, name)
	if err != nil {
		return err
	}
	obj.SetManagedFields(out.(call.Object).GetManagedFields())
	r.kind.Label(obj)
	s.stampFields(old, obj)
	return nil
}

// stampFields gives entries that are new or changed the server's time: the field
// manager only knows the wall clock. If nothing but the time of an entry differs,
// the entry did not change.
func (s *Server) stampFields(old, obj call.Object) {
	var before []metav1.ManagedFieldsEntry
	if old != nil {
		before = old.GetManagedFields()
	}
	now := s.now()
	entries := obj.GetManagedFields()
	for i := range entries {
		entries[i].Time = &now
		for _, was := range before {
			if sameEntry(was, entries[i]) {
				entries[i].Time = was.Time
			}
		}
	}
	obj.SetManagedFields(entries)
}

func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	a.Time, b.Time = nil, nil
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
