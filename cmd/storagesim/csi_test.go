package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/rigs/outside"
	"github.com/storagesim/storagesim/internal/rigs/soon"
)

// outsideManifests are a pod with a volume of the driver in package outside.
const outsideManifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: outside}
provisioner: outside.csi.example.com
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: outside
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: busybox, command: [sh, -c, "sleep 3600"], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

func TestRunUsesADriverInAnotherProcess(t *testing.T) {
	p := outside.Start(t, outside.Config{})
	code, out, errOut := command(t, "", "run", "-f", file(t, "all.yaml", outsideManifests), "--for", "1m", "--csi-endpoint", p.Endpoint())
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "calls NodePublishVolume of outside.csi.example.com")
	assert.Regexp(t, `pod/web +1/1 +Running`, out)
	assert.Len(t, p.Volumes(), 1)

	_, out, _ = command(t, "", "run", "-f", file(t, "all.yaml", outsideManifests), "-o", "yaml", "--csi-endpoint", p.Endpoint())
	assert.NotContains(t, out, "claim: data")
	_, out, _ = command(t, "", "run", "-f", file(t, "all.yaml", outsideManifests), "-o", "yaml", "--csi-endpoint", p.Endpoint(), "--extra-create-metadata")
	assert.Contains(t, out, "claim: data", "the driver answers it as it was told")
}

func TestRunWithTwoNodesAndADriverEachAsksTheProcessOfEachNode(t *testing.T) {
	p := outside.Start(t, outside.Config{Node: "id-1"})
	other := outside.Start(t, outside.Config{Node: "id-2"})
	require.NoError(t, os.Symlink(p.Socket, p.Socket+"-node-1"))
	require.NoError(t, os.Symlink(other.Socket, p.Socket+"-node-2"))
	code, out, errOut := command(t, "", "run", "-f", file(t, "all.yaml", outsideManifests), "--for", "1m", "-v", "--width", "200",
		"--csi-endpoint", p.Endpoint()+"-{node}")
	require.Zero(t, code, errOut)
	assert.Regexp(t, `kubelet/node-1 +calls NodeGetInfo of outside.csi.example.com: OK, node_id id-1`, out)
	assert.Regexp(t, `kubelet/node-2 +calls NodeGetInfo of outside.csi.example.com: OK, node_id id-2`, out)
}

func TestAnEndpointWithoutADriverOrWithAnotherOneIsToldOf(t *testing.T) {
	all := file(t, "all.yaml", outsideManifests)
	gone := outside.New(t, outside.Config{})
	code, _, errOut := command(t, "", "run", "-f", all, "--csi-endpoint", gone.Endpoint())
	assert.Equal(t, exitError, code)
	assert.Equal(t, "error: --csi-endpoint "+gone.Endpoint()+": no driver says who it is there: "+
		`GetPluginInfo: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix `+gone.Socket+
		`: connect: no such file or directory"; start it first, or give its name, as in NAME=`+gone.Endpoint()+"\n", errOut)
	code, out, errOut := command(t, "", "run", "-f", all, "--for", "2m", "-o", "story", "--width", "500", "--csi-endpoint",
		"outside.csi.example.com="+gone.Endpoint())
	assert.Zero(t, code, errOut)
	assert.Contains(t, out, "(fault: the driver at "+gone.Endpoint()+" is not there, or its connection broke)")
	assert.Equal(t, 3, strings.Count(out, "calls Probe of outside.csi.example.com"),
		"the provisioner's, the attacher's and the resizer's first one; the others are details")
	p := outside.Start(t, outside.Config{})
	code, _, errOut = command(t, "", "run", "-f", all, "--csi-endpoint", "other.example.com="+p.Endpoint())
	assert.Equal(t, exitError, code)
	assert.Equal(t, "error: --csi-endpoint "+p.Endpoint()+`: the driver there says that its name is "outside.csi.example.com", not "other.example.com"`+"\n",
		errOut)
}

func TestServeUsesADriverInAnotherProcess(t *testing.T) {
	p := outside.Start(t, outside.Config{})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	_, errOut := served(t, func(string) {
		assert.True(t, soon.Is(t, func() bool { return len(p.Volumes()) == 1 }))
	}, "-f", file(t, "all.yaml", outsideManifests), "--kubeconfig", kubeconfig, "--csi-endpoint", p.Endpoint())
	assert.Empty(t, errOut)
}
