package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/trace"
)

func TestAStepWaitsUntilEventsHaveEndedToo(t *testing.T) {
	rec, err := Load(filepath.Join("testdata", "delayed_nothing_to_bind.json"))
	require.NoError(t, err)
	// The resync in this step says WaitForPodScheduled, and writes nothing.
	r, err := newReplay(rec, Schedule{Phase: 3 * time.Second})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.cluster.Close()) }()
	late := 0
	for _, step := range rec.Steps {
		began := r.cluster.Now()
		_, err := r.step(step.Action)
		require.NoError(t, err)
		for _, entry := range r.cluster.Engine().Trace().Entries() {
			if e, ok := entry.Record.(trace.Event); ok && !e.Repeated {
				assert.False(t, entry.Time.Add(step.Action.quiet(3*time.Second)).After(r.cluster.Now()), "the step ended %s after %s", r.cluster.Now(), entry)
				if entry.Time.After(began.Add(time.Second)) {
					late++
				}
			}
		}
	}
	assert.NotZero(t, late, "there was no event that a step had to wait for")
}

func TestARepeatedEventMayBeThereOrNot(t *testing.T) {
	tests := map[string]struct {
		want, got, repeated []said
		differ              bool
	}{
		"the same":                           {[]said{{message: "a"}}, []said{{message: "a"}}, []said{{message: "a"}}, false},
		"recorded, and repeated here":        {[]said{{message: "a"}}, nil, []said{{message: "a"}}, false},
		"not recorded, and repeated here":    {nil, nil, []said{{message: "a"}}, false},
		"not recorded, and new here":         {nil, []said{{message: "a"}}, []said{{message: "a"}}, true},
		"recorded, and not said here at all": {[]said{{message: "a"}}, nil, []said{{message: "b"}}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.differ, len(compareEvents(tt.want, tt.got, tt.repeated)) > 0)
		})
	}
}

func TestOthersRunBetweenTheRequestsOfAStep(t *testing.T) {
	// The scheduler looked at the pod between two requests of the user.
	rec, err := Load(filepath.Join("testdata", "h2_label_added_requeues.json"))
	require.NoError(t, err)
	inOrder, err := run(rec, Schedule{}, false)
	require.NoError(t, err)
	assert.NotEmpty(t, inOrder)
	result, err := Check(rec, Options{})
	require.NoError(t, err)
	assert.Empty(t, result.Differences)
}

