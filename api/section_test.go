package api_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

func TestADeletionForWhatCannotBeReadIsRefused(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{}), "user").CoreV1().ConfigMaps("default")
	_, err := client.Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	unsafely := metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: new(true)}
	err = client.Delete(t.Context(), "a", unsafely)
	assert.True(t, apierrors.IsConflict(err))
	assert.EqualError(t, err, `Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/a, `+
		`ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage`)
	_, err = client.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.True(t, apierrors.IsNotFound(client.Delete(t.Context(), "b", unsafely)))
}

func TestOnlyATokenOfAServiceAccountIsOne(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{}), "user")
	_, err := client.CoreV1().ServiceAccounts("default").Create(t.Context(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	given, err := client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "a", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	for token, good := range map[string]bool{given.Status.Token: true, given.Status.Token + "0": false, "storagesim.00": false, "bogus": false, "": false} {
		review, err := client.AuthenticationV1().TokenReviews().Create(t.Context(),
			&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		require.NoError(t, err)
		assert.Equal(t, good, review.Status.Authenticated, token)
		assert.Equal(t, !good, review.Status.Error == "invalid bearer token", token)
	}
}

// controller.kubernetes.io and kubectl's annotations go on to the ReplicaSets.
func TestAnAnnotationOfADeploymentCounts(t *testing.T) {
	server := api.NewServer(api.Config{})
	const manifest = "{apiVersion: apps/v1, kind: %, metadata: {name: a}, spec: {selector: {matchLabels: {x: z}}, template: {metadata: {labels: {x: z}}, spec: " +
		"{containers: [{name: c, image: i}]}}}}"
	for kind, want := range map[string]int64{"Deployment": 2, "ReplicaSet": 1} {
		_, err := written(t, server, "create", replaced(manifest, "%", kind))
		require.NoError(t, err)
		got, err := written(t, server, "update", replaced(manifest, "%", kind, "{name: a}", "{name: a, annotations: {b: c}}"))
		require.NoError(t, err)
		assert.EqualValues(t, want, got["metadata"].(map[string]any)["generation"], kind)
	}
}

func TestAPatchToAnotherKindIsReadAsThat(t *testing.T) {
	client := fake.New(api.NewServer(api.Config{}), "user").CoreV1().ConfigMaps("default")
	_, err := client.Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "1"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.Patch(t.Context(), "a", types.JSONPatchType, []byte(`[{"op":"replace","path":"/kind","value":"Secret"}]`), metav1.PatchOptions{})
	assert.ErrorContains(t, err, "illegal base64 data at input byte 0")
	_, err = client.Patch(t.Context(), "a", types.JSONPatchType, []byte(`[{"op":"replace","path":"/kind","value":"Pod"},{"op":"remove","path":"/data"}]`),
		metav1.PatchOptions{})
	assert.ErrorContains(t, err, "the API version or kind in the data (/v1, Kind=Pod) does not match the expected one (/v1, Kind=ConfigMap)")
}
