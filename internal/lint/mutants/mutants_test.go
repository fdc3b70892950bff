package main

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

const code = `package p

func f(a, b bool) (int, bool) {
	n := 0
	if a && b {
		g()
		n = 7
	}
	return n, a
}

func g() {}
`

func TestEachRuleMakesAMutantThatIsGo(t *testing.T) {
	list, err := mutantsOf("p.go", []byte(code), regexp.MustCompile("^f$"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, m.String())
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", m.source, 0); err != nil {
			t.Errorf("%s: %v", m, err)
		}
		if string(m.source) == code {
			t.Errorf("%s changes nothing", m)
		}
	}
	want := []string{
		"p.go:4: plus one: 0", "p.go:4: minus one: 0",
		"p.go:5: negate the condition: a && b", "p.go:5: drop the operand behind &&: a && b", "p.go:5: drop the operand before &&: a && b",
		"p.go:6: drop the statement: g()",
		"p.go:7: drop the assignment: n = 7", "p.go:7: plus one: 7", "p.go:7: minus one: 7",
		"p.go:9: swap the results: return n, a",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAMutantOfTheListIsEqual(t *testing.T) {
	what := "plus one: 0"
	for file, want := range map[string]bool{"csi/call/fault.go": true, "../../csi/call/fault.go": true, "csi/fault.go": false} {
		if got := (mutant{file: file, what: what}).isEqual(); got != want {
			t.Errorf("%s: %v", file, got)
		}
	}
}
