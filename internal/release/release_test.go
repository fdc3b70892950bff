package release_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/release"
)

var update = flag.Bool("update", false, "write docs/releases.md")

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", name))
	require.NoError(t, err)
	return string(data)
}

// unwrapped returns the text on one line, without the marks of comments.
func unwrapped(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\n//", "\n")), " ")
}

func TestTheTablesOfReleasesAreThoseOfThePackage(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile("../../docs/releases.md", []byte(release.Page()), 0o644))
	}
	require.Equal(t, release.Page(), read(t, "docs/releases.md"), "go test ./internal/release -update writes it")
}

func TestREADMEAndTheLibraryBeginWithTheRelease(t *testing.T) {
	for _, name := range []string{"README.md", "doc.go"} {
		first := strings.Join(strings.SplitN(read(t, name), "\n", 8)[:7], "\n")
		first = regexp.MustCompile(`<!-- [^>]*-->`).ReplaceAllString(first, "")
		require.Contains(t, unwrapped(first), release.Models, name)
	}
}

// stated returns the programs that a text names with a version, without those of the table that
// have it.
func stated(text string) (wrong []string) {
	for _, p := range release.Programs() {
		for _, m := range regexp.MustCompile(`(?:^|[^-\w])`+p.Name+` v?(\d+\.[\d.]*\d)`).FindAllStringSubmatch(text, -1) {
			if v := "v" + m[1]; v != p.Version && !strings.HasPrefix(v, p.Version+".") {
				wrong = append(wrong, p.Name+" "+v)
			}
		}
	}
	return wrong
}

func TestPackageCommentsAndRulesNameTheVersionsOfTheTable(t *testing.T) {
	found := 0
	check := func(name string) {
		text := unwrapped(read(t, name))
		for _, p := range release.Programs() {
			found += strings.Count(text, p.Name+" v") + strings.Count(text, p.Name+" "+p.Version[1:])
		}
		require.Empty(t, stated(text), name)
	}
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "doc.go" && !strings.Contains(filepath.ToSlash(path), "conformance/interop") {
			rel, _ := filepath.Rel("../..", path)
			check(rel)
		}
		return err
	}))
	rules, _, ok := strings.Cut(read(t, "docs/semantics.md"), "\n## 10.") // section 10 says what recordings of other versions show
	require.True(t, ok)
	require.Empty(t, stated(unwrapped(rules)))
	require.Greater(t, found, 5)
	require.Equal(t, []string{"external-attacher v4.12"}, stated("kubernetes-csi/external-attacher 4.12. nfs-subdir-external-provisioner v4.0.18"))
}

func TestTheTestsOfGatesExist(t *testing.T) {
	all := ""
	require.NoError(t, filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			all += string(text)
			return err
		}
		return err
	}))
	for _, g := range release.Gates() {
		require.Contains(t, all, "func "+g.Test+"(", g.Name)
	}
}

func TestTheMinorReleaseIsThatOfTheRelease(t *testing.T) {
	require.True(t, strings.HasPrefix(release.Kubernetes, fmt.Sprintf("v1.%d.", release.Minor)))
}
