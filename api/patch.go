package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/internal/quantity"
)

// maxPatchOperations limits the operations of a JSON patch.
// Upstream: apiserver endpoints/handlers maxJSONPatchOperations, v1.37.
const maxPatchOperations = 10000

// maxPatchWork limits the items that the operations of a JSON patch may move: each copies the list that it
// changes. Upstream has no such limit: there only the client waits.
const maxPatchWork = 200_000_000

// commasOfOperation is the number of commas of an operation without its value, {"op":…,"path":…,"value":…}, and
// behind it.
const commasOfOperation = 3

var comma = []byte{','}

// patch changes the object, or its status if that is the subresource. A
// metadata.resourceVersion in the patch is a precondition.
func (s *Server) patch(r *request, pt types.PatchType, data []byte, opts metav1.PatchOptions) (runtime.Object, error) {
	if pt == types.ApplyPatchType {
		return s.apply(r, data, opts)
	}
	return s.change(r, func(r *request, old call.Object) (call.Object, error) {
		if old == nil {
			return nil, r.notFound()
		}
		return r.patched(r.asShown(old), pt, data)
	})
}

// patched returns old with the patch applied.
func (r *request) patched(old call.Object, pt types.PatchType, data []byte) (call.Object, error) {
	var obj call.Object
	var err error
	switch pt {
	case types.JSONPatchType:
		obj, err = r.patchJSON(old, data, jsonPatch)
	case types.MergePatchType:
		obj, err = r.patchJSON(old, data, mergePatch)
	case types.StrategicMergePatchType:
		if r.kind.Scheme == nil {
			return nil, unknownPatch(pt)
		}
		obj, err = r.strategicPatch(old, data)
	default:
		return nil, unknownPatch(pt)
	}
	if err != nil {
		return nil, refusal.AsStatus(err)
	}
	return r.addressed(obj)
}

// patchJSON applies a patch to the object's JSON.
func (r *request) patchJSON(old call.Object, data []byte, apply func(before, data []byte) ([]byte, []error, error)) (call.Object, error) {
	before, err := r.encode(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	after, strict, err := apply(before, data)
	if err != nil {
		return nil, err
	}
	if err := quantity.CheckJSON(after, r.kind.NewObject()); err != nil {
		return nil, r.refusedQuantity(err)
	}
	obj, err := r.decode(after, strict)
	if err != nil {
		return nil, patchInvalid(string(after), err)
	}
	return obj, nil
}

func unknownPatch(pt types.PatchType) error {
	err := apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", schema.GroupResource{}, "", "", 0, true)
	err.ErrStatus.Message = fmt.Sprintf("patch type %q is not one of %q, %q, %q, %q", pt,
		types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyPatchType)
	return err
}

// errNoJSON refuses a patch that is not JSON.
// Upstream: apiserver endpoints/handlers PatchResource, v1.37.
var errNoJSON = apierrors.NewBadRequest("invalid JSON patch")

// jsonPatchOp is one operation of a JSON patch.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// jsonPatch applies a JSON patch, with the errors of upstream's handler.
// Upstream: apiserver endpoints/handlers jsonPatcher.applyJSPatch, v1.37.
func jsonPatch(before, data []byte) ([]byte, []error, error) {
	if !json.Valid(data) {
		return nil, nil, errNoJSON
	}
	var ops []jsonPatchOp
	strict, err := kjson.UnmarshalStrict(data, &ops)
	if err != nil {
		text := strings.Replace(err.Error(), "api.jsonPatchOp", "handlers.jsonPatchOp", 1)
		return nil, nil, apierrors.NewBadRequest("error decoding patch: " + text)
	}
	for i, err := range strict {
		strict[i] = fmt.Errorf("json patch %w", err)
	}
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(patch) > maxPatchOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(patch)))
	}
	if items := bytes.Count(before, comma) + max(0, bytes.Count(data, comma)-commasOfOperation*len(patch)); items*len(patch) > maxPatchWork {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"%d operations on %d items are more than the allowed work of a JSON patch, %d items moved", len(patch), items, maxPatchWork))
	}
	after, err := patch.Apply(before)
	if err != nil { // well-formed, but it does not fit this object
		return nil, nil, refusal.Unprocessable(err)
	}
	return after, strict, nil
}

