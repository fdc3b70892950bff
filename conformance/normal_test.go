package conformance

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/seedtest"
)

func TestDifferencesNameTheTopmostFieldThatCameOrWent(t *testing.T) {
	tests := map[string]struct{ old, new, want string }{
		"nothing":              {`{"a": {"b": [1]}}`, `{"a": {"b": [1]}}`, `{}`},
		"a value":              {`{"a": {"b": 1}}`, `{"a": {"b": 2}}`, `{"/a/b": 2}`},
		"a map that came":      {`{}`, `{"a": {"b": {"c": 1}}}`, `{"/a": {"b": {"c": 1}}}`},
		"a map that went":      {`{"a": {"b": 1}, "c": 1}`, `{"c": 1}`, `{"/a": null}`},
		"a key with a slash":   {`{"a": {"x": 1}}`, `{"a": {"x": 1, "y.io/z~": "w"}}`, `{"/a/y.io~1z~0": "w"}`},
		"a list is one value":  {`{"a": [{"b": 1}, 2]}`, `{"a": [{"b": 2}, 2]}`, `{"/a": [{"b": 2}, 2]}`},
		"a map became a value": {`{"a": {"b": 1}}`, `{"a": 1}`, `{"/a": 1}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := differences(fromJSON(t, tt.old), fromJSON(t, tt.new))
			assert.Equal(t, fromJSON(t, tt.want), got)
		})
	}
}

func fromJSON(t *testing.T, text string) map[string]any {
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	return m
}

func TestWhatDiffersFromRunToRunIsLeftOut(t *testing.T) {
	got := normalise(fromJSON(t, `{"kind": "Node",
		"metadata": {"name": "n", "resourceVersion": "7", "generation": 2, "creationTimestamp": "x", "deletionTimestamp": "x", "managedFields": []},
		"spec": {"claimRef": {"name": "c", "resourceVersion": "5"}, "terminationGracePeriodSeconds": 30},
		"status": {"conditions": [1], "lastPhaseTransitionTime": "x", "list": [
			{"lastTransitionTime": "x", "type": "T", "message": "it is out of sync (stored: 2, assume: 1)"}]}}`))
	assert.Equal(t, fromJSON(t, `{"kind": "Node",
		"metadata": {"name": "n", "deletionTimestamp": "<set>"},
		"spec": {"claimRef": {"name": "c"}, "terminationGracePeriodSeconds": 30},
		"status": {"list": [{"type": "T", "message": "it is out of sync (stored: <v>, assume: <v>)"}]}}`), got)
}

func TestTheVolumesOfAStatefulSetsPodHaveNoOrder(t *testing.T) {
	const pod = `{"kind": "Pod", "metadata": {"ownerReferences": [{"kind": %q}]}, "spec": {"volumes": [{"name": %q}, {"name": %q}]}}`
	of := func(owner, first, second string) map[string]any {
		return normalise(fromJSON(t, fmt.Sprintf(pod, owner, first, second)))
	}
	assert.Equal(t, of("StatefulSet", "a", "b"), of("StatefulSet", "b", "a"))
	assert.NotEqual(t, of("Job", "a", "b"), of("Job", "b", "a"))
}

func TestUIDsAreWrittenAsTheObjectsThatBoreThem(t *testing.T) {
	const first, second, unknown = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222", "33333333-3333-3333-3333-333333333333"
	u := newUIDs()
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: first}}
	u.learn("PersistentVolumeClaim", claim)
	again := claim.DeepCopy()
	again.UID = second
	u.learn("PersistentVolumeClaim", again)

	const placeholder = "<uid:persistentvolumeclaim/default/data>"
	assert.Equal(t, "pvc-"+placeholder+" "+placeholder+" "+unknown, u.hide("pvc-"+first+" "+second+" "+unknown))
	filled, err := u.fill(placeholder)
	require.NoError(t, err)
	assert.Equal(t, second, filled, "the object's latest life")
	written, err := json.Marshal(map[string]string{"uid": placeholder})
	require.NoError(t, err)
	filled, err = u.fill(string(written))
	require.NoError(t, err)
	assert.Equal(t, `{"uid":"`+second+`"}`, filled, "as a recorder writes it")
	_, err = u.fill("<uid:pod/default/web>")
	assert.ErrorContains(t, err, "<uid:pod/default/web>: no such object has existed")
}

func TestTheFieldsOfAnInvalidObjectAreReadFromTheMessage(t *testing.T) {
	tests := map[string][]string{
		`PersistentVolume "two" is invalid: spec.nfs: Forbidden: may not specify more than 1 volume type`:            {"spec.nfs"},
		`PersistentVolumeClaim "x" is invalid: spec.resources[storage]: Required value`:                              {"spec.resources[storage]"},
		`StorageClass.storage.k8s.io "none" is invalid: provisioner: Required value`:                                 {"provisioner"},
		`Pod "p" is invalid: [spec.b: Required value, spec.a[0].c: Invalid value: "x, y": no, spec.b: Forbidden: x]`: {"spec.a[0].c", "spec.b"},
		`persistentvolumes "pv" already exists`:                                                                      nil,
	}
	for message, want := range tests {
		assert.Equal(t, want, invalidFields(message), message)
	}
}

// A search by hand finds what the expression says, in texts made of the letters that matter.
func TestUIDsAreFoundAsTheExpressionSays(t *testing.T) {
	expression := regexp.MustCompile(`[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	const uid, id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	mark := func(s string) string { return "<" + s + ">" }
	seedtest.Each(t, 3000, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var text string
		for range 1 + rng.IntN(4) {
			part := []string{uid, id, "-", "a", "g", uid[:rng.IntN(len(uid))], id[:rng.IntN(len(id))], uid[rng.IntN(len(uid)):]}[rng.IntN(8)]
			text += part
		}
		require.Equal(t, expression.ReplaceAllStringFunc(text, mark), replaceUIDs(text, mark), text)
	})
	require.Equal(t, "x<"+uid+">", replaceUIDs("x"+uid, mark))
}
