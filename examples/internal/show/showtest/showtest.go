// Package showtest compares what an example prints with its output.txt.
package showtest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the expected output")

// RequireOutput fails the test if a program's main does not print what output.txt
// says, or, with -update, writes what it prints there.
func RequireOutput(t *testing.T, main func()) {
	t.Helper()
	got := printed(t, main)
	if *update {
		require.NoError(t, os.WriteFile("output.txt", got, 0o644))
	}
	want, err := os.ReadFile("output.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// printed returns the output of main.
func printed(t *testing.T, main func()) []byte {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "output.txt"))
	require.NoError(t, err)
	defer out.Close()
	defer func(stdout *os.File, args []string) { os.Stdout, os.Args = stdout, args }(os.Stdout, os.Args)
	os.Stdout, os.Args = out, os.Args[:1] // the others are the test's
	main()
	got, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return got
}
