package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/trace"
)

const twoNodes = `"before": [{"kind": "Node", "metadata": {"name": "node-1"}}, {"kind": "Node", "metadata": {"name": "node-2"}}]`

// played plays the steps of a recording and leaves the run open.
func played(t *testing.T, steps string) *replay {
	t.Helper()
	rec, err := load(t, `{`+twoNodes+`, "steps": [`+steps+`]}`)
	require.NoError(t, err)
	r, err := newReplay(rec, Schedule{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.cluster.Close()) })
	for i, step := range rec.Steps {
		r.begin(i)
		_, err := r.step(step.Action)
		require.NoError(t, err)
	}
	return r
}

func TestEachSpellingOfAControlIsUnderstood(t *testing.T) {
	r := played(t, `{"step": {"driver": "/set?lateSnap=0"}}`)
	both, plain, nodes := testDrivers(), []string{"plain.csi.example.com"}, []string{"node-1", "node-2"}
	for what, want := range map[string][]setting{
		"/set?lateSnap=1":                                     {{"lateSnap", "1", both, nodes}},
		"/set?limit=2&lateSnap=1":                             {{"lateSnap", "1", both, nodes}, {"limit", "2", both, nodes}},
		"/caps?driver=plain.csi.example.com&without=A,B":      {{"caps", "A,B", plain, nodes}},
		"/caps?driver=plain.csi.example.com&without=":         {{"caps", "", plain, nodes}},
		"/limit?driver=plain.csi.example.com&limit=1":         {{"limit", "1", plain, nodes}},
		"/limit?n=1&node=id-node-2":                           {{"limit", "1", both, []string{"node-2"}}},
		"/limit/1":                                            {{"limit", "1", both, nodes}},
		"/restart?driver=plain.csi.example.com":               {{"restart", "", plain, nodes}},
		"/restart":                                            {{"restart", "", both, nodes}},
		"/node?driver=plain.csi.example.com&node=node-1&on=0": {{"node", "off", plain, []string{"node-1"}}},
		"/node?node=node-1&on=1":                              {{"node", "on", both, []string{"node-1"}}},
		"/node?node=node-1&off":                               {{"node", "off", both, []string{"node-1"}}},
		"/node/off?node=node-1":                               {{"node", "off", both, []string{"node-1"}}},
		"/node?state=off":                                     {{"node", "off", both, nodes}},
	} {
		got, err := r.readControl(what)
		require.NoError(t, err, what)
		assert.Equal(t, want, got, what)
	}
	for what, want := range map[string]string{
		"/reboot": "it is not a known control: expected \"/set\" or one of " +
			`["caps" "lateSnap" "limit" "modify" "node" "restart"] as its path`,
		"/set":                   "it sets nothing",
		"/set?size=1":            `"size" is not a known setting: expected one of`,
		"/limit?driver=x":        `there is no driver "x"`,
		"/limit?node=node-3&n=1": `there is no node "node-3"`,
		"/limit?n=1&m=2":         `expected one value, got ["2" "1"]`,
		"/limit?n=-1":            `limit: "-1": expected a number from 0`,
		"/limit":                 `limit: "": expected a number from 0`,
		"/node":                  `node: "": expected on or off`,
		"%":                      `invalid URL escape`,
	} {
		assert.ErrorContains(t, r.control(what), want, what)
	}
}

const limitedPods = `{"step": {"create": [
	{"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "plain.csi.example.com"}, "spec": {SPEC}},
	{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "c"}, "provisioner": "plain.csi.example.com"},
	{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "spec": {"storageClassName": "c", "accessModes": ["ReadWriteOnce"],
	  "resources": {"requests": {"storage": "1Gi"}}}},
	{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "b"}, "spec": {"storageClassName": "c", "accessModes": ["ReadWriteOnce"],
	  "resources": {"requests": {"storage": "1Gi"}}}}], "until": ["pvc/a Bound", "pvc/b Bound"]}},
	{"step": {"driver": "/limit?driver=plain.csi.example.com&limit=1"}}, {"step": {"wait": 15}},
	{"step": {"create": [POD-a], "until": "pod/a Running"}}, {"step": {"create": [POD-b], "until": "event EVENT"}}`

