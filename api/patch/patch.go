package patch

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/quantity"
	"github.com/storagesim/storagesim/internal/typedpatch"
)

// maxPatchOperations limits the operations of a JSON patch.
// Upstream: apiserver endpoints/handlers maxJSONPatchOperations, v1.37.
const maxPatchOperations = 10000

// maxCopied limits what the copies that a JSON patch makes may add.
// Upstream: apiserver server.NewConfig JSONPatchMaxCopyBytes, v1.37.
const maxCopied = 3 << 20

// The limit of copies is one of the patch library. Like upstream, a smaller one stays.
func init() {
	if limit := &jsonpatch.AccumulatedCopySizeLimit; *limit <= 0 || *limit > maxCopied {
		*limit = maxCopied
	}
}

// maxPatchWork limits the items that the operations of a JSON patch may move: each copies the list that it
// changes. Upstream has no such limit: there only the client waits.
const maxPatchWork = 200_000_000

// commasOfOperation is the number of commas of an operation without its value, {"op":…,"path":…,"value":…}, and
// behind it.
const commasOfOperation = 3

var comma = []byte{','}

// Target is the object that a patch changes, and how its client takes fields that the kind does not have.
type Target struct {
	Kind                 *registry.Entry
	Sub, Namespace, Name string
	// Strict: such fields are refused. Warn is told of them where they are not; nil if they are ignored.
	Strict bool
	Warn   func(text string)
	// Ignore: the client has asked to ignore them, and so a merge patch need not be an object.
	Ignore bool
}

// Patched returns a copy of old with the patch applied; a patch must not change the name. A strategic merge patch may come as values instead
// of data.
func (t *Target) Patched(old call.Object, pt types.PatchType, data []byte, values typedpatch.Values) (call.Object, error) {
	var obj call.Object
	var err error
	switch pt {
	case types.JSONPatchType:
		var patched bool
		if obj, patched = t.patchMetadata(old, data); !patched {
			obj, err = t.patchJSON(old, data, jsonPatch)
		}
	case types.MergePatchType:
		var merged bool
		if obj, merged = t.mergedFields(old, data); !merged {
			apply := mergePatch
			if t.Ignore {
				apply = mergeAny
			}
			obj, err = t.patchJSON(old, data, apply)
		}
	case types.StrategicMergePatchType:
		if t.Kind.Scheme == nil {
			return nil, unknownPatch(pt)
		}
		obj, err = t.strategicPatch(old, data, values)
	default:
		return nil, unknownPatch(pt)
	}
	if err != nil {
		return nil, refusal.AsStatus(err)
	}
	return obj, t.checkName(obj)
}

// Mutated returns a copy of an object with the JSON patch of a webhook applied. Errors come as the patch library and the decoder have them. Fields that a
// kind with a schema does not have are still there.
// Upstream: apiserver admission/plugin/webhook/mutating mutatingDispatcher.callAttrMutatingHook, v0.37.2.
func (t *Target) Mutated(obj call.Object, patch jsonpatch.Patch) (call.Object, error) {
	before, err := t.encode(obj)
	if err != nil {
		return nil, err
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, err
	}
	out := t.Kind.NewObject()
	if err := kjson.UnmarshalCaseSensitivePreserveInts(after, out); err != nil {
		return nil, err
	}
	return out, nil
}

