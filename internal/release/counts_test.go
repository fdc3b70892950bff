package release_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/explore/museum"
	"github.com/storagesim/storagesim/internal/release"
)

// countedTexts are the documents in which a number of things stands only between markers.
var countedTexts = []string{
	"README.md", "README.zh.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "VERSIONING.md", "docs/*.md", "docs/zh/*.md", "docs/lessons/*.md", "examples/*/README.md",
	"conformance/testdata/README.md",
}

// TestNumbersOfThingsInTheDocumentsStandBetweenMarkers: with -update they are written anew.
func TestNumbersOfThingsInTheDocumentsStandBetweenMarkers(t *testing.T) {
	root := os.DirFS("../..")
	marks := 0
	for _, pattern := range countedTexts {
		files, err := fs.Glob(root, pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			text := read(t, file)
			want, err := release.Counted(text, root)
			require.NoError(t, err, file)
			if *update {
				require.NoError(t, os.WriteFile(filepath.Join("../..", file), []byte(want), 0o644))
				text = want
			}
			require.Equal(t, want, text, "%s; go test ./internal/release -update writes the numbers", file)
			require.Empty(t, release.Uncounted(text), "%s: a number of things stands between markers: internal/release counts them", file)
			require.Empty(t, release.Misstated(text), file)
			require.Empty(t, release.Unlisted(text), "%s: a gate is in a table of internal/release", file)
			marks += strings.Count(text, "<!-- n ")
		}
	}
	require.Greater(t, marks, 5)
	require.NoError(t, fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "doc.go" {
			text := read(t, file)
			require.Empty(t, release.Uncounted(text), "%s: a package comment states no number of things: nothing would keep it", file)
			require.Empty(t, release.Misstated(text), file)
			require.Empty(t, release.Unlisted(text), "%s: a gate is in a table of internal/release", file)
		}
		return err
	}))
}

func TestANumberOutsideOfMarkersIsFound(t *testing.T) {
	repository := fstest.MapFS{"docs/01-a.md": {}, "docs/02-b.md": {}, "docs/errata.md": {Data: []byte("### E1\n### E2\n### E3\n")}}
	text, err := release.Counted("<!-- n chapters -->7<!-- /n --> chapters, <!-- n errata -->7<!-- /n --> errata", repository)
	require.NoError(t, err)
	require.Equal(t, "<!-- n chapters -->2<!-- /n --> chapters, <!-- n errata -->3<!-- /n --> errata", text)
	require.Empty(t, release.Uncounted(text))
	for wrong, want := range map[string]string{
		"There are 23 exercises.": "23 exercises", "Forty-odd chapters": "Forty-odd chapters", "five situations": "five situations", "共 23 道练习": "23 道练习",
		"x\n27 examples": "27 examples",
	} {
		require.Equal(t, []string{want}, release.Uncounted(wrong))
	}
	for _, right := range []string{"chapter 23, exercises", "```\n23 exercises\n```\n", "v1.2-3 examples"} {
		require.Empty(t, release.Uncounted(right), right)
	}
	for wrong, want := range map[string]string{"<!-- n x -->1<!-- /n -->": `"x" is not a count of the table`,
		"<!-- n recordings -->1<!-- /n -->": `count "recordings": there are none`} {
		_, err := release.Counted(wrong, repository)
		require.EqualError(t, err, want)
	}
	for _, c := range release.Counts() {
		if c.Name == "exhibits" {
			text, err := release.Counted("<!-- n exhibits -->0<!-- /n -->", os.DirFS("../.."))
			require.NoError(t, err)
			require.Contains(t, text, ">"+strconv.Itoa(len(museum.Exhibits()))+"<")
		}
	}
}

func TestAGateThatIsMisstatedOrUnlistedIsFound(t *testing.T) {
	require.Equal(t, []string{"StorageCapacityScoring is off"}, release.Misstated("(StorageCapacityScoring\n// is off)"))
	require.Equal(t, []string{"EmptyDirVolumeMode`, on"}, release.Misstated("`EmptyDirVolumeMode`, on since"))
	require.Empty(t, release.Misstated("`StorageCapacityScoring`, on since; MutablePVNodeAffinity`, alpha"))
	require.Equal(t, []string{"NoSuchGate"}, release.Unlisted("behind the gate NoSuchGate, and gate `OpportunisticBatching`"))
}

// TestTheProgramBuiltBesideOursHasTheVersionOfTheTable: the go.mod files of the nested modules say which versions of others run in conformance/interop.
func TestTheProgramBuiltBesideOursHasTheVersionOfTheTable(t *testing.T) {
	built := 0
	for _, p := range release.Programs() {
		if p.Built == "" {
			continue
		}
		built++
		text, err := release.Marked("<!-- v "+p.Built+" --><!-- /v -->", readFile)
		require.NoError(t, err)
		require.Contains(t, text, "-->"+p.Version+".", "%s: the table has %s", p.Name, p.Version)
	}
	require.Greater(t, built, 5)
}