func limited(spec, event string) string {
	pod := func(name string) string {
		return `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "` + name +
			`"}, "spec": {"nodeSelector": {"kubernetes.io/hostname": "node-1"}, "containers": [{"name": "c", "image": "nginx", "volumeMounts": [{"name": "v", ` +
			`"mountPath": "/v"}]}], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "` + name + `"}}]}}`
	}
	return strings.NewReplacer("SPEC", spec, "EVENT", event, "POD-a", pod("a"), "POD-b", pod("b")).Replace(limitedPods)
}

// told reports whether an event with those words was told.
func told(r *replay, words string) bool {
	return slices.ContainsFunc(r.cluster.Engine().Trace().Entries(), func(entry trace.Entry) bool {
		e, ok := entry.Record.(trace.Event)
		return ok && strings.Contains(e.Message, words)
	})
}

// A limit is reported by a driver that is asked for it again, and holds for one that is not.
func TestADriversLimitIsReportedAndHolds(t *testing.T) {
	r := played(t, limited(`"nodeAllocatableUpdatePeriodSeconds": 10`, "FailedScheduling"))
	node, err := r.client.StorageV1().CSINodes().Get(t.Context(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	limits := map[string]int32{}
	for _, d := range node.Spec.Drivers {
		if d.Allocatable != nil {
			limits[d.Name] = *d.Allocatable.Count
		}
	}
	assert.Equal(t, map[string]int32{"plain.csi.example.com": 1}, limits)
	assert.True(t, told(r, "node(s) exceed max volume count"))

	r = played(t, limited("", "FailedAttachVolume"))
	assert.True(t, told(r, "code = ResourceExhausted desc = node id-node-1 has 1 volumes"))
}

// The words of an error are the recorded driver's.
func TestARefusalHasTheRecordedWords(t *testing.T) {
	rec, err := load(t, `{`+twoNodes+`, "steps": [{"step": {"wait": 1}, "writes": [
		{"event": "FailedAttachVolume", "message": "AttachVolume.Attach failed for volume \"a\" : rpc error: code = ResourceExhausted desc = injected ResourceExhausted"},
		{"event": "FailedAttachVolume", "message": "AttachVolume.Attach failed for volume \"a\" : rpc error: code = ResourceExhausted desc = full: 1 of 1"}]}]}`)
	require.NoError(t, err)
	d := newTestDriver("plain.csi.example.com")
	assert.ErrorContains(t, d.refuse(8, "own %s", "words"), "desc = own words")
	d.words = rec.words
	assert.ErrorContains(t, d.refuse(8, "own %s", "words"), "desc = full: 1 of 1")
	assert.ErrorContains(t, d.refuse(9, "own %s", "words"), "desc = own words")
}

// A driver whose process on a node ends is taken off the node's CSINode, and comes back with it.
func TestADriverGoesFromANodeAndComesBack(t *testing.T) {
	drivers := func(r *replay, node string) (names []string) {
		obj, err := r.client.StorageV1().CSINodes().Get(t.Context(), node, metav1.GetOptions{})
		require.NoError(t, err)
		for _, d := range obj.Spec.Drivers {
			names = append(names, d.Name)
		}
		return names
	}
	const off = `{"step": {"driver": "/node?driver=plain.csi.example.com&node=node-1&on=0"}}, {"step": {"wait": 5}}`
	r := played(t, off)
	assert.Equal(t, []string{"topo.csi.example.com"}, drivers(r, "node-1"))
	assert.ElementsMatch(t, testDrivers(), drivers(r, "node-2"))
	r = played(t, off+`, {"step": {"driver": "/node?driver=plain.csi.example.com&node=node-1&on=1"}}, {"step": {"wait": 20}}`)
	assert.ElementsMatch(t, testDrivers(), drivers(r, "node-1"))

	r = played(t, `{"step": {"driver": "/restart?driver=plain.csi.example.com"}}`)
	require.NoError(t, r.cluster.RunFor(20*time.Second))
	assert.ElementsMatch(t, testDrivers(), drivers(r, "node-1"), "it has registered again")
	restarted := map[string]bool{}
	for _, entry := range r.cluster.Engine().Trace().Entries() {
		if _, ok := entry.Record.(trace.Crashed); ok {
			restarted[entry.Actor] = true
		}
	}
	for _, actor := range []string{"csi-driver/plain.csi.example.com", "csi-driver/plain.csi.example.com/node-1", "csi-registrar/plain.csi.example.com/node-2"} {
		assert.True(t, restarted[actor], actor)
	}
	assert.False(t, restarted["csi-driver/topo.csi.example.com"])
}
