package release_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/release"
)

func readFile(file string) (string, error) {
	text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(file)))
	return string(text), err
}

// TestVersionsInTheDocumentsStandBetweenMarkers: with -update they are written anew.
func TestVersionsInTheDocumentsStandBetweenMarkers(t *testing.T) {
	seen := 0
	for _, pattern := range release.Texts() {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, path := range files {
			file, err := filepath.Rel("../..", path)
			require.NoError(t, err)
			file = filepath.ToSlash(file)
			text := read(t, file)
			want, err := release.Marked(text, readFile)
			require.NoError(t, err, file)
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
				text = want
			}
			require.Equal(t, want, text, "%s; go test ./internal/release -update writes the versions", file)
			stray, used := release.Unmarked(file, text)
			require.Empty(t, stray, "%s: a version stands between markers, or internal/release lists it as one that stays", file)
			for words, n := range used {
				require.Positive(t, n, "%s does not say %q any more", file, words)
				seen++
			}
		}
	}
	require.Len(t, release.Kept(), seen)
}

func TestAVersionOutsideOfMarkersIsFound(t *testing.T) {
	const mod = "<!-- v conformance/interop/go.mod:k8s.io/kubernetes -->"
	text, err := release.Marked("<!-- v kubernetes -->v1.1.1<!-- /v --> and "+mod+"v0.1<!-- /v -->",
		func(string) (string, error) { return "require (\n\tk8s.io/kubernetes v1.2.3\n)\n", nil })
	require.NoError(t, err)
	require.Equal(t, "<!-- v kubernetes -->"+release.Kubernetes+"<!-- /v --> and "+mod+"v1.2.3<!-- /v -->", text)
	stray, _ := release.Unmarked("a.md", text+"\nin `v1.30`, [x](v1.2.md)\n```\nv1.3\n```\n")
	require.Equal(t, []string{"in `v1.30"}, stray)
	_, used := release.Unmarked("docs/39-the-museum.md", "those of v1.37 itself")
	require.Equal(t, map[string]int{"those of v1.37 itself": 1}, used)
	for marker, want := range map[string]string{"x": `"x" is not a program of the table, and not FILE:MODULE`, "f:m": "f requires no m"} {
		_, err := release.Marked("<!-- v "+marker+" -->v1.1<!-- /v -->", func(string) (string, error) { return "", nil })
		require.EqualError(t, err, want)
	}
}
