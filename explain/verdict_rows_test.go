package explain_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/storagesimtest"
)

// podOf returns a pod with one volume, written as YAML, and a command.
func podOf(volume, command string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  restartPolicy: Never\n  containers: [{name: c, image: busybox, command: [sh, -c, '" + command +
		"'], volumeMounts: [{name: v, mountPath: /v}]}]\n  volumes: [{name: v, " + volume + "}]\n"
}

// These causes are met less often than those of TestAVerdictNamesTheCauseAndTheObjectAtFault. They are among the findings, of which the
// verdict is the worst one.
func TestAVerdictNamesRarerCauses(t *testing.T) {
	type want struct {
		class  explain.Class
		code   explain.Code
		object string
	}
	for name, tt := range map[string]struct {
		trouble func(c *storagesimtest.Cluster)
		ref     string
		want    want
	}{
		"a node is cordoned": {func(c *storagesimtest.Cluster) {
			c.Apply("apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nspec: {unschedulable: true}\n")
		}, "node/node-1", want{class: explain.Waits, code: explain.Cordoned}},
		"no server exports the directory": {func(c *storagesimtest.Cluster) {
			c.Apply(podOf("nfs: {server: nas, path: /x}", "sleep 1000"))
		}, "pod/web", want{class: explain.Ill, code: explain.ExportMissing}},
		"no plugin mounts the volume": {func(c *storagesimtest.Cluster) {
			c.Apply(podOf("iscsi: {targetPortal: 10.0.0.1, iqn: iqn.2001-04.com.example:x, lun: 0}", "sleep 1000"))
		}, "pod/web", want{class: explain.Ill, code: explain.NoPlugin}},
		"the pod has failed": {func(c *storagesimtest.Cluster) {
			c.Apply(podOf("emptyDir: {}", "exit 3"))
		}, "pod/web", want{class: explain.Ill, code: explain.PodFailed}},
		"the pod's claim is being deleted": {func(c *storagesimtest.Cluster) {
			c.Apply(csiClass, explainClaim("data", "1Gi", ofCSI), explainPod("first", "", "data"))
			c.RunFor(20 * time.Second)
			c.Delete("pvc/data")
			c.Settle()
			c.Apply(explainPod("web", "", "data"))
		}, "pod/web", want{class: explain.Ill, code: explain.ClaimDeleted, object: "pvc/default/data"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")})
			c.InstallCSIDriver(driver.Config{})
			tt.trouble(c)
			c.RunFor(4 * time.Minute)
			why, err := c.Explanation(tt.ref)
			require.NoError(t, err)
			i := slices.IndexFunc(why.Findings, func(v explain.Verdict) bool { return v.Code == tt.want.code })
			require.GreaterOrEqual(t, i, 0, why.Text)
			require.Equal(t, tt.want.class, why.Findings[i].Class, why.Text)
			if tt.want.object != "" {
				require.Equal(t, tt.want.object, why.Findings[i].Object, why.Text)
			}
		})
	}
}
