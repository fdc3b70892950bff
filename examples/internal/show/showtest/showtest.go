// Package showtest compares what an example prints with its output.txt.
package showtest

import (
	"bytes"
	"flag"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the expected output")

// RequireOutput fails the test if play does not print what output.txt says, or,
// with -update, writes what it prints there.
func RequireOutput(t *testing.T, play func(io.Writer) error) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, play(&out))
	if *update {
		require.NoError(t, os.WriteFile("output.txt", out.Bytes(), 0o644))
	}
	want, err := os.ReadFile("output.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}