// load reads a recording from text.
func load(t *testing.T, text string) (*Recording, error) {
	path := filepath.Join(t.TempDir(), "case.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return Load(path)
}

func TestEveryTypeOfPatchIsUnderstood(t *testing.T) {
	const text = `{"steps": [
		{"step": {"create": [{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "c"}, "provisioner": "p"}]}},
		{"step": {"patch": {"object": "sc/c", "patch": {"metadata": {"labels": {"a": "1"}}}}}},
		{"step": {"patch": {"object": "sc/c", "type": "merge", "patch": {"metadata": {"labels": {"b": "1"}}}}}},
		{"step": {"patch": {"object": "sc/c", "type": "json", "patch": [{"op": "add", "path": "/metadata/labels/c", "value": "1"}]}}},
		{"step": {"patch": {"object": "sc/c", "type": "strategic", "patch": {"metadata": {"labels": {"d": "1"}}}}}},
		{"step": {"patch": {"object": "sc/c", "type": "apply", "patch": {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
		  "metadata": {"labels": {"e": "1"}}, "provisioner": "p"}}}}],
		"objects": [{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
			"metadata": {"name": "c", "uid": "<uid:storageclass/c>", "labels": {"a": "1", "b": "1", "c": "1", "d": "1", "e": "1"}},
			"provisioner": "p", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}]}`
	rec, err := load(t, text)
	require.NoError(t, err)
	differences, err := run(rec, Schedule{}, true)
	require.NoError(t, err)
	assert.Empty(t, differences)

	_, err = load(t, strings.Replace(text, `"strategic"`, `"three-way"`, 1))
	assert.ErrorContains(t, err, `step 5: patch: type "three-way": expected one of ["" "apply" "json" "merge" "strategic"]`)
}

func TestOfACutMessageTheFieldsThatAreLeftMustAgree(t *testing.T) {
	want := func(message string) refusal {
		return expectations([]Entry{{Actor: "user", Verb: "create", Resource: "pods", Name: "default/p", Code: 422, Reason: "Invalid", Message: message}}).refusals[0]
	}
	const message = `Pod "p" is invalid: [spec.a: Required value, spec.b: Required value`
	got := refusal{request: "create pods default/p", code: 422, reason: "Invalid", fields: []string{"spec.a", "spec.b", "spec.c"}}
	cut := want(message + strings.Repeat(" ", 300-len(message)))
	assert.True(t, cut.agrees(got))
	got.fields = []string{"spec.a", "spec.c"}
	assert.False(t, cut.agrees(got), "spec.b is missing")
	got.fields = []string{"spec.a", "spec.b", "spec.c"}
	assert.False(t, want(message+"]").agrees(got), "the whole message is there, and spec.c is not in it")
}

func TestAScheduleIsFoundWhereAPhaseAndASeedAreNeeded(t *testing.T) {
	rec, err := Load(filepath.Join("testdata", "random_107.json"))
	require.NoError(t, err)
	result, err := Check(rec, Options{})
	require.NoError(t, err)
	assert.Empty(t, result.Differences)
	assert.NotZero(t, result.Schedule.Phase)
	assert.NotEmpty(t, result.Schedule.Turns)
}

func TestAHugeQuantityInARecordingIsAnErrorAtOnce(t *testing.T) {
	const claim = `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}`
	const patch = `{"object": "pvc/data", "patch": {"spec": {"resources": {"requests": {"storage": "1e-2147483648"}}}}}`
	rec, err := load(t, `{"steps": [{"step": {"create": [`+strings.Replace(claim, "1Gi", "1e-2147483648", 1)+`]}}], "objects": []}`)
	require.NoError(t, err)
	_, err = run(rec, Schedule{}, true)
	require.ErrorContains(t, err, `PersistentVolumeClaim: spec.resources.requests[storage]: "1e-2147483648": the exponent of a quantity must be from -999 to 999`)
	rec, err = load(t, `{"steps": [{"step": {"create": [`+strings.Replace(claim, `"spec": {`, `"spec": {"accessModes": ["ReadWriteOnce"], `, 1)+
		`]}}, {"step": {"patch": `+patch+`}}], "objects": []}`)
	require.NoError(t, err)
	differences, err := run(rec, Schedule{}, true)
	require.NoError(t, err)
	require.NotEmpty(t, differences, "the patch is refused, which the recording does not say")
}

func TestANodeComesByTheRequestsThatWereRecorded(t *testing.T) {
	const create = `{"actor": "user", "verb": "create", "resource": "nodes", "name": "n", "code": 201}`
	const patch = `, {"actor": "user", "verb": "patch", "resource": "nodes/status", "name": "n", "code": 200, "changed": %s}`
	for name, test := range map[string]struct {
		writes   string
		requests []string
		whole    bool
	}{
		"its status in a patch": {create + strings.Replace(patch, "%s", `{"/status/capacity": {"cpu": "64"}}`, 1),
			[]string{"create", "patch status"}, false},
		"its status, and a patch of that": {create + strings.Replace(patch, "%s", "{}", 1), []string{"create", "patch status"}, true},
		"all in one request":              {create, []string{"create"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := load(t, `{"steps": [{"step": {"nodes": [{"name": "n", "labels": {"zone": "a"}, "annotations": {"x": "y"},
				"taints": [{"key": "dedicated", "effect": "NoSchedule"}]}]}, "writes": [`+test.writes+`]}], "objects": []}`)
			require.NoError(t, err)
			r, err := newReplay(rec, Schedule{})
			require.NoError(t, err)
			defer func() { require.NoError(t, r.cluster.Close()) }()
			require.NoError(t, r.nodes(rec.Steps[0].Action.Nodes))
			var requests []string
			for _, action := range r.client.Actions() {
				requests = append(requests, strings.TrimSpace(action.GetVerb()+" "+action.GetSubresource()))
				if a, ok := action.(clienttesting.CreateAction); ok {
					node := a.GetObject().(*v1.Node)
					assert.Equal(t, test.whole, len(node.Status.Capacity) > 0 && len(node.Status.Conditions) > 0)
					assert.Equal(t, "y", node.Annotations["x"])
					assert.Len(t, node.Spec.Taints, 1)
				}
			}
			assert.Equal(t, test.requests, requests)
			node, err := r.client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
			require.NoError(t, err)
			assert.Equal(t, "64", node.Status.Allocatable.Cpu().String())
		})
	}
}
