package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/explore/museum"
)

// The rule books. Code cites them as "semantics 1.3 (8)", "semantics 1.2 step 4",
// "semantics 1 must 3", "quirk 14" and "bug 29".
const (
	semantics = "semantics.md"
	bugs      = "bugs.md"
)

// What the rule books define.
var (
	heading  = regexp.MustCompile(`^#+ (\d+(?:\.\d+)?)\.? `)
	numbered = regexp.MustCompile(`^(\d+)\. `)
	mustLine = regexp.MustCompile(`^- \*\*(\d+ must \d+)\.\*\* `)
	bugLine  = regexp.MustCompile(`^### Bug (\d+): `)
)

// How code cites them, once comments are joined to one line.
var (
	comment  = regexp.MustCompile(`\n\s*// ?`)
	section  = `\bsemantics[:,]?\s+(?:section\s+)?(\d+(?:\.\d+)?)`
	citation = regexp.MustCompile(section)
	step     = regexp.MustCompile(section + `\s+(?:step\s+(\d+)|\((\d+)\))`)
	must     = regexp.MustCompile(section + `\s+must\s+(\d+(?:(?:,| and|, and) (?:must )?\d+)*)(\.\d)?`)
	quirk    = regexp.MustCompile(`\bquirk (\d+)`)
	bug      = regexp.MustCompile(`\b(?:[Bb]ugs?:? |TestBug)(\d+(?:(?:,| and|, and) \d+)*)`)
	number   = regexp.MustCompile(`\d+`)
)

// How they name tests: the name is a link to the test's file.
var (
	testName = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)
	testLink = regexp.MustCompile(`\[((?:Test|Fuzz)[A-Z]\w+)\]\(([^)]+_test\.go)\)`)
)

// rules returns the names of the rules that the rule books define: "semantics 1.3",
// "semantics 1.3 step 8", "semantics 1 must 3", "bug 29". A rule that is defined twice is an error.
func rules(semantics, bugs string) (map[string]bool, error) {
	defined := map[string]bool{}
	var double error
	define := func(rule string) {
		if defined[rule] && double == nil {
			double = fmt.Errorf("%s is there twice", rule)
		}
		defined[rule] = true
	}
	current := ""
	for line := range strings.Lines(semantics) {
		if m := heading.FindStringSubmatch(line); m != nil {
			current = "semantics " + m[1]
			define(current)
		} else if m := numbered.FindStringSubmatch(line); m != nil {
			define(current + " step " + m[1])
		} else if m := mustLine.FindStringSubmatch(line); m != nil {
			define("semantics " + m[1])
		}
	}
	for line := range strings.Lines(bugs) {
		if m := bugLine.FindStringSubmatch(line); m != nil {
			define("bug " + m[1])
		}
	}
	return defined, double
}

// citations returns the rules that a Go file cites, in the form of rules.
func citations(source string) []string {
	source = comment.ReplaceAllString(source, " ")
	var cited []string
	for _, m := range citation.FindAllStringSubmatch(source, -1) {
		cited = append(cited, "semantics "+m[1])
	}
	for _, m := range step.FindAllStringSubmatch(source, -1) {
		cited = append(cited, "semantics "+m[1]+" step "+m[2]+m[3])
	}
	for _, m := range must.FindAllStringSubmatch(source, -1) {
		numbers := number.FindAllString(m[2], -1)
		if m[3] != "" { // "5 must 10, and 5.2": the last is a section
			numbers = numbers[:len(numbers)-1]
		}
		for _, n := range numbers {
			cited = append(cited, "semantics "+m[1]+" must "+n)
		}
	}
	for _, m := range quirk.FindAllStringSubmatch(source, -1) {
		cited = append(cited, "semantics 9 step "+m[1])
	}
	for _, m := range bug.FindAllStringSubmatch(source, -1) {
		for _, n := range number.FindAllString(m[1], -1) {
			cited = append(cited, "bug "+n)
		}
	}
	return cited
}

// defined returns the rules that the two documents define.
func defined(t *testing.T) map[string]bool {
	t.Helper()
	all, err := rules(read(t, semantics), read(t, bugs))
	require.NoError(t, err)
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func TestEachRuleAndBugThatCodeCitesIsInItsDocument(t *testing.T) {
	all, cited := defined(t), 0
	require.NoError(t, filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || file == filepath.Join("..", "docs", "rules_test.go") {
			return err
		}
		for _, rule := range citations(read(t, file)) {
			cited++
			require.True(t, all[rule], "%s cites %q, which is neither in docs/%s nor in docs/%s", file, rule, semantics, bugs)
		}
		return nil
	}))
	require.Greater(t, cited, 200)
}

