package workload

import (
	"cmp"
	"encoding/json"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ControllerRevisions returns the resource controllerrevisions.
func ControllerRevisions() schema.GroupVersionResource {
	return appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
}

// TemplatePatch returns what a ControllerRevision keeps of a DaemonSet or StatefulSet: the strategic merge patch that gives it its present template back, which
// kubectl rollout undo sends. Two templates are the same if their patches are equal, byte for byte.
// Upstream: pkg/controller/daemon/update.go, statefulset/stateful_set_utils.go getPatch, v1.37.
func TemplatePatch(set any) ([]byte, error) {
	text, err := json.Marshal(set)
	if err != nil {
		return nil, err
	}
	var whole struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	whole.Spec.Template["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": whole.Spec.Template}})
}

// ByRevision orders ControllerRevisions, the oldest first.
// Upstream: pkg/controller/history byRevision, v1.37.
func ByRevision(a, b *appsv1.ControllerRevision) int {
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}
