package main

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the expected output")

func TestTheExamplePrintsWhatIsExpected(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, play(&out))
	if *update {
		require.NoError(t, os.WriteFile("output.txt", out.Bytes(), 0o644))
	}
	want, err := os.ReadFile("output.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}
