package tables

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/prose"
)

// get returns what View.Get prints at a width.
func get(t *testing.T, view View, width int, o Options, args ...string) string {
	t.Helper()
	view.Width = width
	var b strings.Builder
	require.NoError(t, view.Get(&b, o, args...))
	return b.String()
}

func TestATableThatFitsIsThatOfKubectl(t *testing.T) {
	view := fixture(t)
	whole := get(t, view, 0, Options{AllNamespaces: true}, "pv,pvc,pods")
	widest := 0
	for line := range strings.Lines(whole) {
		widest = max(widest, prose.Columns(strings.TrimSuffix(line, "\n")))
	}
	require.Equal(t, whole, get(t, view, widest, Options{AllNamespaces: true}, "pv,pvc,pods"))
	require.NotEqual(t, whole, get(t, view, widest-1, Options{AllNamespaces: true}, "pv,pvc,pods"))
}

func TestATableThatIsTooWideLeavesOutTheLeast(t *testing.T) {
	tests := []struct {
		what  string
		width int
		args  string
		want  string
	}{
		{"empty columns first, and <unset> is empty", 125, "pvc", `
NAME   STATUS        VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
data   Bound         pv-1     5Gi        RWO,RWX        fast           <unset>                 10m
logs   Terminating                                                     <unset>                 5s
`},
		{"empty columns first, and <unset> is empty", 90, "pvc", `
NAME   STATUS        VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   AGE
data   Bound         pv-1     5Gi        RWO,RWX        fast           10m
logs   Terminating                                                     5s
`},
		{"then short names of kinds, in all tables", 105, "pv,sc", `
NAME      CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS      CLAIM          STORAGECLASS   AGE
pv/pv-1   5Gi        RWO,RWX        Delete           Bound       default/data   fast           9m59s
pv/pv-2   1Ti        RWOP           Retain           Available                  slow           3h10m
  left out: VOLUMEATTRIBUTESCLASS

NAME                PROVISIONER     RECLAIMPOLICY   VOLUMEBINDINGMODE      ALLOWVOLUMEEXPANSION   AGE
sc/fast (default)   example.com/x   Delete          WaitForFirstConsumer   true                   2d
sc/slow             example.com/y   Retain          Immediate              false                  2d2h
`},
		{"then what is the same in each row", 40, "pvc data", `
NAME   STATUS   VOLUME   CAPACITY
data   Bound    pv-1     5Gi
  also: AGE 10m, ACCESS MODES RWO,RWX,
    STORAGECLASS fast
`},
	}
	for _, test := range tests {
		got := get(t, fixture(t), test.width, Options{}, strings.Fields(test.args)...)
		require.Equal(t, strings.TrimPrefix(test.want, "\n"), got, test.what)
	}
}

func TestACharacterOfTwoColumnsTakesTwo(t *testing.T) {
	view := View{Kinds: kinds, Now: now}
	for i, reason := range []string{"卷已损坏", "lost"} {
		volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pv-", i)}}
		volume.Status.Reason = reason
		view.Objects = append(view.Objects, volume)
	}
	lines := strings.Split(get(t, view, 0, Options{}, "pv"), "\n")
	wide, narrow := lines[1], lines[2]
	require.Contains(t, wide, "卷已损坏   <unknown>")
	require.Equal(t, prose.Columns(wide), prose.Columns(narrow))
}

func TestControlCharactersOfACellAreEscapes(t *testing.T) {
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-1"}}
	volume.Status.Reason = "a\tb\x1b[2Jc\rd"
	text := get(t, View{Kinds: kinds, Now: now, Objects: []runtime.Object{volume}}, 0, Options{}, "pv")
	require.Contains(t, text, `a b\x1b[2Jc...`)
}

func TestATableFitsAsFarAsItCan(t *testing.T) {
	for _, width := range []int{20, 40, 60, 80, 100} {
		for _, name := range []string{"pv", "pvc", "sc", "pods"} {
			for line := range strings.Lines(get(t, fixture(t), width, Options{AllNamespaces: true}, name)) {
				if width >= 80 {
					require.LessOrEqual(t, prose.Columns(strings.TrimSuffix(line, "\n")), width, "%s at %d: %s", name, width, line)
				}
			}
		}
	}
}
