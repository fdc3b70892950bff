package items_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/items"
)

var update = flag.Bool("update", false, "write docs/sources.md")

const root = "../.."

func list(t *testing.T) items.List {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, items.File))
	require.NoError(t, err)
	l, err := items.Parse(string(text))
	require.NoError(t, err)
	return l
}

// chapters returns the files of the chapters by number.
func chapters(t *testing.T) map[int]string {
	t.Helper()
	files, err := filepath.Glob(root + "/docs/[0-9]*.md")
	require.NoError(t, err)
	found := map[int]string{}
	for _, file := range files {
		number, _, _ := strings.Cut(filepath.Base(file), "-")
		n, err := strconv.Atoi(number)
		require.NoError(t, err)
		found[n] = filepath.Base(file)
	}
	return found
}

func TestTheWitnessOfEachItemShowsIt(t *testing.T) {
	var missing []string
	for _, item := range list(t).Items {
		whole, err := item.Whole(os.DirFS(root))
		assert.NoError(t, err)
		if item.Counted() && !whole && item.Part == "" && item.Told == "" {
			missing = append(missing, item.Witness)
		}
	}
	assert.Empty(t, missing, "pictures that are not there")
}

// TestTheProgramThatRunsIsTheDocuments: the nightly checks run this file against a served cluster.
func TestTheProgramThatRunsIsTheDocuments(t *testing.T) {
	program, err := os.ReadFile(filepath.Join(root, "conformance/interop/document/main.go"))
	require.NoError(t, err)
	for _, item := range list(t).Items {
		if item.Document == "storage-flow" && item.Name == "the program" {
			require.Equal(t, item.Hash, items.HashOf(append(items.Lines(string(program)), "")), "the block ends with an empty line")
			return
		}
	}
	require.Fail(t, "the list has no such item")
}

func TestNearlyAllItemsAreWhole(t *testing.T) {
	sum, err := list(t).Sum(os.DirFS(root), "")
	require.NoError(t, err)
	t.Log(sum)
	require.GreaterOrEqual(t, 100*sum.Whole, 90*sum.Counted, "%s", sum)
	require.LessOrEqual(t, sum.Told, 10, "%s", sum)
}

func TestSourcesIsMadeOfTheItems(t *testing.T) {
	page, err := list(t).Page(os.DirFS(root), chapters(t))
	require.NoError(t, err)
	file := filepath.Join(root, "docs/sources.md")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, page, strings.ReplaceAll(string(text), "\r\n", "\n"), "go test ./internal/items -update writes it")
}

// TestTheDocumentsAreAsTheListHasThem runs where the documents are at hand.
func TestTheDocumentsAreAsTheListHasThem(t *testing.T) {
	folder := os.Getenv("STORAGESIM_DOCUMENTS")
	if folder == "" {
		t.Log("NOT CHECKED: STORAGESIM_DOCUMENTS names no folder with the documents")
		return
	}
	l := list(t)
	found, err := l.Find(os.DirFS(folder))
	require.NoError(t, err)
	for _, d := range l.Documents {
		require.Empty(t, l.Check(d.Name, found[d.Name]), d.Name)
		wrong, err := l.CheckCommands(os.DirFS(root), d.Name, found[d.Name])
		require.NoError(t, err)
		require.Empty(t, wrong, d.Name)
	}
}

const document = "# A\n\nBelow is a class.\n\n```yaml\nkind: StorageClass\nmetadata: {name: a}\n```\n\n    kubectl get sc  \n"

func small() string {
	lines := items.Lines(document)
	return "# A comment.\ndocument d A document\nsection A\n1 3 claim " + items.HashOf(lines[0:3]) + " 4 | a class | out.txt | class a\n" +
		"6 7 yaml " + items.HashOf(lines[5:7]) + " 4 | the class | docs/stories/a.txt\n10 10 command " + items.HashOf(lines[9:10]) +
		" 4 | get sc | out.txt | $ kubectl get sc | part: no column\n"
}