// mergePatch applies a JSON merge patch, which must be an object.
func mergePatch(before, data []byte) ([]byte, []error, error) {
	if !json.Valid(data) {
		return nil, nil, errNoJSON
	}
	strict, err := kjson.UnmarshalStrict(data, &map[string]any{})
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	after, err := jsonpatch.MergePatch(before, data)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		err = apierrors.NewBadRequest(err.Error())
	}
	return after, strict, err
}

// encode returns the object as JSON, with its kind.
func (r *request) encode(obj call.Object) ([]byte, error) {
	data, err := json.Marshal(obj)
	if err != nil || r.kind.Scheme == nil {
		return data, err
	}
	head, err := json.Marshal(metav1.TypeMeta{APIVersion: r.kind.GVK.GroupVersion().String(), Kind: r.kind.GVK.Kind})
	if err != nil {
		return nil, err
	}
	head[len(head)-1] = ','
	return append(head, data[1:]...), nil
}

// decode decodes an object that was patched. The patch may leave its kind out, but not
// name another.
func (r *request) decode(data []byte, strict []error) (call.Object, error) {
	if err := r.decodesAsOther(data); err != nil {
		return nil, err
	}
	obj := r.kind.NewObject()
	more, err := kjson.UnmarshalStrict(data, obj)
	if err != nil {
		return nil, err
	}
	for _, path := range r.kind.UnknownFields(obj) {
		more = append(more, fmt.Errorf("unknown field %q", path))
	}
	if err := r.orWarn(append(strict, more...)); err != nil {
		return nil, err
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	gvk.Kind = cmp.Or(gvk.Kind, r.kind.GVK.Kind)
	switch {
	case gvk.Version == "": // upstream reads an object of no version, which has nothing in it
		obj.SetName("")
	case gvk != r.kind.GVK:
		return nil, r.otherKind(gvk)
	}
	return obj, nil
}

// decodesAsOther returns the error of decoding an object that a patch has made one of another kind: that comes before the refusal of the kind.
func (r *request) decodesAsOther(data []byte) error {
	if r.kind.Scheme == nil {
		return nil
	}
	var named metav1.TypeMeta
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &named) != nil {
		return nil //nolint:nilerr // the caller refuses what is no object
	}
	gvk := named.GroupVersionKind()
	if gvk == r.kind.GVK || !r.kind.Scheme.Recognizes(gvk) {
		return nil
	}
	other, err := r.kind.Scheme.New(gvk)
	if err != nil {
		return err
	}
	_, err = kjson.UnmarshalStrict(data, other)
	return err
}

// orWarn returns an error of the strict errors of a patch if the client wants that, and else warns of each.
func (r *request) orWarn(strict []error) error {
	if r.strict && len(strict) > 0 {
		return errors.New("strict decoding error: " + joined(strict))
	}
	if r.warnFields != nil {
		for _, err := range strict {
			r.warnFields(err.Error())
		}
	}
	return nil
}

// otherKind returns the error for an object that is of another kind after a patch.
func (r *request) otherKind(gvk schema.GroupVersionKind) error {
	if r.kind.Scheme == nil || r.kind.Scheme.Recognizes(gvk) {
		return fmt.Errorf("the API version or kind in the data (%s) does not match the expected one (%s)", gvk, r.kind.GVK)
	}
	return runtime.NewNotRegisteredErrForKind("pkg/runtime/scheme.go:111", gvk) // the name that the scheme has there
}

// patchInvalid returns the error for a patch whose outcome is no object of the kind.
// Upstream: apiserver endpoints/handlers jsonPatcher.applyPatchToCurrentObject,
// v1.37, also for the oddity that the refusal names no object.
func patchInvalid(outcome string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
		field.Invalid(field.NewPath("patch"), outcome, err.Error()),
	})
}

// addressed checks that a patch did not change the namespace and name of the object.
func (r *request) addressed(obj call.Object) (call.Object, error) {
	if obj.GetName() == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", r.name))
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
