// Package reallocalpath runs Rancher's local-path provisioner, the program as it is
// released, beside a simulated cluster.
package reallocalpath_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live"
	"github.com/storagesim/storagesim/provisioner/localpath"
)

const claimAndPod = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local-path}
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
reclaimPolicy: Delete
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: local-path
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 128Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1 # its shell ignores TERM
  containers:
  - name: web
    image: busybox
    command: [sh, -c, "echo hello > /data/greeting; sleep 1d"]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// patience is the longest real time for which a test waits for what takes a second on a quiet machine.
const patience = 5 * time.Minute

// executable returns the provisioner, which go.mod names as a tool.
func executable(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "tool", "-n", "local-path-provisioner").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// namespace has what the provisioner's own manifests install: its configuration, and the account of its helper pods.
func namespace(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("apiVersion: v1\nkind: Namespace\nmetadata: {name: local-path-storage}\n---\n")
	text.WriteString("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: local-path-provisioner-service-account, namespace: local-path-storage}\n---\n")
	text.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: local-path-config, namespace: local-path-storage}\ndata:\n")
	for key, value := range localpath.DefaultConfigMap().Data {
		text.WriteString("  " + key + ": |\n    " + strings.ReplaceAll(value, "\n", "\n    ") + "\n")
	}
	return text.String()
}

func TestTheRealLocalPathMakesAndDeletesAVolume(t *testing.T) {
	path := executable(t)
	cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	defer func() { assert.NoError(t, cluster.Close()) }()
	require.NoError(t, cluster.Apply(namespace(t)))
	err = cluster.AddProgram(storagesim.Program{
		Name: "rancher.io/local-path",
		Run: live.Command(func(ctx context.Context, kubeconfig string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, path, "start", "--kubeconfig", kubeconfig, "--helper-image", "busybox")
			cmd.Stderr = os.Stderr
			return cmd
		}),
	})
	require.NoError(t, err)
	require.NoError(t, cluster.Apply(claimAndPod))
	driver := live.Start(cluster.Engine())
	ready := func() bool {
		pod, err := cluster.Pod("web")
		return err == nil && pod.Status.Phase == v1.PodRunning
	}
	if !assert.Eventually(t, ready, patience, 100*time.Millisecond) {
		t.Fatal(cluster.Story())
	}

	claim, err := cluster.Claim("data")
	require.NoError(t, err)
	require.True(t, driver.Do(func() { err = cluster.Delete("pod/web", "pvc/data") }))
	require.NoError(t, err)
	gone := func() bool {
		_, err := cluster.Volume(claim.Spec.VolumeName)
		return apierrors.IsNotFound(err)
	}
	if !assert.Eventually(t, gone, patience, 100*time.Millisecond) {
		t.Fatal(cluster.Story())
	}
	require.NoError(t, driver.Stop())
	t.Log("\n" + cluster.Trace().Transcript(0))
	assert.Contains(t, cluster.Story(), "rancher.io/local-path")
	require.NoError(t, cluster.Stop("rancher.io/local-path"))
	assert.NoError(t, cluster.RequireNoLeaks())
}
