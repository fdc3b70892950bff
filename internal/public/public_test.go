package public_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/storagesim/storagesim/internal/public"
)

func TestTheListOfPublicManifestsCanBeRead(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", public.List))
	require.NoError(t, err)
	rows, err := public.Parse(string(text))
	require.NoError(t, err)
	asTheyAre, planted := 0, 0
	for _, row := range rows {
		require.NotEmpty(t, row.Files, row.Name)
		require.NotEmpty(t, row.Ends, row.Name)
		if row.Of == "" {
			asTheyAre++
			continue
		}
		planted++
		require.NotEmpty(t, row.Edit.File, row.Name)
	}
	require.GreaterOrEqual(t, asTheyAre, 50)
	require.GreaterOrEqual(t, planted, 20)
}

func TestEachRowHasAShapeThatIsPlayed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", public.List))
	require.NoError(t, err)
	rows, err := public.Parse(string(text))
	require.NoError(t, err)
	shapes, err := public.Shapes()
	require.NoError(t, err)
	used := map[string]bool{}
	for _, shape := range shapes {
		require.NotEmpty(t, shape.Ends, shape.Name)
		used[shape.Name] = false
	}
	for _, row := range rows {
		require.NotEmpty(t, row.Shapes, "%s:%d: row %s: a line shape NAME is missing; the files of internal/public/testdata/shapes are the shapes",
			public.List, row.Line, row.Name)
		for _, name := range row.Shapes {
			require.Contains(t, used, name, "%s:%d: row %s", public.List, row.Line, row.Name)
			used[name] = true
		}
	}
	for name, has := range used {
		require.True(t, has, "no row has the shape %s", name)
	}
}

const list = `
repo o/r 123
row a
of dir/{x,y}.yaml z/
with secret ns/s k=v
flags --wait 1m
exit 0
pvc d* Bound pv-* x2
pod ns/p Ready node-1
event Pod/p Failed *not found
stand-in s.io
row b = a
edit dir/x.yaml: a: b\n => c
says *wrong*
`

func TestARowIsReadAndAPlantedFaultHasItsFiles(t *testing.T) {
	rows, err := public.Parse(list)
	require.NoError(t, err)
	require.Equal(t, []string{"dir/x.yaml", "dir/y.yaml", "z/"}, rows[0].Files)
	require.Contains(t, rows[0].Objects(), `kind: Secret, metadata: {namespace: ns, name: s}, stringData: {k: "v", }`)
	require.Equal(t, rows[0].Files, rows[1].Files)
	require.Equal(t, public.Edit{File: "dir/x.yaml", Old: "a: b\n", New: "c"}, rows[1].Edit)
	for text, want := range map[string]string{
		"exit 0":                      `"exit" outside of a row`,
		"row a\nrow a":                `row "a": a row needs a name of its own`,
		"row b = a":                   `row b: no row "a" stands above`,
		"row a\nof x\nedit y: a => b": "want FILE: OLD => NEW with one of the row's files",
		"row a\ncolour red":           `row a: unknown word "colour"`,
	} {
		_, err := public.Parse(text)
		require.ErrorContains(t, err, want)
	}
}

func objects(t *testing.T, texts ...string) (all []unstructured.Unstructured) {
	for _, text := range texts {
		var u unstructured.Unstructured
		require.NoError(t, json.Unmarshal([]byte(text), &u.Object))
		all = append(all, u)
	}
	return all
}

func TestTheEndOfARunIsComparedWithTheRow(t *testing.T) {
	rows, err := public.Parse(list)
	require.NoError(t, err)
	claim := func(name, phase string) string {
		return `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"namespace":"default","name":"` + name +
			`"},"spec":{"volumeName":"pv-1"},"status":{"phase":"` + phase + `"}}`
	}
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"p"},"spec":{"nodeName":"node-1"},"status":{"conditions":[{"type":"Ready",` +
		`"status":"True"}]}}`
	event := `{"apiVersion":"v1","kind":"Event","metadata":{},"involvedObject":{"kind":"Pod","namespace":"default","name":"p"},"reason":"Failed",` +
		`"message":"x not found"}`
	o := &public.Outcome{Objects: objects(t, claim("d1", "Bound"), claim("d2", "Bound"), pod, event), StandIns: []string{"s.io"}}
	require.Empty(t, rows[0].Check(o))

	o = &public.Outcome{Exit: 3, Objects: objects(t, claim("d1", "Bound"), claim("d2", "Pending")), Takes: []string{"mysqld"}}
	require.Equal(t, []string{
		"event Pod/p Failed *not found: there are []", "exit 0: it is 3", "pod ns/p Ready node-1: 0 are so", "pvc d* Bound pv-* x2: 1 are so; d2 is Pending pv-1",
		"stand-in s.io: there are []", "takes mysqld: the row does not say so",
	}, rows[0].Check(o))
	require.Empty(t, rows[1].Check(&public.Outcome{Output: "a\n  this is wrong there\n"}))
	require.NotEmpty(t, rows[1].Check(&public.Outcome{Output: "a\n"}))
}

func TestStandInsAndTakenProgramsAreReadFromTheRecords(t *testing.T) {
	o := &public.Outcome{}
	require.NoError(t, o.ReadTrace([]byte(`{"type":"StandIn","record":{"name":"s.io"}}
{"type":"Decision","text":"pod default/a: container a runs mysqld, a program of its image, of which nothing is known here; it just runs"}
{"type":"Deviates","text":"deviates at pod default/b, program start of container c: upstream runs the program"}
`)))
	require.Equal(t, []string{"s.io"}, o.StandIns)
	require.Equal(t, []string{"mysqld", "start"}, o.Takes)
	require.Error(t, o.ReadTrace([]byte("{")))
}

var update = flag.Bool("update", false, "write the tables of docs/public-manifests.md")

func TestTheDocumentHasTheRows(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", public.List))
	require.NoError(t, err)
	rows, err := public.Parse(string(text))
	require.NoError(t, err)
	name := filepath.Join("..", "..", "docs", "public-manifests.md")
	page, err := os.ReadFile(name)
	require.NoError(t, err)
	before, rest, _ := strings.Cut(string(page), "<!-- rows -->\n")
	_, after, found := strings.Cut(rest, "<!-- /rows -->\n")
	require.True(t, found)
	want := before + "<!-- rows -->\n" + public.Table(rows) + "<!-- /rows -->\n" + after
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(page), "go test ./internal/public -update writes the tables")
}
