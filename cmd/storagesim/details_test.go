package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const provisioned = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: hostpath}
provisioner: openebs.io/local
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: hostpath, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

func TestRunTellsDetailsWhereTheyAreAskedForAndAllAsJSON(t *testing.T) {
	path := file(t, "all.yaml", provisioned)
	_, plain, _ := command(t, "", "run", "-f", path, "--width", "400", "-o", "story")
	code, detailed, errOut := command(t, "", "run", "-f", path, "--width", "400", "-o", "story", "-v")
	require.Zero(t, code, errOut)
	for _, detail := range []string{"calls Provision for pvc default/data: OK, pv pvc-", " makes /var/openebs/local/pvc-", "Pulling image",
		"PodReadyToStartContainers=True"} {
		require.NotContains(t, plain, detail)
		require.Contains(t, detailed, detail)
	}

	code, out, errOut := command(t, "", "run", "-f", path, "-o", "trace")
	require.Zero(t, code, errOut)
	var calls []string
	for line := range strings.Lines(out) {
		var record struct {
			Topic  string
			Record struct{ Method, Volume, Took string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		if record.Topic == "call" {
			calls = append(calls, record.Record.Method, record.Record.Took)
		}
	}
	require.Equal(t, []string{"Provision", "1s"}, calls)
}
