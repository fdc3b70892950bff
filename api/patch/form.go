package patch

import (
	"encoding/json"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api/internal/refusal"
)

// Form applies a patch to a form. A form has no lists with keys, so that a strategic
// merge is a merge.
func Form(form runtime.Object, pt types.PatchType, data []byte) (runtime.Object, error) {
	apply := mergePatch
	switch pt {
	case types.JSONPatchType:
		apply = jsonPatch
	case types.MergePatchType, types.StrategicMergePatchType:
	default:
		return nil, unknownPatch(pt)
	}
	before, err := json.Marshal(form)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	after, _, err := apply(before, data)
	if err != nil {
		return nil, refusal.AsStatus(err)
	}
	out := reflect.New(reflect.TypeOf(form).Elem()).Interface().(runtime.Object) // a field that the patch removes is gone
	if err := json.Unmarshal(after, out); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return out, nil
}
