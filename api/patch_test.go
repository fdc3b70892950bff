package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

func TestTheThreeKindsOfPatch(t *testing.T) {
	_, c := newServer()
	pods := c.CoreV1().Pods("default")
	p := pod("web")
	p.Labels = map[string]string{"a": "1", "b": "2"}
	p = createPod(t, c, p)
	patch := func(pt types.PatchType, data string, sub ...string) *v1.Pod {
		t.Helper()
		got, err := pods.Patch(ctx, "web", pt, []byte(data), metav1.PatchOptions{}, sub...)
		require.NoError(t, err)
		return got
	}
	got := patch(types.MergePatchType, `{"metadata":{"labels":{"a":null,"c":"3"}}}`)
	assert.Equal(t, map[string]string{"b": "2", "c": "3"}, got.Labels)
	assert.Equal(t, p.UID, got.UID)
	got = patch(types.JSONPatchType, `[{"op":"test","path":"/metadata/labels/b","value":"2"},{"op":"replace","path":"/metadata/labels/b","value":"x"}]`)
	assert.Equal(t, "x", got.Labels["b"])
	patch(types.StrategicMergePatchType, `{"status":{"conditions":[{"type":"A","status":"True"}]}}`, "status")
	got = patch(types.StrategicMergePatchType, `{"status":{"conditions":[{"type":"B","status":"True"}]},"spec":{"nodeName":"ignored"}}`, "status")
	assert.Len(t, got.Status.Conditions, 2, "lists with a merge key are merged")
	assert.Empty(t, got.Spec.NodeName)
	rv := got.ResourceVersion
	got = patch(types.MergePatchType, `{"metadata":{"labels":{"c":"3"}},"status":{"phase":"Running"}}`)
	assert.Equal(t, rv, got.ResourceVersion, "nothing changed")
	assert.Equal(t, p.CreationTimestamp, got.CreationTimestamp)
}

func TestAVersionInAPatchIsAPrecondition(t *testing.T) {
	_, c := newServer()
	m := createMap(t, c, configMap("a"))
	patch := func(data string) error {
		_, err := c.CoreV1().ConfigMaps("default").Patch(ctx, "a", types.MergePatchType, []byte(data), metav1.PatchOptions{})
		return err
	}
	err := patch(`{"metadata":{"resourceVersion":"1"},"data":{"x":"y"}}`)
	assert.True(t, apierrors.IsConflict(err), err)
	require.NoError(t, patch(`{"metadata":{"resourceVersion":"`+m.ResourceVersion+`"},"data":{"x":"y"}}`))
	assert.True(t, apierrors.IsInvalid(patch(`{"metadata":{"uid":"another"}}`)), "a UID is a field like others")
	require.NoError(t, patch(`{"metadata":{"resourceVersion":null},"data":{"x":"z"}}`))
}

// A real server was asked about the Scale of a ReplicaSet, and said this.
func TestAListInPlaceOfAnObjectIsReadIfFieldsAreNotLookedAt(t *testing.T) {
	_, c := newServer()
	createMap(t, c, configMap("a"))
	_, err := c.CoreV1().ConfigMaps("default").Patch(ctx, "a", types.MergePatchType, []byte(`[]`), metav1.PatchOptions{FieldValidation: "Ignore"})
	requireAnswer(t, err, 422, ` "" is invalid: patch: Invalid value: "[]": couldn't get version/kind; json parse error: json: cannot unmarshal array into `+
		`Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`)
}

