package main

import (
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
	changes := map[string]map[string]bool{}
	for line := range strings.Lines(equals) {
		change, why, ok := strings.Cut(strings.TrimSpace(line), " -- ")
		if !ok || why == "" {
			t.Errorf("no reason: %s", line)
			continue
		}
		dir := filepath.Dir(strings.Split(change, ":")[0])
		if changes[dir] == nil {
			_, mutants, _, err := all(filepath.Join("../../..", dir), regexp.MustCompile(""))
			if err != nil {
				t.Fatal(err)
			}
			changes[dir] = map[string]bool{}
			for _, m := range mutants {
				m.file = filepath.Join(dir, filepath.Base(m.file))
				changes[dir][m.change()] = true
			}
		}
		if !changes[dir][change] {
			t.Errorf("there is no such mutant: %s", change)
		}
	}
}
