package rest

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnObjectIsEncodedOnceUntilManyOthersWere(t *testing.T) {
	kept, calls := &encodings{}, 0
	ask := func(key encoding, size int) {
		t.Helper()
		text, err := kept.get(key, func() ([]byte, error) {
			calls++
			return make([]byte, size), nil
		})
		require.NoError(t, err)
		require.Len(t, text, size)
	}
	first := encoding{obj: &corev1.ConfigMap{}, mediaType: "application/json"}
	ask(first, 10)
	ask(first, 10)
	require.Equal(t, 1, calls)

	other := first
	other.mediaType = "application/yaml"
	ask(other, 20)
	require.Equal(t, 2, calls, "another form is another encoding")

	for i := range keptEncodings {
		ask(encoding{obj: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(i)}}}, 1)
	}
	calls = 0
	ask(first, 10)
	require.Equal(t, 1, calls, "it was forgotten")
	require.Len(t, kept.of, keptEncodings)
}

func TestNeitherLargeNorFailedEncodingsAreKept(t *testing.T) {
	kept := &encodings{}
	key := encoding{obj: &corev1.ConfigMap{}}
	_, err := kept.get(key, func() ([]byte, error) { return nil, errors.New("it cannot be written") })
	require.EqualError(t, err, "it cannot be written")
	_, err = kept.get(key, func() ([]byte, error) { return make([]byte, largestKept+1), nil })
	require.NoError(t, err)
	require.Empty(t, kept.of)
}