func TestPatchesThatCannotBeApplied(t *testing.T) {
	_, c := newServer()
	createMap(t, c, configMap("a"))
	for _, tc := range []struct {
		name string
		pt   types.PatchType
		data string
		code int32
		say  string
	}{
		{"no JSON", types.MergePatchType, `{`, 400, "invalid JSON patch"},
		{"no list", types.JSONPatchType, `{}`, 400, "error decoding patch"},
		{"a test that fails", types.JSONPatchType, `[{"op":"test","path":"/data","value":"x"}]`, 422, "the server rejected our request"},
		{"a wrong type", types.MergePatchType, `{"data":"text"}`, 422, `\"}}": json: cannot unmarshal string into Go struct field ConfigMap.data`},
		{"another name", types.MergePatchType, `{"metadata":{"name":"b"}}`, 400, "the name of the object (b) does not match the name on the URL (a)"},
		{"another namespace", types.MergePatchType, `{"metadata":{"namespace":"b"}}`, 400, "the namespace of the provided object does not match"},
		{"a list", types.MergePatchType, `[]`, 400, "error decoding patch"},
		{"another kind", types.MergePatchType, `{"kind":"Secret"}`, 422, "does not match the expected one"},
		{"an unknown kind of patch", "text/plain", `{}`, 415, `patch type "text/plain" is not one of`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := c.CoreV1().ConfigMaps("default").Patch(ctx, "a", tc.pt, []byte(tc.data), metav1.PatchOptions{})
			require.Error(t, err)
			assert.Equal(t, tc.code, err.(apierrors.APIStatus).Status().Code, err)
			assert.ErrorContains(t, err, tc.say)
		})
	}
	_, err := c.CoreV1().ConfigMaps("default").Patch(ctx, "a", types.MergePatchType, []byte(`{"dat":{}}`), metav1.PatchOptions{})
	require.NoError(t, err, "unknown fields are ignored")
	_, err = c.CoreV1().ConfigMaps("default").Patch(ctx, "a", types.MergePatchType, []byte(`{"dat":{}}`),
		metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	assert.True(t, apierrors.IsInvalid(err), err)
	assert.ErrorContains(t, err, `strict decoding error: unknown field "dat"`)
}

func TestAPatchThatMakesTheLibraryPanicIsRefusedAlone(t *testing.T) {
	_, c := newServer()
	createPod(t, c, pod("web"))
	patch := func(data string) error {
		_, err := c.CoreV1().Pods("default").Patch(ctx, "web", types.StrategicMergePatchType, []byte(data), metav1.PatchOptions{})
		return err
	}
	err := patch(`{"metadata":{"$retainKeys":[{"a":1}],"labels":{"x":"y"}}}`)
	require.Error(t, err)
	assert.EqualValues(t, 500, err.(apierrors.APIStatus).Status().Code)
	assert.ErrorContains(t, err, "This request caused apiserver to panic")
	require.NoError(t, patch(`{"metadata":{"labels":{"x":"y"}}}`), "the server's lock is free")
}

func TestApplyTracksWhoSetWhichField(t *testing.T) {
	clock := newClock()
	s := api.NewServer(api.Config{Now: clock.Now})
	seen := writes(s)
	c := fake.New(s, "user")
	maps := c.CoreV1().ConfigMaps("default")
	apply := func(manager string, force bool, data map[string]string) (*v1.ConfigMap, error) {
		return maps.Apply(ctx, corev1.ConfigMap("a", "default").WithData(data), metav1.ApplyOptions{FieldManager: manager, Force: force})
	}
	m, err := apply("alice", false, map[string]string{"x": "1", "y": "1"})
	require.NoError(t, err)
	assert.Equal(t, 201, (*seen)[0].Code)
	assert.NotEmpty(t, m.UID)
	require.Len(t, m.ManagedFields, 1)
	assert.Equal(t, start.Truncate(time.Second), m.ManagedFields[0].Time.Time)

	clock.Advance(time.Minute)
	again, err := apply("alice", false, map[string]string{"x": "1", "y": "1"})
	require.NoError(t, err)
	assert.Equal(t, m.ResourceVersion, again.ResourceVersion, "nothing changed")

	_, err = apply("bob", false, map[string]string{"x": "2"})
	assert.True(t, apierrors.IsConflict(err), err)
	m, err = apply("bob", true, map[string]string{"x": "2"})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"x": "2", "y": "1"}, m.Data)
	m, err = apply("alice", false, map[string]string{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"x": "2"}, m.Data, "what alice no longer mentions and nobody else has is gone")

	m = updateMap(t, c, m, "by update")
	managers := map[string]bool{}
	for _, e := range m.ManagedFields {
		managers[e.Manager+" "+string(e.Operation)] = true
	}
	assert.True(t, managers["user Update"], managers)

	_, err = maps.Apply(ctx, corev1.ConfigMap("a", "default"), metav1.ApplyOptions{})
	assert.True(t, apierrors.IsInvalid(err), err)
}

