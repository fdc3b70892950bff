package main

import (
	"io/fs"
	"os"
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestWhatCarriesAndShowsEachRuleIsThere(t *testing.T) {
	root := os.DirFS("../..")
	rules, err := read(root)
	require.NoError(t, err)
	count := map[bool]int{}
	for _, r := range rules {
		count[r.name == "bound"]++
		require.NotEmpty(t, r.text, r.name)
		require.NotEmpty(t, r.shown(), r)
		for _, p := range append(r.code, r.tests...) {
			info, err := fs.Stat(root, p.file)
			require.NoError(t, err, r)
			if info.IsDir() || p.name == "" {
				continue
			}
			text, err := fs.ReadFile(root, p.file)
			require.NoError(t, err)
			require.Regexp(t, regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?`+p.name+`\b`), string(text), "%s names %s in %s", r.name, p.name, p.file)
		}
	}
	require.Greater(t, count[false], 120)
	require.Greater(t, count[true], 15)
}

func TestARuleIsReadWithItsFunctionsAndTests(t *testing.T) {
	rules, err := read(fstest.MapFS{
		"docs/semantics.md": {Data: []byte("## 1. A\n\n1. Not printed.\n\n- **1 must 1.** One,\n  two. Shown by\n" +
			"  [TestA](../a/a_test.go) and [TestB](../b/b_test.go).\n" +
			"- **1 must 2.** Three. Seen in [r](../c/r.json).\n\n## 11. B\n\n1. Four. In [`f`, `g`](../d.go). Shown by [TestA](../a/a_test.go).\n")},
		"ARCHITECTURE.md": {Data: []byte("# x\n\n## Bounds\n\n| what | bound | beyond it | where | test |\n| --- | --- | --- | --- | --- |\n" +
			"| a | 1 | no | `d.go` | TestA |\n| b | 2 | no | `e` | the tests of `e` |\n")},
		"a/a_test.go": {Data: []byte("package a\n\nfunc TestA(t *testing.T) {}\n")},
	})
	require.NoError(t, err)
	require.Equal(t, []rule{
		{name: "1 must 1", text: "One, two.", tests: []place{{"a/a_test.go", "TestA"}, {"b/b_test.go", "TestB"}}},
		{name: "1 must 2", text: "Three.", recordings: []string{"r"}},
		{name: "11 (1)", text: "Four.", code: []place{{"d.go", "f"}, {"d.go", "g"}}, tests: []place{{"a/a_test.go", "TestA"}}},
		{name: "bound", text: "a: 1; beyond it: no", code: []place{{file: "d.go"}}, tests: []place{{"a/a_test.go", "TestA"}}},
		{name: "bound", text: "b: 2; beyond it: no", code: []place{{file: "e"}}, tests: []place{{file: "e"}}},
	}, rules)
	require.Equal(t, []string{"a", "b"}, rules[0].where())
	require.Equal(t, []string{"d.go f", "d.go g"}, rules[2].where())
	require.Equal(t, []string{"e"}, rules[4].shown())
}
