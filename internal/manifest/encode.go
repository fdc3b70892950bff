package manifest

import (
	"bytes"
	"encoding/json"

	v1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Marshal returns obj as the JSON in which a server of release 1.36 answers. It differs from
// json.Marshal for a CSINode without a status: the libraries of v0.37 write that status
// as "{}", and the release does not have the field.
func Marshal(obj runtime.Object) ([]byte, error) {
	data, err := json.Marshal(obj)
	if _, ok := obj.(*v1.CSINode); !ok || err != nil {
		return data, err
	}
	if head, found := bytes.CutSuffix(data, []byte(`,"status":{}}`)); found {
		return append(head, '}'), nil
	}
	return data, nil
}
