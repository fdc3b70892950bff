package store_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/api/store"
)

var stones = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "stones"}

// fieldsOfStones returns the fields that stones can be selected by. Followers wait by the first of them.
func fieldsOfStones() store.Fields {
	read := func(name string) func(runtime.Object) string {
		return func(obj runtime.Object) string {
			value, _, _ := unstructured.NestedString(obj.(*unstructured.Unstructured).Object, "spec", name)
			return value
		}
	}
	return store.Fields{"spec.nodeName": read("nodeName"), "spec.color": read("color")}
}

func stone(name, node, color string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "quarry", "name": name}, "spec": map[string]any{"nodeName": node, "color": color},
	}}
}

// newTable returns a table of stones, and the one that cursors of a retired table find.
func newTable(limit int) (table, next *store.Table) {
	s := store.New(store.Config{
		Now: func() time.Time { return time.Unix(0, 0) }, LogLimit: limit,
		Reopen: func(schema.GroupVersionResource) *store.Table { return next },
	})
	of := store.Resource{Name: stones, Namespaced: true, Fields: fieldsOfStones()}
	table, next = s.NewTable(of), s.NewTable(of)
	return table, next
}

func TestACursorIsWokenForItsFieldAndSeesWhatEntersAndLeavesItsSelection(t *testing.T) {
	table, _ := newTable(100)
	woken := 0
	cursor := table.Follow(store.Selector{Fields: fields.OneTermEqualSelector("spec.nodeName", "n1")}, func() { woken++ })
	require.Empty(t, cursor.List())

	elsewhere, here := stone("a", "n2", "red"), stone("a", "n1", "red")
	table.Put(nil, elsewhere)
	require.Zero(t, woken, "a change on another node")
	table.Put(elsewhere, here)
	require.Equal(t, 1, woken)
	change, ok, err := cursor.Next()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, watch.Added, change.Type)

	table.Put(here, stone("a", "n2", "red"))
	require.Equal(t, 2, woken, "it leaves the node")
	change, _, err = cursor.Next()
	require.NoError(t, err)
	require.Equal(t, watch.Deleted, change.Type)
	require.Equal(t, "3", change.Object.(*unstructured.Unstructured).GetResourceVersion())
	_, ok, _ = cursor.Next()
	require.False(t, ok)
}

func TestACursorThatIsFurtherBehindThanTheLogListsAgain(t *testing.T) {
	table, _ := newTable(2)
	cursor := table.Follow(store.Selector{}, nil)
	require.Empty(t, cursor.List())
	for i := range 3 {
		table.Put(nil, stone(strconv.Itoa(i), "", ""))
	}
	_, _, err := cursor.Next()
	require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	require.Len(t, cursor.List(), 3)
}

func TestACursorOfATableThatWasRetiredListsTheOneThatIsThereNow(t *testing.T) {
	table, next := newTable(10)
	cursor := table.Follow(store.Selector{}, nil)
	require.Empty(t, cursor.List())
	table.Put(nil, stone("old", "", ""))
	table.Retire()
	_, _, err := cursor.Next()
	require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	next.Put(nil, stone("new", "", ""))
	require.Equal(t, "quarry/new", cursor.List()[0].Key)
}

func TestAPageShowsTheObjectsAsTheyWereAtTheFirstPage(t *testing.T) {
	table, _ := newTable(10)
	for _, name := range []string{"a", "b", "c"} {
		table.Put(nil, stone(name, "", "red"))
	}
	first, meta, err := table.Page(fieldsOfStones(), store.Selector{Namespace: "quarry"}, metav1.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.Len(t, first, 2)
	require.Equal(t, int64(1), *meta.RemainingItemCount)

	last := stone("c", "", "red")
	table.Remove(table.Get("quarry/c"), last)
	table.Put(nil, stone("d", "", "red"))
	rest, meta, err := table.Page(fieldsOfStones(), store.Selector{Namespace: "quarry"}, metav1.ListOptions{Limit: 2, Continue: meta.Continue})
	require.NoError(t, err)
	require.Equal(t, "3", meta.ResourceVersion)
	require.Len(t, rest, 1)
	require.Equal(t, "c", rest[0].(*unstructured.Unstructured).GetName())
	require.Empty(t, meta.Continue)
}

func TestAWriteInThePastLeavesTheCounterAlone(t *testing.T) {
	s := store.New(store.Config{Now: func() time.Time { return time.Unix(0, 0) }, LogLimit: 1})
	other := s.NewTable(store.Resource{Name: stones})
	other.Put(nil, stone("a", "", ""))
	other.Put(nil, stone("b", "", ""))
	past := stone("c", "", "")
	s.At(1, func() { other.Put(nil, past) })
	require.Equal(t, "1", past.GetResourceVersion())
	require.Equal(t, uint64(2), s.Version())
}
