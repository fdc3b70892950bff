package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

func TestAJSONPatchThatMovesALongListManyTimesIsRefused(t *testing.T) {
	maps := fake.New(api.NewServer(api.Config{}), "user").CoreV1().ConfigMaps("default")
	_, err := maps.Create(context.Background(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	patch := func(items, operations int) error {
		begin := `[{"op":"add","path":"/metadata/finalizers","value":["a.b/c"` + strings.Repeat(`,"d"`, items) + `]}`
		_, err := maps.Patch(context.Background(), "c", types.JSONPatchType,
			[]byte(begin+strings.Repeat(`,{"op":"remove","path":"/metadata/finalizers/1"}`, operations)+"]"), metav1.PatchOptions{})
		return err
	}
	require.ErrorContains(t, patch(600_000, 9_800), "are more than the allowed work of a JSON patch, 200000000 items moved")
	require.NoError(t, patch(9_000, 9_000), "a patch of an ordinary size is carried out")
}
