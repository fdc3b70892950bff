package manifest_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/internal/manifest"
)

const remembered = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, labels: {a: b}}\n"

func TestTextThatIsReadAgainGivesObjectsOfItsOwn(t *testing.T) {
	first, err := manifest.Parse(kinds, "a.yaml", []byte(remembered))
	require.NoError(t, err)
	first[0].Meta().GetLabels()["a"] = "changed"
	first[0].JSON[0] = 'x'
	second, err := manifest.Parse(kinds, "a.yaml", []byte(remembered))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "b"}, second[0].Meta().GetLabels())
	require.Equal(t, byte('{'), second[0].JSON[0])
	second[0].Meta().GetLabels()["a"] = "changed"
	third, err := manifest.Parse(kinds, "a.yaml", []byte(remembered))
	require.NoError(t, err)
	require.Equal(t, "b", third[0].Meta().GetLabels()["a"])
}

func TestTextThatIsReadAgainIsWhatItsNameAndNamespaceSay(t *testing.T) {
	for range 2 {
		for _, name := range []string{"a.yaml", "b.yaml"} {
			for _, namespace := range []string{"", "one", "two"} {
				objects, err := manifest.Reader{Kinds: kinds, Namespace: namespace}.Set(manifest.Source{Name: name, Data: []byte(remembered)})
				require.NoError(t, err)
				require.Equal(t, name, objects[0].File)
				if namespace == "" {
					namespace = manifest.DefaultNamespace
				}
				require.Equal(t, namespace, objects[0].Meta().GetNamespace())
			}
		}
	}
}

// withoutClaims are the kinds of a server that has no claims.
type withoutClaims struct{ manifest.Kinds }

func (k withoutClaims) OfKind(gvk schema.GroupVersionKind) (metav1.APIResource, bool) {
	if gvk.Kind == "PersistentVolumeClaim" {
		return metav1.APIResource{}, false
	}
	return k.Kinds.OfKind(gvk)
}

func TestTextThatIsReadAgainIsReadForTheServersKinds(t *testing.T) {
	_, err := manifest.Parse(kinds, "a.yaml", []byte(remembered))
	require.NoError(t, err)
	_, err = manifest.Parse(withoutClaims{kinds}, "a.yaml", []byte(remembered))
	require.ErrorContains(t, err, `"PersistentVolumeClaim"`)
}

// More text than is remembered, and more at once.
func TestTextIsReadRightHoweverMuchThereIs(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 60 {
				second := strings.Replace(remembered, "name: data", fmt.Sprint("name: data-", i), 1)
				text := fmt.Sprintf("%s---\n%s\n# %s\n", remembered, second, strings.Repeat("x", 40_000))
				objects, err := manifest.Parse(kinds, "a.yaml", []byte(text))
				if err != nil || len(objects) != 2 || objects[1].Meta().GetName() != fmt.Sprint("data-", i) {
					t.Errorf("text %d: %v, %v", i, objects, err)
				}
			}
		})
	}
	all.Wait()
}