func TestAWitnessThatDoesNotShowTheItemIsAnError(t *testing.T) {
	l, err := items.Parse(small())
	require.NoError(t, err)
	files := fstest.MapFS{"out.txt": {Data: []byte("class a\n$ kubectl get sc\n")},
		"docs/stories/a.txt": {Data: []byte("apply\nkind: StorageClass\nmetadata: {name: a}\n----\n")}}
	sum, err := l.Sum(files, "d")
	require.NoError(t, err)
	require.Equal(t, "2 of 3 items whole, 1 in part, 0 told", sum.String())
	for file, want := range map[string]string{
		"out.txt": `there is no line "class a"`, "docs/stories/a.txt": "no 2 lines of it are as in the document",
	} {
		broken := fstest.MapFS{}
		for name, f := range files {
			broken[name] = f
		}
		broken[file] = &fstest.MapFile{Data: []byte("kind: StorageClass\n")}
		_, err := l.Sum(broken, "")
		require.ErrorContains(t, err, want)
	}
}

func TestADocumentOfAnotherVersionIsSaidLineByLine(t *testing.T) {
	l, err := items.Parse(small())
	require.NoError(t, err)
	found, err := l.Find(fstest.MapFS{"b.md": {Data: []byte(document)}, "a.md": {Data: []byte("# A\n")}})
	require.NoError(t, err)
	require.Empty(t, l.Check("d", found["d"]))
	other := items.Lines(strings.Replace(document, "name: a", "name: b", 1) + "\nOne more paragraph, which is longer.\n")
	wrong := l.Check("d", other)
	require.Len(t, wrong, 2)
	require.Contains(t, wrong[0], "d: lines 6 to 7 (the class) are others: their hash is ")
	require.Equal(t, "d: line 12 belongs to no item: One more paragraph, ...", wrong[1])
	require.Contains(t, l.Check("d", other[:5])[0], "d has 5 lines; lines 6 to 7 (the class) are missing")
}

func TestAListThatMakesNoSenseNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"1 2 claim x 4 | a | f | l":                      "docs/items.txt:1: an item before the first document",
		"document d D\n1 2 claim x":                      "docs/items.txt:2: expected FIRST LAST KIND SHA256 CHAPTER | name",
		"document d D\n2 1 claim x 4 | a | f | l":        "docs/items.txt:2: lines 2 to 1 are no range",
		"document d D\n1 2 clam x 4 | a | f | l":         `docs/items.txt:2: there is no kind "clam"`,
		"document d D\n1 2 claim x four | a | f | l":     `chapter "four" is not a number`,
		"document d D\n1 2 claim x 4 | a":                `"a" has no witness`,
		"document d D\n1 2 claim x 4 | a | f":            `the witness of "a" has no line`,
		"document d D\n1 2 claim x 4 | a | f | l | more": `"more" is one field too many`,
	} {
		_, err := items.Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestWhatACommandPrintsIsComparedButForWhatMayDiffer(t *testing.T) {
	const shown = "$ kubectl get pvc\nNAME  STATUS VOLUME                                    AGE\ndata  Bound  pvc-3f4a1a65-6cbc-42bf-a1f8-87ad238c0b88 5m41s\n" +
		"  selfLink: /api\n"
	l, err := items.Parse("document d D\n1 4 command x 3 | get pvc | out.txt | $ kubectl get pvc\n1 1 command x 3 | get pvc (errs) | none.txt | l\n")
	require.NoError(t, err)
	ours := fstest.MapFS{"out.txt": {Data: []byte("get pvc\n----\nNAME   STATUS   VOLUME         VOLUMEATTRIBUTESCLASS   AGE\n" +
		"data   Bound    pvc-56a9ebfe   <unset>   2s\n")}}
	wrong, err := l.CheckCommands(ours, "d", items.Lines(shown))
	require.NoError(t, err)
	require.Empty(t, wrong)
	wrong, err = l.CheckCommands(ours, "d", items.Lines(strings.Replace(shown, "Bound", "Pending", 1)))
	require.NoError(t, err)
	require.Equal(t, []string{"d: line 3 (get pvc) is not in out.txt: data Pending pvc-UID AGE"}, wrong)
}
