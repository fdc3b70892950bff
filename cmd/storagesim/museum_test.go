package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheMuseumListsPlaysAndFinds(t *testing.T) {
	code, out, _ := command(t, "", "museum")
	require.Equal(t, 0, code)
	require.Contains(t, out, " 8  the volume is deleted before its claim\n")

	for _, args := range [][]string{{"museum", "3"}, {"museum", "3", "--find"}} {
		code, out, _ = command(t, "", args...)
		require.Equal(t, 1, code)
		require.Contains(t, out, "made once: example.com/disk made pvc-")
	}
	code, out, _ = command(t, "", "museum", "3", "--fixed")
	require.Equal(t, 0, code)
	require.Contains(t, out, "Nothing was found in this run.\n")

	code, _, errOut := command(t, "", "museum", "99")
	require.Equal(t, 2, code)
	require.Contains(t, errOut, `there is no exhibit "99"; there are 1, 2, 3, 4, 5, `)
	for says, flags := range map[string][]string{
		"--runs: it says how many runs --find makes": {"--runs", "5"},
		"--runs 0: it must be 1 or more":             {"--find", "--runs", "0"},
	} {
		code, _, errOut = command(t, "", append([]string{"museum", "3"}, flags...)...)
		require.Equal(t, 2, code)
		require.Contains(t, errOut, says)
	}
}