// patchJSON applies a patch to the object's JSON.
func (t *Target) patchJSON(old call.Object, data []byte, apply func(before, data []byte) ([]byte, []error, error)) (call.Object, error) {
	before, err := t.encode(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	after, strict, err := apply(before, data)
	if err != nil {
		return nil, err
	}
	if err := quantity.CheckJSON(after, t.Kind.NewObject()); err != nil {
		return nil, refusal.Quantity(t.Kind.GVK.GroupKind(), t.Name, err)
	}
	obj, err := t.decode(after, strict)
	if err != nil {
		return nil, patchInvalid(string(after), err)
	}
	return obj, nil
}

// metadataPath begins the paths of fields in an object's metadata.
const metadataPath = "/metadata/"

// patchMetadata returns a copy of old with a JSON patch applied whose operations are all about its metadata, as those for finalizers are: nothing else
// is written as JSON and read again. It returns false for other patches, and where there is something to answer with an error or a warning: then the
// whole object decides.
func (t *Target) patchMetadata(old call.Object, data []byte) (call.Object, bool) {
	metadata, ok := old.DeepCopyObject().(metav1.ObjectMetaAccessor)
	if !ok || t.Kind.Scheme == nil || !isAboutMetadata(data) {
		return nil, false
	}
	to, ok := metadata.GetObjectMeta().(*metav1.ObjectMeta)
	if !ok {
		return nil, false
	}
	part := struct {
		Metadata *metav1.ObjectMeta `json:"metadata"`
	}{to}
	before, err := json.Marshal(part)
	if err != nil {
		return nil, false
	}
	after, strict, err := jsonPatch(before, data)
	if err != nil || len(strict) > 0 {
		return nil, false
	}
	*to = metav1.ObjectMeta{}
	strict, err = kjson.UnmarshalStrict(after, &part)
	return metadata.(call.Object), err == nil && len(strict) == 0 && part.Metadata == to
}

// isAboutMetadata reports whether all paths of a JSON patch are in the metadata.
func isAboutMetadata(data []byte) bool {
	var ops []struct {
		Path string  `json:"path"`
		From *string `json:"from"`
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &ops) != nil || len(ops) == 0 {
		return false
	}
	for _, op := range ops {
		if !strings.HasPrefix(op.Path, metadataPath) || op.From != nil && !strings.HasPrefix(*op.From, metadataPath) {
			return false
		}
	}
	return true
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

// CheckJSON refuses a patch that should be JSON and is not, before its object is looked for.
// Upstream: apiserver endpoints/handlers validateAndTranscodePatch, v1.37.2.
func CheckJSON(pt types.PatchType, data []byte) error {
	if pt != types.ApplyPatchType && !json.Valid(data) {
		return errNoJSON
	}
	return nil
}

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
	var ops []jsonPatchOp
	strict, err := kjson.UnmarshalStrict(data, &ops)
	if err != nil {
		text := strings.Replace(err.Error(), "patch.jsonPatchOp", "handlers.jsonPatchOp", 1)
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
	strict, err := kjson.UnmarshalStrict(data, &map[string]any{})
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	after, _, err := mergeAny(before, data)
	return after, strict, err
}

// mergeAny applies a JSON merge patch, which takes the place of the object if it is a list.
// Upstream: apiserver endpoints/handlers jsonPatcher.applyJSPatch, v1.37.2.
func mergeAny(before, data []byte) ([]byte, []error, error) {
	after, err := jsonpatch.MergePatch(before, data)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		err = apierrors.NewBadRequest(err.Error())
	}
	return after, nil, err
}

// encode returns the object as JSON, with its kind.
func (t *Target) encode(obj call.Object) ([]byte, error) {
	data, err := json.Marshal(obj)
	if err != nil || t.Kind.Scheme == nil {
		return data, err
	}
	head, err := json.Marshal(metav1.TypeMeta{APIVersion: t.Kind.GVK.GroupVersion().String(), Kind: t.Kind.GVK.Kind})
	if err != nil {
		return nil, err
	}
	head[len(head)-1] = ','
	return append(head, data[1:]...), nil
}

// decode decodes an object that was patched. The patch may leave its kind out, but not
// name another.
func (t *Target) decode(data []byte, strict []error) (call.Object, error) {
	if err := t.decodesAsOther(data); err != nil {
		return nil, err
	}
	obj := t.Kind.NewObject()
	more, err := kjson.UnmarshalStrict(data, obj)
	if u, ok := obj.(*unstructured.Unstructured); ok && err == nil {
		_, err = call.Metadata(u.Object)
	}
	if err != nil {
		return nil, err
	}
	for _, path := range t.Kind.UnknownFields(obj) {
		more = append(more, fmt.Errorf("unknown field %q", path))
	}
	if err := t.orWarn(append(strict, more...)); err != nil {
		return nil, err
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	gvk.Kind = cmp.Or(gvk.Kind, t.Kind.GVK.Kind)
	switch {
	case gvk.Version == "": // upstream reads an object of no version, which has nothing in it
		obj.SetName("")
	case gvk != t.Kind.GVK && t.Kind.Scheme != nil: // of an unstructured object that is validated
		return nil, t.otherKind(gvk)
	}
	return obj, nil
}

// decodesAsOther returns the error of decoding what a patch has made no object, or one of another kind: that comes before the refusal of the kind.
func (t *Target) decodesAsOther(data []byte) error {
	if t.Kind.Scheme == nil {
		return nil
	}
	named, err := jsonserializer.DefaultMetaFactory.Interpret(data)
	if err != nil {
		return err
	}
	gvk := *named
	if gvk == t.Kind.GVK || !t.Kind.Scheme.Recognizes(gvk) {
		return nil
	}
	other, err := t.Kind.Scheme.New(gvk)
	if err != nil {
		return err
	}
	_, err = kjson.UnmarshalStrict(data, other)
	return err
}

// orWarn returns an error of the strict errors of a patch if the client wants that, and else warns of each.
func (t *Target) orWarn(strict []error) error {
	if t.Strict && len(strict) > 0 {
		return errors.New("strict decoding error: " + joined(strict))
	}
	if t.Warn != nil {
		for _, err := range strict {
			t.Warn(err.Error())
		}
	}
	return nil
}

// otherKind returns the error for an object that is of another kind after a patch.
func (t *Target) otherKind(gvk schema.GroupVersionKind) error {
	if t.Kind.Scheme.Recognizes(gvk) {
		return fmt.Errorf("the API version or kind in the data (%s) does not match the expected one (%s)", gvk, t.Kind.GVK)
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

// checkName refuses a patch that has changed the name of the object.
func (t *Target) checkName(obj call.Object) error {
	if obj.GetName() == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", t.Name))
	}
	if obj.GetName() != t.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), t.Name))
	}
	return nil
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
