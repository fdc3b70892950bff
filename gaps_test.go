package storagesim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

const probed = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: a, image: nginx, livenessProbe: {tcpSocket: {port: 80}}}
  - {name: b, image: nginx}
  - {name: c, image: nginx, livenessProbe: {tcpSocket: {port: 81}}}
  volumes: [{name: tmp, emptyDir: {medium: Memory}}]
`

// A line follows the write that asks for what is not there, once for each object and entry.
func TestTheStorySaysWhatOfAnObjectIsNotModelled(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(probed)
	c.Settle()
	var said []string
	for _, e := range c.Trace().Records() {
		if e.Actor == storagesim.Simulation {
			said = append(said, e.Record.String())
		}
	}
	liveness := "does not model spec.containers[a].livenessProbe.tcpSocket, spec.containers[c].livenessProbe.tcpSocket of pod default/web: " +
		"a cluster connects to the container, and the probe fails if it does not answer; " +
		"here there is no network: the probe succeeds while the container runs, after its delay and as often as its threshold says"
	require.Equal(t, []string{liveness, "does not model spec.volumes[tmp].emptyDir.medium of pod default/web: " +
		"a cluster keeps the volume in memory (tmpfs), counts it as memory of the containers, and lets it grow to its sizeLimit; " +
		"here the volume is a directory on the node's disk, with the mode of a tmpfs, and may hold more than its sizeLimit"}, said)
	require.Equal(t, liveness, c.Trace().Records()[1].Record.String(), "it follows the pod's creation")
	require.Contains(t, c.Explain("pod/web"), "\n  not modelled: spec.containers[a].livenessProbe.tcpSocket, spec.containers[c].livenessProbe.tcpSocket: "+
		"a cluster connects to the container, and the probe fails if it does not answer; here")

	_, err := c.Client().CoreV1().Pods("default").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`),
		metav1.PatchOptions{})
	require.NoError(t, err)
	c.Apply(strings.ReplaceAll(probed, "name: web", "name: other"))
	require.Len(t, c.Trace().Gaps(), 2, "each entry once")
	require.Equal(t, "web", c.Trace().Gaps()[0].About.Name)
	require.Equal(t, 4, strings.Count(c.Story(), "storagesim  "), "the patch asks for nothing new")
}

// logged is a test that keeps what is logged, and ends when it is told to.
type logged struct {
	testing.TB
	lines []string
	ends  []func()
}

func (l *logged) Logf(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}
func (l *logged) Cleanup(end func()) { l.ends = append(l.ends, end) }

// The log of a test has one line about all that is not modelled, and none if nothing asked for it.
func TestALineOfTheLogSaysWhatIsNotModelled(t *testing.T) {
	for manifests, want := range map[string]int{probed: 1, namedPod("plain"): 0} {
		l := &logged{TB: t}
		c := storagesimtest.New(l, storagesim.Config{})
		c.Apply(manifests)
		c.Settle()
		require.Empty(t, l.lines, "before the test ends")
		for _, end := range l.ends {
			end()
		}
		require.Len(t, l.lines, want)
		if want > 0 {
			require.Contains(t, l.lines[0], "storagesim does not model spec.containers[a].livenessProbe.tcpSocket, spec.containers[c].livenessProbe.tcpSocket of pod "+
				"default/web: a cluster connects")
			require.Contains(t, l.lines[0], "; and does not model spec.volumes[tmp].emptyDir.medium of pod default/web: ")
		}
	}
}

// namedPod returns a pod that asks for nothing that is missing.
func namedPod(name string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: a, image: nginx}]}\n"
}

// What holds for a template is said of the object that has it, and not again of each pod.
func TestOfPodsThatAControllerMakesTheStorySaysNothingAgain(t *testing.T) {
	const set = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: postgresHOOK}]}
`
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply(strings.Replace(set, "HOOK", "", 1))
	c.Settle()
	require.Empty(t, c.Trace().Gaps())
	c.Apply(strings.Replace(set, "HOOK", ", lifecycle: {preStop: {httpGet: {port: 80}}}", 1))
	c.Settle()
	require.Equal(t, 1, strings.Count(c.Story(), "does not model"))
	require.Contains(t, c.Story(), "does not model spec.template.spec.containers[db].lifecycle.preStop.httpGet of statefulset default/db: a cluster connects")
}

// Scripts see both.
func TestAContainerHasTheDirectoryAndTheHostNameOfItsPod(t *testing.T) {
	for name, tt := range map[string]struct{ spec, want string }{
		"plain":         {"", "web\n/\n"},
		"named":         {"hostname: db, ", "db\n/\n"},
		"named by hand": {"hostnameOverride: db.example.com, ", "db.example.com\n/\n"},
		"on the node":   {"hostNetwork: true, ", "node-1\n/\n"},
		"in a volume":   {"dir", "web\n/v\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{})
			dir, spec := "", tt.spec
			if spec == "dir" {
				dir, spec = ", workingDir: /v", ""
			}
			c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {` + spec + `volumes: [{name: v, emptyDir: {}}], ` +
				`containers: [{name: a, image: busybox, command: [sh, -c, "hostname; pwd; sleep 1000"], volumeMounts: [{name: v, mountPath: /v}]` + dir + `}]}}`)
			c.Settle()
			log, err := c.Cluster.Machine("pod/web").Logs("a", false)
			require.NoError(t, err)
			require.Equal(t, tt.want, log)
		})
	}
}