func TestAnApplyThatIsNotAboutTheObjectOfItsRequestIsRefused(t *testing.T) {
	_, c := newServer()
	maps := c.CoreV1().ConfigMaps("default")
	for config, say := range map[string]string{
		`{"apiVersion":"v1","kind":"Secret"}`:                                                "invalid object type: /v1, Kind=Secret",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`:                     "the name of the object (b) does not match the name on the URL (a)",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"other"}}`: "the namespace of the provided object does not match",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"managedFields":[{}]}}`:           "metadata.managedFields must be nil",
		`[]`:   "error decoding patch",
		`a: [`: "error encoding patch: yaml: line 1: did not find expected node content",
	} {
		_, err := maps.Patch(ctx, "a", types.ApplyPatchType, []byte(config), metav1.PatchOptions{FieldManager: "me"})
		assert.True(t, apierrors.IsBadRequest(err), "%s: %v", config, err)
		assert.ErrorContains(t, err, say)
	}
	_, err := maps.Apply(ctx, corev1.ConfigMap("a", "default").WithUID("gone"), metav1.ApplyOptions{FieldManager: "me"})
	assert.True(t, apierrors.IsInvalid(err), "an object that is gone is not made anew: %v", err)
	createMap(t, c, configMap("a"))
	_, err = maps.Apply(ctx, corev1.ConfigMap("a", "default").WithUID("another"), metav1.ApplyOptions{FieldManager: "me"})
	assert.True(t, apierrors.IsInvalid(err), err)
	_, err = maps.Apply(ctx, corev1.ConfigMap("a", "default").WithResourceVersion("1"), metav1.ApplyOptions{FieldManager: "me"})
	assert.True(t, apierrors.IsConflict(err), err)
}

func TestApplyDefaultsValidatesAndKnowsTheStatusSubresource(t *testing.T) {
	_, c := newServer()
	claims := c.CoreV1().PersistentVolumeClaims("default")
	opts := metav1.ApplyOptions{FieldManager: "alice"}
	_, err := claims.Apply(ctx, corev1.PersistentVolumeClaim("a", "default"), opts)
	assert.True(t, apierrors.IsInvalid(err), err)
	_, err = claims.ApplyStatus(ctx, corev1.PersistentVolumeClaim("a", "default"), opts)
	assert.True(t, apierrors.IsNotFound(err), err)
	pvc := createClaim(t, c, claim("a"))
	assert.Empty(t, pvc.ManagedFields)
	got, err := claims.ApplyStatus(ctx, corev1.PersistentVolumeClaim("a", "default").
		WithStatus(corev1.PersistentVolumeClaimStatus().WithPhase(v1.ClaimBound)), metav1.ApplyOptions{FieldManager: "alice", Force: true})
	require.NoError(t, err)
	assert.Equal(t, v1.ClaimBound, got.Status.Phase)
	assert.Equal(t, pvc.Spec, got.Spec)
	got, err = claims.Apply(ctx, corev1.PersistentVolumeClaim("a", "default").WithLabels(map[string]string{"l": "m"}), opts)
	require.NoError(t, err)
	assert.Equal(t, "m", got.Labels["l"])
	got.Finalizers = nil
	require.NoError(t, claims.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(got.UID)}}))
}

// A patch of the status is made without the spec, unless it speaks of one, and that
// must not show.
func TestAPatchOfTheStatusIsTheSameWithAndWithoutTheSpec(t *testing.T) {
	patched := func(pt types.PatchType, data string) (*v1.Pod, error) {
		_, c := newServer()
		p := podOn("web", "node-1")
		p.Labels = map[string]string{"a": "1"}
		createPod(t, c, p)
		return c.CoreV1().Pods("default").Patch(ctx, "web", pt, []byte(data), metav1.PatchOptions{FieldValidation: "Strict"}, "status")
	}
	for _, pt := range []types.PatchType{types.StrategicMergePatchType, types.MergePatchType} {
		for _, rest := range []string{
			`"status":{"phase":"Running","conditions":[{"type":"A","status":"True"}]}`,
			`"status":null`,
			`"status":{"phase":7}`,
			`"status":{"nonsense":true}`,
			`"metadata":{"labels":{"b":"2"}}`,
			`"metadata":{"uid":"another"},"status":{"phase":"Running"}`,
			`"metadata":{"name":"other"}`,
			`"kind":"Service"`,
			`"other":1`,
		} {
			want, wantErr := patched(pt, `{"spec":{},`+rest+`}`)
			got, err := patched(pt, `{`+rest+`}`)
			if wantErr != nil {
				assert.Error(t, err, rest)
				assert.Equal(t, apierrors.ReasonForError(wantErr), apierrors.ReasonForError(err), rest)
				continue
			}
			require.NoError(t, err, rest)
			assert.Equal(t, want, got, rest)
			assert.Equal(t, "node-1", got.Spec.NodeName)
		}
	}
}
