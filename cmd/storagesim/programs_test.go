package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pod of the OpenEBS document writes its greetings itself, one every five minutes
// or so, to its volume on the node's disk.
func TestTwentyMinutesOfTheOpenEBSExampleLeaveFourGreetingsOnTheNodesDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nodes")
	args := []string{"run", "--for", "20m", "--keep", dir}
	for _, name := range []string{"openebs-hostpath.yaml", "local-hostpath-pvc.yaml", "local-hostpath-pod.yaml"} {
		args = append(args, "-f", filepath.Join("..", "..", "examples", "openebs-hostpath", name))
	}
	code, _, errOut := command(t, "", args...)
	require.Zero(t, code, errOut)
	files, err := filepath.Glob(filepath.Join(dir, "*", "var", "openebs", "local", "*", "greet.txt"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(data), "[hello-local-hostpath-pod] Hello from OpenEBS Local PV.\n"), string(data))
}
