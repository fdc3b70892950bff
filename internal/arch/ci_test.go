package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
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

// matches returns the texts that the group of a pattern matches.
func matches(pattern, text string) map[string]bool {
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return found
}

// words returns the words of a list of a script, without its comments.
func words(t *testing.T, script, list string) []string {
	t.Helper()
	match := regexp.MustCompile(`(?ms)^` + list + `=\((.*?)\)( *#[^\n]*)?$`).FindStringSubmatch(script)
	require.NotNil(t, match, list)
	return strings.Fields(regexp.MustCompile(`(?m)#.*$`).ReplaceAllString(match[1], ""))
}

func TestEveryCheckIsRunAndTheMakefileNamesOnlyChecks(t *testing.T) {
	const check = `(?m)^check_(\w+)\(\)`
	shared := matches(check, read(t, ".ci", "checks.sh"))
	run := map[string]bool{}
	for name, partOfOther := range map[string][]string{
		"run":     {"changed"}, // what `make quick` runs, and a part of lint and test
		"nightly": {},
	} {
		script := read(t, ".ci", name)
		defined := matches(check, script)
		maps.Copy(defined, shared)
		all := slices.Collect(maps.Keys(defined))
		require.ElementsMatch(t, append(words(t, script, "checks"), partOfOther...), all, ".ci/%s", name)

		for line := range matches(`(?m)^\tbash \.ci/`+name+`\b(.*)$`, read(t, "Makefile")) {
			run[name] = true
			for _, check := range strings.Fields(line) {
				require.True(t, defined[check], "the Makefile runs the check %s, and .ci/%s has none of that name", check, name)
			}
		}
	}
	require.Len(t, run, 2, "the Makefile runs both scripts")
}

// The table of CONTRIBUTING.md has a row for each check, in the order in which they run.
func TestTheTableOfChecksIsThatOfTheScript(t *testing.T) {
	var rows []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\w+) \| .* \|\s*\d* \|$`).FindAllStringSubmatch(read(t, "CONTRIBUTING.md"), -1) {
		rows = append(rows, row[1])
	}
	require.Equal(t, words(t, read(t, ".ci", "run"), "checks"), rows)
}

// Each check of .ci/nightly is a job of the forge's, so that one that takes hours does not hold back the others.
func TestTheNightlyWorkflowRunsEachCheck(t *testing.T) {
	matrix := regexp.MustCompile(`(?m)^ *check: \[(.*)\]$`).FindStringSubmatch(read(t, ".github", "workflows", "nightly.yml"))
	require.NotNil(t, matrix)
	require.Equal(t, words(t, read(t, ".ci", "nightly"), "checks"), strings.Split(matrix[1], ", "))
}

// The scripts name tests by a part of their names. One that is renamed would otherwise drop out until
// the script is run.
func TestTheTestsThatTheScriptsNameExist(t *testing.T) {
	var tests []string
	files, _ := goFiles(t)
	for _, f := range files {
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				tests = append(tests, fn.Name.Name)
			}
		}
	}
	exists := func(pattern string) {
		re := regexp.MustCompile(`^(` + pattern + `)`)
		require.True(t, slices.ContainsFunc(tests, re.MatchString), "no test matches %s", pattern)
	}
	for _, name := range []string{"run", "nightly"} {
		for _, part := range words(t, read(t, ".ci", name), "seeded") {
			part, _, _ = strings.Cut(part, "=")
			exists(`Test\w*` + part)
		}
	}
	for list := range matches(`(?m)tests_like '?([\w\\*|]+)'?\)`, read(t, ".ci", "nightly")) {
		for part := range strings.SplitSeq(list, "|") {
			exists(part)
		}
	}
}

// A benchmark that moves to another package would otherwise leave behind a command that measures nothing.
func TestTheBenchmarksThatTheDocumentsRunExist(t *testing.T) {
	files, _ := goFiles(t)
	commands := 0
	for _, doc := range []string{"benchmarks.md", "benchmarks-binding.md"} {
		for line := range strings.Lines(read(t, "docs", doc)) {
			command := regexp.MustCompile(
				`^(?:GOGC=\d+ )?go test -run '\^\$' -bench '?([^' ]+)'?[^#]* (\./\S*|\.)(?:\s|$)|^go test (\./\S+) .*-bench \. `).FindStringSubmatch(line)
			if command == nil {
				require.False(t, strings.HasPrefix(line, "go test"), "%s: which benchmarks does this run? %s", doc, line)
				continue
			}
			commands++
			dir := path.Clean(command[2] + command[3])
			for pattern := range strings.SplitSeq(command[1], "|") {
				pattern, _, _ = strings.Cut(pattern, "/")
				re := regexp.MustCompile(`^Benchmark\w*` + strings.TrimSuffix(pattern, "$"))
				require.True(t, declares(files, dir, re), "%s: no benchmark in %s matches %q", doc, dir, pattern)
			}
		}
	}
	require.NotZero(t, commands)
}

// declares reports whether a package in that directory has a function whose name matches.
func declares(files map[string]*ast.File, dir string, name *regexp.Regexp) bool {
	for file, f := range files {
		if path.Dir(file) == dir && slices.ContainsFunc(f.Decls, func(decl ast.Decl) bool {
			fn, ok := decl.(*ast.FuncDecl)
			return ok && fn.Recv == nil && name.MatchString(fn.Name.Name)
		}) {
			return true
		}
	}
	return false
}

// A package that starts goroutines, in its code or its tests, runs under the race detector, and what
// the list names exists: a package that is renamed would otherwise drop out of it.
func TestPackagesWithGoroutinesRunUnderTheRaceDetector(t *testing.T) {
	listed := map[string]bool{}
	files, fset := goFiles(t)
	for _, entry := range words(t, read(t, ".ci", "run"), "concurrent") {
		dir, test, _ := strings.Cut(strings.TrimPrefix(entry, "./"), "=")
		require.DirExists(t, filepath.Join("..", "..", strings.TrimSuffix(dir, "/...")))
		require.True(t, test == "" || declares(files, dir, regexp.MustCompile("^"+test+"$")), "%s is not there", entry)
		listed[dir] = true
	}
	for name, f := range files {
		dir := path.Dir(name)
		under := false
		for parent := dir; parent != "."; parent = path.Dir(parent) {
			under = under || listed[parent+"/..."]
		}
		if !under && !listed[dir] {
			ast.Inspect(f, func(n ast.Node) bool {
				if start, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%s: a goroutine is started, and %s is not in the list concurrent of .ci/run", fset.Position(start.Pos()), dir)
				}
				return true
			})
		}
	}
}

// goFiles returns the Go files of the main module, with their tests.
func goFiles(t *testing.T) (map[string]*ast.File, *token.FileSet) {
	t.Helper()
	files, fset, top := map[string]*ast.File{}, token.NewFileSet(), os.DirFS(filepath.Join("..", ".."))
	require.NoError(t, fs.WalkDir(top, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != ".":
			_, err := fs.Stat(top, path.Join(name, "go.mod"))
			if err == nil || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
		case strings.HasSuffix(name, ".go"):
			text, err := fs.ReadFile(top, name)
			if err != nil {
				return err
			}
			files[name], err = parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
			return err
		}
		return nil
	}))
	return files, fset
}
