package explore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/trace"
)

// madeCall returns the record of a call by the kubelet of a machine, which has taken a second.
func madeCall(second int, machine, method, code string, request map[string]any) trace.Entry {
	end := time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC)
	if request == nil {
		request = map[string]any{}
	}
	request["volume_id"] = "v"
	return trace.Entry{Time: end, Actor: "kubelet/" + machine, Record: trace.RPC{
		Driver: "example.com", Machine: "node/" + machine, Method: method, Code: code, Request: request, Answer: map[string]any{"node_id": "id-" + machine},
		Took: time.Second,
	}}
}

func capability(mode string) map[string]any {
	return map[string]any{"volume_capability": map[string]any{"access_mode": map[string]any{"mode": mode}}}
}

func TestCallersOfADriverKeepTheOrderOfTheSpec(t *testing.T) {
	const ok = "OK"
	single, multi := capability("SINGLE_NODE_WRITER"), capability("MULTI_NODE_MULTI_WRITER")
	call := madeCall
	detach := func(second int, node string) trace.Entry {
		return call(second, "none", "ControllerUnpublishVolume", ok, map[string]any{"node_id": "id-" + node})
	}
	node := func(name string, ready v1.ConditionStatus) trace.Entry {
		n := &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: ready}}}}
		return trace.Entry{Record: trace.Write{Kind: "Node", Name: name, New: n}}
	}
	info := call(0, "a", "NodeGetInfo", ok, nil)
	for name, test := range map[string]struct {
		records []trace.Entry
		want    string
	}{
		"there and back": {[]trace.Entry{info, call(1, "a", "NodeStageVolume", ok, single), call(2, "a", "NodePublishVolume", ok, nil),
			call(3, "a", "NodeUnpublishVolume", ok, nil), call(4, "a", "NodeUnstageVolume", ok, nil), detach(5, "a")}, ""},
		"a driver that does not stage": {[]trace.Entry{info, call(2, "a", "NodePublishVolume", ok, nil), call(3, "a", "NodeUnpublishVolume", ok, nil),
			detach(5, "a")}, ""},
		"published before it is staged": {[]trace.Entry{call(1, "a", "NodeStageVolume", "Internal", single), call(2, "a", "NodePublishVolume", ok, nil)},
			"volume v is published on node/a, where it is not staged"},
		"detached while published": {[]trace.Entry{info, call(1, "a", "NodePublishVolume", ok, nil), call(2, "a", "NodeUnpublishVolume", "Internal", nil),
			detach(3, "a")}, "volume v is unpublished from node/a before NodeUnpublishVolume has succeeded there"},
		"detached while staged": {[]trace.Entry{info, call(1, "a", "NodeStageVolume", ok, multi), call(2, "a", "NodeUnstageVolume", "Internal", nil),
			detach(3, "a")}, "volume v is unpublished from node/a before NodeUnstageVolume has succeeded there"},
		"detached from a node that is not ready": {[]trace.Entry{info, node("a", v1.ConditionTrue), call(1, "a", "NodeStageVolume", ok, single),
			node("a", v1.ConditionFalse), detach(3, "a"), node("b", v1.ConditionTrue), call(4, "b", "NodeStageVolume", ok, single)}, ""},
		"staged on two": {[]trace.Entry{call(1, "c", "NodeStageVolume", ok, multi), call(2, "b", "NodeStageVolume", ok, multi),
			call(3, "d", "NodeStageVolume", ok, multi), call(4, "a", "NodeStageVolume", ok, single)},
			"volume v is for one node: it is staged on node/a, and on node/b already"}, // the first by its name, whatever order a map has
		"for several nodes": {[]trace.Entry{call(1, "b", "NodeStageVolume", ok, multi), call(2, "a", "NodeStageVolume", ok, multi)}, ""},
		"twice at a time": {[]trace.Entry{call(10, "a", "NodeStageVolume", ok, single), call(10, "a", "NodeStageVolume", ok, single)},
			"volume v: it begins while the same call is under way"},
		"one after the other": {[]trace.Entry{call(10, "a", "NodeStageVolume", ok, single), call(11, "a", "NodeStageVolume", ok, single)}, ""},
	} {
		err := keepCSI(test.records)
		if test.want == "" {
			assert.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		assert.ErrorContains(t, err, test.want, name)
	}
}
