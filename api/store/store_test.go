package store_test

import (
	"fmt"
	"math/rand/v2"
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
	"github.com/storagesim/storagesim/internal/seedtest"
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

// A cursor remembers the next few changes that may concern it and looks through those after them. Whatever is written, and whenever it is read,
// it must tell what one that looks at every change tells.
func TestCursorsTellAllChangesHoweverFarTheyAreBehind(t *testing.T) {
	seedtest.Each(t, 300, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		table, _ := newTable(1000)
		nodes := []string{"n1", "n2", "n3"}
		cursors, wanted := map[string]*store.Cursor{}, map[string][]string{"n1": {}, "n2": {}, "n3": {}}
		for _, node := range nodes {
			cursors[node] = table.Follow(store.Selector{Fields: fields.OneTermEqualSelector("spec.nodeName", node)}, nil)
			require.Empty(t, cursors[node].List())
		}
		for range 100 {
			if rng.IntN(4) == 0 {
				node := nodes[rng.IntN(len(nodes))]
				n := min(1+rng.IntN(8), len(wanted[node]))
				require.Equal(t, wanted[node][:n], read(t, cursors[node], n), "the cursor of %s", node)
				if wanted[node] = wanted[node][n:]; len(wanted[node]) > 0 {
					require.True(t, cursors[node].More(), "of %s is still to come %v", node, wanted[node])
				}
				continue
			}
			name := string(rune('a' + rng.IntN(6)))
			from, to, version := moveStone(table, name, append(nodes, "")[rng.IntN(4)], rng.IntN(4) == 0)
			for _, node := range nodes {
				var what string
				switch {
				case from == node && to == node:
					what = "MODIFIED"
				case from == node:
					what = "DELETED"
				case to == node:
					what = "ADDED"
				default:
					continue
				}
				wanted[node] = append(wanted[node], what+" "+name+"@"+version)
			}
		}
		for _, node := range nodes {
			require.Equal(t, wanted[node], read(t, cursors[node], 1000), "the cursor of %s", node)
			require.False(t, cursors[node].More(), "the cursor of %s has told all", node)
		}
	})
}

// moveStone writes a stone on a node, or removes it. It returns where it was and where it is, "-" where there is no stone, and the version of the change.
func moveStone(table *store.Table, name, node string, remove bool) (from, to, version string) {
	old, obj := table.Get("quarry/"+name), stone(name, node, "red")
	if old == nil {
		table.Put(nil, obj)
		return "-", node, obj.GetResourceVersion()
	}
	from, _, _ = unstructured.NestedString(old.(*unstructured.Unstructured).Object, "spec", "nodeName")
	if remove {
		obj = stone(name, from, "red")
		table.Remove(old, obj)
		return from, "-", obj.GetResourceVersion()
	}
	table.Put(old, obj)
	return from, node, obj.GetResourceVersion()
}

// read reads at most so many changes, each as "TYPE name@version".
func read(t testing.TB, cursor *store.Cursor, most int) []string {
	told := []string{}
	for len(told) < most {
		change, ok, err := cursor.Next()
		require.NoError(t, err)
		if !ok {
			break
		}
		obj := change.Object.(*unstructured.Unstructured)
		told = append(told, fmt.Sprintf("%s %s@%s", change.Type, obj.GetName(), obj.GetResourceVersion()))
	}
	return told
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

// All cursors hear that their table is retired, always in the same order: that of the caches of a run follows from it.
func TestTheCursorsOfATableThatIsRetiredAreWokenInOneOrder(t *testing.T) {
	for range 10 {
		table, _ := newTable(100)
		var woken []string
		for _, node := range []string{"n3", "n1", "", "n4", "n2", ""} {
			sel := store.Selector{}
			if node != "" {
				sel.Fields = fields.OneTermEqualSelector("spec.nodeName", node)
			}
			table.Follow(sel, func() { woken = append(woken, node) })
		}
		table.Retire()
		require.Equal(t, []string{"", "", "n1", "n2", "n3", "n4"}, woken)
	}
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
