package arch_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// read returns a file of the repository.
func read(t *testing.T, name ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, name...)...))
	require.NoError(t, err)
	return string(text)
}

func TestEveryCheckIsRunAndTheMakefileNamesOnlyChecks(t *testing.T) {
	script := read(t, ".ci", "run")
	defined := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^check_(\w+)\(\)`).FindAllStringSubmatch(script, -1) {
		defined[match[1]] = true
	}
	run := regexp.MustCompile(`(?m)^checks=\(([^)]*)\)$`).FindStringSubmatch(script)
	require.NotNil(t, run, "the list of checks")
	checks := strings.Fields(run[1])

	all := slices.Collect(maps.Keys(defined))
	require.ElementsMatch(t, append(checks, "short", "interop", "sidecars"), all, "short is what `make quick` runs, and a part of test; interop and its part sidecars take too long")

	lines := regexp.MustCompile(`(?m)^\tbash \.ci/run(.*)$`).FindAllStringSubmatch(read(t, "Makefile"), -1)
	require.NotEmpty(t, lines)
	for _, line := range lines {
		for _, check := range strings.Fields(line[1]) {
			require.True(t, defined[check], "the Makefile runs the check %s, and .ci/run has none of that name", check)
		}
	}
}

// Plain packages in the race detector's list exist: a package that is renamed would
// otherwise drop out of it.
func TestThePackagesThatTheRaceDetectorRunsWholeExist(t *testing.T) {
	list := regexp.MustCompile(`(?m)^concurrent=\(([^)]*)\)$`).FindStringSubmatch(read(t, ".ci", "run"))
	require.NotNil(t, list)
	for _, dir := range strings.Fields(list[1]) {
		require.DirExists(t, filepath.Join("..", "..", strings.TrimSuffix(dir, "/...")))
	}
}
