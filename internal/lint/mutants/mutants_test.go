package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// module is one with a package whose test notices some mutants of f and not others.
var module = map[string]string{
	"go.mod": "module p\n\ngo 1.26\n",
	"p.go": `package p

import "time"

type yes bool

func f(a, b bool) (int, int) {
	const n = 3
	if a && b {
		g()
		return n, 7
	}
	switch {
	case a:
		n := 0
		n = 2
		return n, 8
	}
	return 1, 2
}

func g() {}

func h(a yes, b bool) (time.Duration, error) {
	if a || !yes(b) {
		panic("no")
	}
	for {
		if b {
			break
		}
	}
	return 5 * time.Second, nil
}

// The type of 9 has no name here, so that its two mutants are no Go.
func k(time time.Duration) bool { return time > 9 }
`,
	"p_test.go": `package p

import "testing"

func TestF(t *testing.T) {
	if x, y := f(true, true); x != 3 || y != 7 {
		t.Error(x, y)
	}
}
`,
}

func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range module {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestEachRuleMakesMutants(t *testing.T) {
	s, err := prepare(folder(t), t.TempDir(), regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, number := range slices.Sorted(maps.Keys(s.mutants)) {
		got = append(got, strings.TrimPrefix(s.mutants[number].String(), filepath.Dir(s.mutants[number].file)+"/"))
	}
	want := []string{
		"p.go:11: f: swap the results: return n, 7",
		"p.go:9: f: negate the condition: a && b", "p.go:9: f: drop the operand behind &&: a && b", "p.go:9: f: drop the operand before &&: a && b",
		"p.go:10: f: drop the statement: g()", "p.go:11: f: drop the statement: return n, 7", "p.go:11: f: plus one: 7", "p.go:11: f: minus one: 7",
		"p.go:14: f: negate the condition: a", "p.go:17: f: swap the results: return n, 8",
		"p.go:16: f: drop the assignment: n = 2",
		"p.go:15: f: plus one: 0", "p.go:15: f: minus one: 0", "p.go:16: f: plus one: 2", "p.go:16: f: minus one: 2", "p.go:17: f: plus one: 8",
		"p.go:17: f: minus one: 8",
		"p.go:19: f: swap the results: return 1, 2", "p.go:19: f: plus one: 1", "p.go:19: f: minus one: 1", "p.go:19: f: plus one: 2", "p.go:19: f: minus one: 2",
		"p.go:26: h: drop the statement: panic(\"no\")", "p.go:29: h: negate the condition: b", "p.go:30: h: drop the statement: break",
		"p.go:33: h: plus one: 5", "p.go:33: h: minus one: 5",
	}
	slices.Sort(got)
	slices.Sort(want)
	if s.left != 2 {
		t.Errorf("%d are no Go", s.left)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestATestNoticesTheMutantsThatItReaches(t *testing.T) {
	dir := folder(t)
	survivors, err := try(dir, []string{dir}, "^f$", "", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if survivors != 3+14 { // both operands and g(), and all behind the first return
		t.Errorf("%d survive", survivors)
	}
	if _, err := os.Stat(filepath.Join(dir, "mutants_that_are_switched.go")); !os.IsNotExist(err) {
		t.Error("the folder was changed:", err)
	}
}

func TestEachLineOfTheListIsAMutantWithAReason(t *testing.T) {
	known := map[string][]*mutant{} // of each folder
	for i, line := range strings.Split(strings.TrimSpace(equals), "\n") {
		change, why, ok := strings.Cut(line, " -- ")
		if !ok || why == "" {
			t.Errorf("equal.txt:%d: no reason: %s", i+1, line)
			continue
		}
		file, rest, _ := strings.Cut(change, ": ")
		function, _, _ := strings.Cut(rest, ": ")
		dir := filepath.Dir(file)
		if known[dir] == nil {
			_, mutants, _, err := all(filepath.Join("../../..", dir), regexp.MustCompile(""))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range mutants {
				m.file = filepath.Join(dir, filepath.Base(m.file))
			}
			for _, number := range slices.Sorted(maps.Keys(mutants)) {
				known[dir] = append(known[dir], mutants[number])
			}
		}
		if slices.ContainsFunc(known[dir], func(m *mutant) bool { return m.change() == change }) {
			continue
		}
		t.Errorf("equal.txt:%d: there is no such mutant: %s; those of the function are:%s", i+1, change, ofFunction(known[dir], file, function))
	}
}

// ofFunction returns the mutants of a function with their lines, each on a line.
func ofFunction(mutants []*mutant, file, function string) string {
	var b strings.Builder
	for _, m := range mutants {
		if m.file == file && m.function == function {
			b.WriteString("\n\t" + m.String())
		}
	}
	return b.String()
}

func TestAListedMutantIsOneOfThoseWithTheSameWords(t *testing.T) {
	_, mutants, _, err := all(folder(t), regexp.MustCompile("^f$"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, number := range slices.Sorted(maps.Keys(mutants)) {
		if m := mutants[number]; m.what == "plus one: 2" {
			_, change, _ := strings.Cut(m.change(), "p.go: ")
			got = append(got, fmt.Sprintf("%d %s", m.line, change))
		}
	}
	slices.Sort(got)
	if want := []string{"16 f: plus one: 2", "19 f: plus one: 2 #2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
