package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// patch changes the object, or its status if that is the subresource. A
// metadata.resourceVersion in the patch is a precondition.
func (s *Server) patch(r *request, pt types.PatchType, data []byte, opts metav1.PatchOptions) (runtime.Object, error) {
	if pt == types.ApplyPatchType {
		return s.apply(r, data, opts)
	}
	return s.write(r, func(st *store) (outcome, error) {
		old, ok := st.items[keyOf(r.namespace, r.name)]
		if !ok {
			return outcome{}, r.notFound()
		}
		obj, err := r.patched(old, pt, data)
		if err != nil {
			return outcome{}, err
		}
		if obj.GetResourceVersion() == "" { // removed by the patch
			obj.SetResourceVersion(old.GetResourceVersion())
		}
		return s.replace(r, st, old, obj)
	})
}

// patched is old with the patch applied.
func (r *request) patched(old object, pt types.PatchType, data []byte) (object, error) {
	before, err := r.encode(r.patchable(old, pt, data))
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	var after []byte
	switch pt {
	case types.JSONPatchType:
		after, err = jsonPatch(before, data)
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, data)
	case types.StrategicMergePatchType:
		after, err = strategicpatch.StrategicMergePatch(before, data, r.kind.newObject())
	default:
		return nil, unknownPatch(pt)
	}
	if err != nil {
		return nil, patchError(err)
	}
	return r.decode(after, data)
}

// patchable is the part of old that decides what a patch of it makes: all of it, but
// for a status whose patch says nothing of a spec, which is put back afterwards
// (keepSpec) and would only be encoded and decoded.
func (r *request) patchable(old object, pt types.PatchType, data []byte) object {
	var patch struct {
		Spec json.RawMessage `json:"spec"`
	}
	if r.sub != "status" || r.kind.status < 0 || r.kind.spec < 0 || pt == types.JSONPatchType ||
		json.Unmarshal(data, &patch) != nil || patch.Spec != nil {
		return old
	}
	part := reflect.New(r.kind.typ)
	part.Elem().Set(reflect.ValueOf(old).Elem())
	part.Elem().Field(r.kind.spec).SetZero()
	return part.Interface().(object)
}

func unknownPatch(pt types.PatchType) error {
	err := apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", schema.GroupResource{}, "", "", 0, true)
	err.ErrStatus.Message = fmt.Sprintf("patch type %q is not one of %q, %q, %q, %q", pt,
		types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyPatchType)
	return err
}

func jsonPatch(before, data []byte) ([]byte, error) {
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, err
	}
	after, err := patch.Apply(before)
	if err != nil { // well-formed, but it does not fit this object
		return nil, unprocessable(err)
	}
	return after, nil
}

func patchError(err error) error {
	if _, ok := err.(apierrors.APIStatus); ok {
		return err
	}
	return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
}

// encode is the object as JSON, with its kind.
func (r *request) encode(obj object) ([]byte, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(metav1.TypeMeta{APIVersion: r.kind.gvk.GroupVersion().String(), Kind: r.kind.gvk.Kind})
	if err != nil {
		return nil, err
	}
	head[len(head)-1] = ','
	return append(head, data[1:]...), nil
}

// decode reads an object that was patched. What a patch may not change, where
// the object lives and what it is called, is checked here.
// Upstream: apiserver endpoints/handlers jsonPatcher.applyPatchToCurrentObject,
// v1.36, also for the oddity that the refusal names no object.
func (r *request) decode(data, patch []byte) (object, error) {
	obj := r.kind.newObject()
	strict, err := kjson.UnmarshalStrict(data, obj)
	if err == nil && r.strict && len(strict) > 0 {
		err = errors.New("strict decoding error: " + joined(strict))
	}
	if err != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
			field.Invalid(field.NewPath("patch"), string(patch), err.Error()),
		})
	}
	if gvk := obj.GetObjectKind().GroupVersionKind(); gvk != r.kind.gvk {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the API version or kind in the data (%s) does not match the expected one (%s)", gvk, r.kind.gvk))
	}
	if obj.GetName() != r.name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), r.name))
	}
	return r.accept(obj)
}

func joined(errs []error) string {
	text := ""
	for i, err := range errs {
		if i > 0 {
			text += ", "
		}
		text += err.Error()
	}
	return text
}

func unprocessable(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: "the server rejected our request due to an error in our request: " + err.Error(),
	}}
}
