package kubelet

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

func TestAPatchOfAStatusRemovesWhatIsNotKnownAnyMore(t *testing.T) {
	old := &v1.PodStatus{
		PodIP: "10.0.0.2", PodIPs: []v1.PodIP{{IP: "10.0.0.2"}},
		Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: v1.DisruptionTarget, Status: v1.ConditionTrue}},
	}
	patch := func(want *v1.PodStatus) string {
		text, err := json.Marshal(changedStatus(old, want))
		require.NoError(t, err)
		return string(text)
	}
	require.JSONEq(t, `{"podIP": null, "podIPs": null}`, patch(&v1.PodStatus{Conditions: old.Conditions}))
	require.JSONEq(t, `{"podIP": "10.0.0.3", "podIPs": [{"$patch": "replace"}, {"ip": "10.0.0.3"}]}`,
		patch(&v1.PodStatus{PodIP: "10.0.0.3", PodIPs: []v1.PodIP{{IP: "10.0.0.3"}}, Conditions: old.Conditions}))
	require.JSONEq(t, `{"podIP": null, "podIPs": null, "conditions": [{"$patch": "delete", "type": "Ready"}], "$setElementOrder/conditions": [{"type": `+
		`"DisruptionTarget"}]}`,
		patch(&v1.PodStatus{Conditions: old.Conditions[1:]}))
}
