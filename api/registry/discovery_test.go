package registry

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resourcesOf returns the resources of a group and version, by name.
func resourcesOf(t *testing.T, r *Registry, gv string) map[string]metav1.APIResource {
	t.Helper()
	byName := map[string]metav1.APIResource{}
	for _, list := range r.ResourceLists() {
		if list.GroupVersion == gv {
			for _, resource := range list.APIResources {
				byName[resource.Name] = resource
			}
		}
	}
	return byName
}

func TestGroupsComeInTheOrderOfTheirPriorities(t *testing.T) {
	r := New()
	require.NoError(t, r.Add(nil, Kind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}))
	require.NoError(t, r.Add(nil, Kind{Group: "a.example.com", Version: "v1beta1", Kind: "Late"}, Kind{Group: "b.example.com", Version: "v1", Kind: "Early"}))
	var names []string
	for _, g := range r.Groups() {
		names = append(names, g.Name)
	}
	assert.Equal(t, append(append([]string{}, groupOrder...), "b.example.com", "a.example.com"), names, "those of one priority by the name of the APIService")
}

func TestDiscoveryHasNoKindThatIsServedOnRequestOnly(t *testing.T) {
	r := New()
	assert.Empty(t, resourcesOf(t, r, "coordination.k8s.io/v1beta1"))
	_, ok := r.Lookup(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1beta1", Resource: "leasecandidates"})
	assert.True(t, ok, "clients in the process find it")
}

func TestDiscoveryListsWhatIsNeverStored(t *testing.T) {
	r := New()
	assert.Equal(t, metav1.APIResource{Name: "bindings", SingularName: "binding", Namespaced: true, Kind: "Binding", Verbs: metav1.Verbs{"create"}},
		resourcesOf(t, r, "v1")["bindings"])
	assert.Len(t, resourcesOf(t, r, "authentication.k8s.io/v1"), 2)
	reviews := resourcesOf(t, r, "authorization.k8s.io/v1")
	assert.Len(t, reviews, 4)
	assert.True(t, reviews["localsubjectaccessreviews"].Namespaced)
	assert.False(t, reviews["subjectaccessreviews"].Namespaced)
}

func TestAStorageVersionHashIsThatOfTheVersionInWhichARealServerStores(t *testing.T) {
	r := New()
	events := resourcesOf(t, r, "events.k8s.io/v1")["events"]
	assert.Equal(t, resourcesOf(t, r, "v1")["events"].StorageVersionHash, events.StorageVersionHash)
	assert.Empty(t, resourcesOf(t, r, "v1")["componentstatuses"].StorageVersionHash, "they are not stored")
}

func TestANicknameIsFoundAndNotDiscovered(t *testing.T) {
	r := New()
	found, err := r.Find("va")
	require.NoError(t, err)
	assert.Equal(t, "volumeattachments", found.Name)
	assert.Empty(t, resourcesOf(t, r, "storage.k8s.io/v1")["volumeattachments"].ShortNames)
}
