package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const waitedFor = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: CLASS}
provisioner: ebs.csi.aws.com
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: gp3, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers: [{name: c, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: Pod
metadata: {name: once}
spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [sh, -c, "sleep 90"]}]}
`

func TestRunWaitsForClaimsPodsAndWorkloads(t *testing.T) {
	good := strings.Replace(waitedFor, "CLASS", "gp3", 1)
	for name, tt := range map[string]struct {
		manifest string
		args     []string
		code     int
		says     []string
		no       string
	}{
		"all is there, on a stand-in": {good, []string{"--wait", "10m", "--stand-ins"}, 0, []string{"note: storagesim stands in for ebs.csi.aws.com"}, "not there"},
		"nothing serves the class": {good, []string{"--wait", "10m"}, exitNotThere,
			[]string{"not there after 10m0s: pvc default/data is Pending: provisioner ebs.csi.aws.com should make a volume",
				"not there after 10m0s: deployment default/shop is "}, "pod default/once"},
		"the class is missing": {strings.Replace(waitedFor, "CLASS", "gp2", 1), []string{"--wait", "1m", "--stand-ins"}, exitNotThere,
			[]string{`its class "gp3" does not exist`}, "all is"},
		"nothing to wait for": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", []string{"--wait", "1m"}, exitUsage,
			[]string{"nothing to wait for: the manifests have no claim, pod,"}, "not there"},
		"no time": {good, []string{"--wait", "0"}, exitUsage,
			[]string{"--wait 0s: the time must be more than 0"}, "not there"},
		"a refused object is a mistake in the manifests": {good + "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: many}}\n",
			[]string{"--wait", "1m"}, exitError, []string{"many"}, "nothing to wait"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, errOut := command(t, "", append([]string{"run", "-f", file(t, "all.yaml", tt.manifest)}, tt.args...)...)
			require.Equal(t, tt.code, code, errOut)
			flat := strings.Join(strings.Fields(errOut), " ")
			for _, says := range tt.says {
				require.Contains(t, flat, says)
			}
			require.NotContains(t, flat, tt.no)
		})
	}
}

// The state alone is told of what no verdict is about.
func TestRunWaitsForAJob(t *testing.T) {
	job := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: load}\nspec:\n  suspend: true\n  template:\n" +
		"    spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [\"true\"]}]}\n"
	code, _, errOut := command(t, "", "run", "-f", file(t, "job.yaml", job), "--wait", "1m")
	require.Equal(t, exitNotThere, code, errOut)
	require.Contains(t, errOut, "not there after 1m0s: job default/load is ")
}

func TestRunWaitsForSnapshotsAlone(t *testing.T) {
	const snapshot = `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: snap}
driver: ebs.csi.aws.com
deletionPolicy: Retain
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotContent
metadata: {name: backup}
spec: {deletionPolicy: Retain, driver: ebs.csi.aws.com, source: {snapshotHandle: snap-1}, volumeSnapshotRef: {name: backup, namespace: default}}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: backup}
spec: {volumeSnapshotClassName: snap, source: {volumeSnapshotContentName: backup}}
`
	code, _, errOut := command(t, "", "run", "-f", file(t, "all.yaml", snapshot), "--wait", "10m", "--stand-ins")
	require.Zero(t, code, errOut)
	code, _, errOut = command(t, "", "run", "-f", file(t, "all.yaml", snapshot), "--wait", "1m")
	require.Equal(t, exitNotThere, code, errOut)
	require.Contains(t, errOut, "not there after 1m0s: ")
	require.Contains(t, strings.Join(strings.Fields(errOut), " "), "volumesnapshot default/backup is not ready to use")
}
