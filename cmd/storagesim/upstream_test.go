package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/41-what-v1.37-loses.md quotes what the command prints.
func TestAFaultOfKubernetesIsCountedOnTheLastLineAndRepeats(t *testing.T) {
	const golden = "testdata/three.txt"
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	if !testing.Short() { // the exploration takes most of the time
		code, out, errOut := command(t, "", "explore", "-f", "testdata/three.yaml", "--strategies", "crashes")
		require.Zero(t, code, errOut)
		if *update {
			want = []byte(out)
			require.NoError(t, os.WriteFile(golden, want, 0o600))
		}
		require.Equal(t, string(want), out)
	}

	const line = "x1;faults=1:kubelet/node-1:delete:pods:crash"
	require.Contains(t, string(want), "--upstream --replay '"+line+"'")
	code, out, _ := command(t, "", "explore", "-f", "testdata/three.yaml", "--upstream", "--replay", line)
	require.Equal(t, 4, code)
	require.Contains(t, out, "upstream: kubernetes/kubernetes 121937: a kubelet that restarts forgets")
}
