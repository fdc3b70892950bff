package api_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/registry"
)

// scales returns a request for the scale of the StatefulSet db.
func scales(verb string) api.Request {
	return api.Request{Verb: verb, Resource: appsv1.SchemeGroupVersion.WithResource("statefulsets"), Subresource: "scale", Namespace: "default", Name: "db"}
}

func withStatefulSet(t *testing.T) *api.Server {
	t.Helper()
	server := api.NewServer(api.Config{})
	labels := map[string]string{"app": "db"}
	request := scales("create")
	request.Subresource = ""
	request.Object = &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: v1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i"}}},
		},
	}}
	_, err := server.Do(t.Context(), request)
	require.NoError(t, err)
	return server
}

func TestAStatefulSetIsScaledThroughItsSubresource(t *testing.T) {
	server := withStatefulSet(t)
	do := func(request api.Request) *autoscalingv1.Scale {
		t.Helper()
		obj, err := server.Do(t.Context(), request)
		require.NoError(t, err)
		return obj.(*autoscalingv1.Scale)
	}
	scale := do(scales("get"))
	assert.Equal(t, int32(1), scale.Spec.Replicas)
	assert.Equal(t, "app=db", scale.Status.Selector)

	update := scales("update")
	wanted := scale.DeepCopy()
	wanted.Spec.Replicas = 2
	update.Object = wanted
	assert.Equal(t, int32(2), do(update).Spec.Replicas)

	update.Object = scale.DeepCopy() // of the version before
	_, err := server.Do(t.Context(), update)
	assert.True(t, apierrors.IsConflict(err), "%v", err)

	for pt, patch := range map[types.PatchType]string{
		types.MergePatchType: `{"spec":{"replicas":3}}`, types.JSONPatchType: `[{"op":"replace","path":"/spec/replicas","value":3}]`,
		types.StrategicMergePatchType: `{"spec":{"replicas":3}}`,
	} {
		request := scales("patch")
		request.PatchType, request.Patch = pt, []byte(patch)
		assert.Equal(t, int32(3), do(request).Spec.Replicas, pt)
	}
	request := scales("patch")
	request.PatchType, request.Patch = types.MergePatchType, []byte(`{"spec":{"replicas":-1}}`)
	_, err = server.Do(t.Context(), request)
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	request.Patch = []byte(`{"spec":{"replicas":"x"}}`)
	_, err = server.Do(t.Context(), request)
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32")
	request.Name = "nobody"
	_, err = server.Do(t.Context(), request)
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	update.Object = &v1.Pod{}
	_, err = server.Do(t.Context(), update)
	assert.True(t, apierrors.IsBadRequest(err), "%v", err)
	update.Object = nil
	_, err = server.Do(t.Context(), update)
	assert.True(t, apierrors.IsBadRequest(err), "%v", err)
	assert.Equal(t, int32(3), do(scales("get")).Spec.Replicas, "nothing was stored")
}

func TestDiscoveryNamesTheKindsThatSubresourcesTake(t *testing.T) {
	found := map[string]string{}
	for _, list := range registry.New().ResourceLists() {
		for _, r := range list.APIResources {
			found[list.GroupVersion+" "+r.Name] = r.Group + "/" + r.Version + " " + r.Kind
		}
	}
	assert.Equal(t, "policy/v1 Eviction", found["v1 pods/eviction"], "kubectl drain looks for it")
	assert.Equal(t, "/ Binding", found["v1 pods/binding"])
	assert.Equal(t, "/ Pod", found["v1 pods/log"])
	assert.Equal(t, "autoscaling/v1 Scale", found["apps/v1 statefulsets/scale"])
	assert.Equal(t, "authentication.k8s.io/v1 TokenRequest", found["v1 serviceaccounts/token"])
	assert.Equal(t, "/ Namespace", found["v1 namespaces/finalize"])
}

func TestAServiceAccountGivesTokens(t *testing.T) {
	server := api.NewServer(api.Config{})
	accounts := v1.SchemeGroupVersion.WithResource("serviceaccounts")
	_, err := server.Do(t.Context(), api.Request{
		Verb: "create", Resource: accounts, Namespace: "default", Object: &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}},
	})
	require.NoError(t, err)
	ask := func(name string, seconds *int64) (*authenticationv1.TokenRequest, error) {
		obj, err := server.Do(t.Context(), api.Request{
			Verb: "create", Resource: accounts, Subresource: "token", Namespace: "default", Name: name,
			Object: &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: seconds}},
		})
		if err != nil {
			return nil, err
		}
		return obj.(*authenticationv1.TokenRequest), nil
	}
	got, err := ask("robot", nil)
	require.NoError(t, err)
	assert.NotEmpty(t, got.Status.Token)
	assert.Equal(t, int64(3600), *got.Spec.ExpirationSeconds)
	assert.Equal(t, got.CreationTimestamp.Unix()+3600, got.Status.ExpirationTimestamp.Unix())
	_, err = ask("nobody", nil)
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	short := int64(599)
	_, err = ask("robot", &short)
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
}

func TestAnApplySaysWhetherTheObjectIsNew(t *testing.T) {
	server := api.NewServer(api.Config{})
	apply := func() (created bool) {
		request := api.Request{
			Verb: "patch", Resource: v1.SchemeGroupVersion.WithResource("configmaps"), Namespace: "default", Name: "a", PatchType: types.ApplyYAMLPatchType,
			Patch: []byte(`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}`), Write: metav1.PatchOptions{FieldManager: "me"}, Created: &created,
		}
		_, err := server.Do(t.Context(), request)
		require.NoError(t, err)
		return created
	}
	assert.True(t, apply())
	assert.False(t, apply())
}

// A token may be bound to a pod of its account, to a secret or a node.
func TestATokenIsBoundToWhatIsThere(t *testing.T) {
	server, c := newServer()
	_, err := c.CoreV1().ServiceAccounts("default").Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	of := pod("of-robot")
	of.Spec.ServiceAccountName = "robot"
	createPod(t, c, of)
	createPod(t, c, pod("of-another"))
	for name, tt := range map[string]struct {
		ref  authenticationv1.BoundObjectReference
		want string
	}{
		"its pod":     {authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: "of-robot"}, ""},
		"another pod": {authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: "of-another"}, "running with different serviceaccount name"},
		"no pod":      {authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: "none"}, `pods "none" not found`},
		"a UID":       {authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: "of-robot", UID: "x"}, "does not match the UID in record"},
		"a ConfigMap": {authenticationv1.BoundObjectReference{Kind: "ConfigMap", APIVersion: "v1", Name: "x"}, "cannot bind token to object of type"},
	} {
		request := api.Request{
			Actor: "tester", Verb: "create", Resource: v1.SchemeGroupVersion.WithResource("serviceaccounts"), Subresource: "token", Namespace: "default",
			Name: "robot", Object: &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &tt.ref}},
		}
		_, err := server.Do(ctx, request)
		if tt.want == "" {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, tt.want, name)
		}
	}
}
