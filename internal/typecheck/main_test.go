package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMistakesOfOneSystemAreFoundThere(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module example.com/m\n\ngo 1.26.0\n",
		"a.go":              "package m\n\nimport \"strings\"\n\nvar _ = strings.ToUpper(name)\n",
		"a_linux.go":        "package m\n\nconst name = \"a\"\n",
		"a_windows.go":      "package m\n\nconst name = 1\n",
		"a_windows_test.go": "package m_test\n\nimport _ \"example.com/m\"\n\nfunc f() { undefined() }\n",
		"a_plan9.go":        "package m\n\nfunc name( {}\n",
		"a_darwin_test.go":  "package m\n\nconst name = \"a\"\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	checked, err := check(dir, "linux/amd64", true)
	require.NoError(t, err)
	require.Equal(t, 1, checked)

	_, err = check(dir, "windows/amd64", false)
	require.ErrorContains(t, err, "cannot use name")
	require.NotContains(t, err.Error(), "undefined: undefined")
	_, err = check(dir, "windows/amd64", true)
	require.ErrorContains(t, err, "a_windows_test.go:5:12: undefined: undefined")

	_, err = check(dir, "darwin/arm64", false)
	require.ErrorContains(t, err, "undefined: name")
	_, err = check(dir, "plan9/amd64", true)
	require.Error(t, err)
	_, err = check(dir, "windows", true)
	require.ErrorContains(t, err, "such as windows/amd64")
}
