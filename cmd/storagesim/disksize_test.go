package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// large is a pod that has more local storage than a node's disk has of its own accord, as operators' manifests ask for.
const large = `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: busybox, command: [sleep, "3600"],
  resources: {requests: {ephemeral-storage: 500Mi}}}]}}
`

func TestANodesDiskIsAsLargeAsTheCommandLineOrTheStorySays(t *testing.T) {
	path := file(t, "all.yaml", large)
	_, out, _ := command(t, "", "run", "-f", path)
	require.Contains(t, out, "the pod requests 500Mi\n    ephemeral-storage, the node has 256Mi")
	require.Contains(t, out, "or\n    give the nodes larger disks (--disk-size, or Config.DiskSize in Go)")
	code, out, errOut := command(t, "", "run", "-f", path, "--disk-size", "20Gi", "-o", "yaml")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "ephemeral-storage: 20Gi")
	require.Contains(t, out, "phase: Running")
	code, out, errOut = command(t, "cluster disk-size=1Gi\n----\n\napply\n"+large+"----\n\nsettle quiet\n----\n\nget pods\n----\n", "story", "-")
	require.Zero(t, code, errOut)
	require.Regexp(t, `web +1/1 +Running`, out)
	code, out, errOut = command(t, "", "explore", "-f", path, "--disk-size", "1Gi", "--runs", "20")
	require.Zero(t, code, out+errOut)
	code, _, errOut = command(t, "", "run", "-f", path, "--disk-size", "1Gi", "--keep", filepath.Join(t.TempDir(), "kept"))
	require.Equal(t, exitError, code)
	require.Contains(t, errOut, "--disk-size: the disks are directories of this machine with --keep")
	_, _, errOut = command(t, "cluster disk-size=-1\n----\n", "story", "-")
	require.Contains(t, errOut, `disk-size: "-1" is not a size such as 512Mi or 20Gi`)
}