func TestTheRuleBooksAreComplete(t *testing.T) {
	all := defined(t)
	exhibits := map[int]bool{14: true} // the one that the museum does not have
	for _, e := range museum.Exhibits() {
		exhibits[e.Number] = true
	}
	for n := range exhibits {
		require.True(t, all[fmt.Sprintf("bug %d", n)], "bug %d", n)
	}
	require.False(t, all[fmt.Sprintf("bug %d", len(exhibits)+1)], "a bug that is not in the museum, and not named as such")
	for i, musts := range []int{14, 12, 13, 10, 12, 10, 13, 13} { // of sections 1 to 8
		for n := range musts {
			rule := fmt.Sprintf("semantics %d must %d", i+1, n+1)
			require.True(t, all[rule], rule)
		}
	}
}

func TestEachTestThatTheRuleBooksNameExists(t *testing.T) {
	for _, file := range []string{semantics, bugs} {
		text := strings.Join(strings.Fields(read(t, file)), " ")
		links := testLink.FindAllStringSubmatch(text, -1)
		require.Greater(t, len(links), 30)
		for _, m := range links {
			there := strings.Contains(read(t, m[2]), "\nfunc "+m[1]+"(")
			require.True(t, there, "%s says that %s has the test %s", file, m[2], m[1])
		}
		require.Len(t, testName.FindAllString(text, -1), len(links), "%s: each name of a test is a link to its file", file)
	}
}

func TestEveryMustAndBugSaysWhereItIsShown(t *testing.T) {
	shown := regexp.MustCompile(`(?i)shown (?:by|yet)|seen in`)
	for _, file := range []string{semantics, bugs} {
		start := map[string]string{semantics: "\n- **", bugs: "\n### Bug "}[file]
		for _, part := range strings.Split(read(t, file), start)[1:] {
			rule, _, _ := strings.Cut(part, "\n")
			if end := strings.Index(part, "\n\n##"); end >= 0 && file == semantics {
				part = part[:end]
			}
			require.Regexp(t, shown, strings.Join(strings.Fields(part), " "), "%s: %s", file, rule)
		}
	}
}

func TestCitationsAreFoundInAnyForm(t *testing.T) {
	for source, want := range map[string][]string{
		"// semantics 5.3: `..`":                       {"semantics 5.3"},
		"// semantics section 2.4 NodeVolumeLimits":    {"semantics 2.4"},
		"// The musts of semantics, section 4, on a":   {"semantics 4"},
		"// semantics 1.2 step 4: written":             {"semantics 1.2", "semantics 1.2 step 4"},
		"// semantics 1.3 (8)":                         {"semantics 1.3", "semantics 1.3 step 8"},
		"// semantics: section 3 must 1, 2 and 11.":    {"semantics 3", "semantics 3 must 1", "semantics 3 must 2", "semantics 3 must 11"},
		"// semantics 5 must 1 and must 5.":            {"semantics 5", "semantics 5 must 1", "semantics 5 must 5"},
		"// semantics 5 must 10, and 5.2: in use":      {"semantics 5", "semantics 5 must 10"},
		"// quirk 14 of section 9":                     {"semantics 9 step 14"},
		"x()\n\t// as in semantics\n\t// 3 must\n// 2": {"semantics 3", "semantics 3 must 2"},
		"// bugs 10 and 19. CI":                        {"bug 10", "bug 19"},
		"// bugs: 21 (k/k 128164)":                     {"bug 21"},
		"// Bug 2, external-provisioner 131 and 311":   {"bug 2"},
		"func TestBug5TheSelectedNodeIsGone(":          {"bug 5"},
		"// client-go's semantics: a key waits":        nil,
	} {
		require.Equal(t, want, citations(source), source)
	}
	all, err := rules("## 1. A\n### 1.1 B\n1. x\n- **1 must 1.** y\n", "### Bug 1: z\n")
	require.NoError(t, err)
	require.Equal(t, map[string]bool{
		"semantics 1": true, "semantics 1.1": true, "semantics 1.1 step 1": true, "semantics 1 must 1": true, "bug 1": true,
	}, all)
	_, err = rules("## 1. A\n1. x\n1. y\n", "")
	require.ErrorContains(t, err, "semantics 1 step 1 is there twice")
}
