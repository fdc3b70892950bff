package story

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim/internal/seedtest"
)

// play plays a script that is right.
func play(t *testing.T, script string) string {
	t.Helper()
	var got strings.Builder
	require.NoError(t, Play(t.Context(), &got, "test.txt", script, Options{Width: -1}))
	return got.String()
}

func TestAScriptComesBackWithItsOutputsAndNothingElseChanged(t *testing.T) {
	script := "# a comment\n\n  # an indented one\nget pv\n----\nwhatever it was\n\n\n# the end\n"
	want := "# a comment\n\n  # an indented one\nget pv\n----\nNo resources found\n\n\n# the end\n"
	assert.Equal(t, want, play(t, script))
	assert.Equal(t, want, play(t, want), "playing it again changes nothing")
	assert.Equal(t, want, play(t, strings.ReplaceAll(want, "\n", "\r\n")), "line ends of Windows do not matter")
}

func TestOutputsWithEmptyLinesStandBetweenTwoFences(t *testing.T) {
	script := "write node/node-1:/a\none\n\ntwo\n----\n\nread node/node-1:/a\n----\n\nhelp help\n----\n"
	got := play(t, script)
	assert.Contains(t, got, "read node/node-1:/a\n----\n----\none\n\ntwo\n----\n----\n")
	assert.Equal(t, got, play(t, got))
}

// An output that begins as a command does is kept apart as well, and a command that would be dropped as output is refused.
func TestNoCommandIsDroppedAsOldOutput(t *testing.T) {
	got := play(t, "help help\n----\nold\n\nget pv\n----\n")
	assert.Equal(t, "help help\n----\n----\nhelp [COMMAND]\n    list the commands, or explain one\n----\n----\n\nget pv\n----\nNo resources found\n", got)
	assert.Equal(t, got, play(t, got))
	for script, want := range map[string]string{
		"get pv\n----\nsettle\n----\n":                       `test.txt:3: "settle" would be dropped as old output of "get": put an empty line before a command`,
		"get pv\n----\n! get nope\nNo resources found\n":     `test.txt:3: "! get nope" would be dropped as`,
		"get pv\n----\nNo resources found\nrun-for 1m fault": `test.txt:4: "run-for 1m fault" would be dropped as`,
	} {
		_, err := Run("test.txt", script)
		assert.ErrorContains(t, err, want)
	}
}

func TestWordsAreSplitAsAShellDoes(t *testing.T) {
	for line, want := range map[string][]string{
		`get pv,pvc -o wide`:            {"get", "pv,pvc", "-o", "wide"},
		`patch pvc/x -p '{"a": "b c"}'`: {"patch", "pvc/x", "-p", `{"a": "b c"}`},
		`write x "it's" 'a "b"'`:        {"write", "x", "it's", `a "b"`},
		`settle   # for a while`:        {"settle"},
		`a#b ''`:                        {"a#b", ""},
	} {
		got, err := split(line)
		require.NoError(t, err)
		assert.Equal(t, want, got, line)
	}
	_, err := split(`write "x`)
	assert.EqualError(t, err, `a quote " is not closed`)
}

func TestAWrongScriptNamesFileLineAndWhatIsAllowed(t *testing.T) {
	for script, want := range map[string]string{
		"# x\nsetle\n----\n":              `test.txt:2: unknown command "setle" (did you mean "settle"?); expected one of cluster, settle, step,`,
		"----\n":                          `test.txt:1: a ---- without a command above it`,
		"get pv\n----\n----\nx\n":         `test.txt:1: the output of "get" begins with two lines ---- and does not end with two`,
		"get 'pv\n----\n":                 `test.txt:1: a quote ' is not closed`,
		"get\n----\n":                     `test.txt:1: get: wrong number of arguments: 0; expected at least 1; usage: get TYPE[,TYPE...]`,
		"get pv -x\n----\n":               `test.txt:1: get: unknown shorthand flag: 'x' in -x; usage: get`,
		"get pv\ninput\n----\n":           `test.txt:1: get takes no input`,
		"get pv\n----\n\ncluster\n----\n": `test.txt:4: cluster: there is a cluster already; this command comes first`,
		"cluster node=a\n----\n": `test.txt:1: cluster: unknown setting "node" (did you mean "nodes"?); expected one of nodes, ` +
			`seed, provisioners, csi, stand-ins, disk, disk-size, only, phase`,
		"cluster seed=1 seed=2\n----\n":     `test.txt:1: cluster: seed is set twice`,
		"cluster seed=x\n----\n":            `test.txt:1: cluster: seed: "x" is not a whole number from 0 to 18446744073709551615`,
		"cluster nodes=a,a\n----\n":         `test.txt:1: cluster: nodes: "a" is given twice`,
		"cluster nodes=2\n----\n":           `test.txt:1: cluster: nodes: 2 would be the name of one node; name each, such as node-1,node-2`,
		"cluster provisioners=ceph\n----\n": `test.txt:1: cluster: provisioners: there is no "ceph"; expected one of csi, local-path, nfs, openebs`,
		"cluster phase=soon\n----\n":        `test.txt:1: cluster: phase: "soon" is not a time such as 90s, 6m or 1h30m`,
		"run-for ever\n----\n":              `test.txt:1: run-for: TIME: "ever" is not a time such as 90s, 6m or 1h30m, at most 2562047h; usage: run-for TIME`,
		"settle nobody\n----\n": `test.txt:1: settle: "nobody" is not an actor, a topic or an object such as pvc/data; actors: ` +
			`persistent-volume-binder,`,
		"run-for -5m\n----\n": `test.txt:1: run-for: "-5m" is negative; expected a time of at least 0s or`,
		"step 0\n----\n":      `test.txt:1: step: "0" is not a number of steps such as 3; usage: step`,
		"step 3x\n----\n":     `test.txt:1: step: "3x" is not a number of steps such as 3`,
		"step -1\n----\n":     `test.txt:1: step: "-1" is negative; expected a time of at least 0s or a number of at least 0`,
		"step ''\n----\n":     `test.txt:1: step: "" is not an actor`,
		"fail kube-scheduler update pvc delay=-1s\n----\n":         `test.txt:1: fail: delay: "-1s" is negative; expected a time of at least 0s`,
		"fail kube-scheduler update pvc times=-1\n----\n":          `test.txt:1: fail: times: "-1" is negative; expected a whole number of at least 0`,
		"wait pvc/x --for delete --timeout 5\n----\n":              `test.txt:1: wait: --timeout: "5" is not a time such as 90s, 6m or 1h30m`,
		"delete pvc/x --grace-period x\n----\n":                    `test.txt:1: delete: --grace-period: "x" is not a whole number such as 30`,
		"crash nobody\n----\n":                                     `test.txt:1: crash: `,
		"crash kube-scheduler soon\n----\n":                        `test.txt:1: crash: expected before or after, and then which call`,
		"crash kube-scheduler before create\n----\n":               `test.txt:1: crash: "create" does not say which calls; expected VERB RESOURCE [NAME]`,
		"crash kube-scheduler before make pv\n----\n":              `test.txt:1: crash: fault: unknown verb "make"; expected one of get`,
		"crash kube-scheduler before create pq\n----\n":            `test.txt:1: crash: the server doesn't have a resource type "pq"`,
		"fail kube-scheduler update pvc error=Bad\n----\n":         `test.txt:1: fail: error: unknown reason "Bad"; expected one of AlreadyExists, Conflict,`,
		"fail kube-scheduler update pvc times=x\n----\n":           `test.txt:1: fail: times: "x" is not a whole number such as 3`,
		"fail kube-scheduler update pvc delay=1s lost=yes\n----\n": `test.txt:1: fail: expected only one of error=, lost= and delay=`,
		"hold kube-scheduler\n----\n":                              `test.txt:1: hold: wrong number of arguments: 1; expected 2; usage: hold ACTOR RESOURCE`,
		"cluster choices=first\n----\n":                            `test.txt:1: cluster: choices: "first" is not POSITION:ALTERNATIVE, such as 12:1`,
		"leaks all\n----\n":                                        `test.txt:1: leaks: wrong number of arguments: 1; expected none; usage: leaks`,
		"hold pv-protection-controller nodes\n----\n": `test.txt:1: hold: actor pv-protection-controller has no cache of "nodes"; ` +
			`it has caches of ["persistentvolumes"]`,
		"read node-1:/a\n----\n": `test.txt:1: read: "node-1:/a" is not a place (did you mean "node/node-1:/a"?); ` +
			`expected pod/NAME:PATH, node/NAME:PATH or nfs/SERVER:PATH`,
		"read node/node-1:a\n----\n": `test.txt:1: read: "a" is not an absolute path`,
		"mkdir node/node-1:/a b\n----\n": `test.txt:1: mkdir: wrong number of arguments: 2; expected 1; usage: ` +
			`mkdir pod/NAME:PATH|node/NAME:PATH|nfs/SERVER:PATH [-m MODE]`,
		"mkdir node-1:/a\n----\n": `test.txt:1: mkdir: "node-1:/a" is not a place (did you mean "node/node-1:/a"?); ` +
			`expected pod/NAME:PATH, node/NAME:PATH or nfs/SERVER:PATH`,
		"mkdir node/node-1:/a -m 0778\n----\n": `test.txt:1: mkdir: mode: "0778" is not an octal mode from 0 to 0777, such as 0755`,
		"mkdir node/node-1:/a -m 1777\n----\n": `test.txt:1: mkdir: mode: "1777" is not an octal mode from 0 to 0777, such as 0755`,
		"export node/node-1:/a\n----\n":        `test.txt:1: export: "node/node-1:/a" is not an NFS server; expected nfs/SERVER:PATH`,
		"write node/node-1:/a\n----\n":         `test.txt:1: write: no text is given; expected words after the path, or input`,
		"apply <<\n----\n": `test.txt:1: apply: wrong number of arguments: 1; expected none; the YAML follows on the next ` +
			`lines; usage: apply [-f FILE`,
		"apply\n----\n": `test.txt:1: apply: no input is given; expected it between the command and ----`,
		"apply -f x\ny\n----\n": `test.txt:1: apply: both -f and input are given; expected one of them. ` +
			`Input is what stands below the command, up to an empty line or ----`,
		"delete pvc\n----\n":                   `test.txt:1: delete: "pvc" does not name an object; expected TYPE/NAME, TYPE/NAMESPACE/NAME or TYPE NAME`,
		"patch pvc/x\n----\n":                  `test.txt:1: patch: no patch is given; expected -p or input`,
		"patch pvc/x -p '{a'\n----\n":          `test.txt:1: patch: the patch is neither YAML nor JSON`,
		"patch pvc/x -p '{}' --type x\n----\n": `test.txt:1: patch: unknown type "x"; expected strategic, merge or json`,
		"label pvc/x\n----\n":                  `test.txt:1: label: expected KEY=VALUE or KEY-`,
		"taint node-1 a=b:Never\n----\n":       `test.txt:1: taint: "Never" is not an effect; expected one of NoSchedule, PreferNoSchedule, NoExecute`,
		"stop\n----\n":                         `test.txt:1: stop: nothing is named; expected one of node/node-1, node/node-2, persistent-volume-binder,`,
		"stop node-1\n----\n": `test.txt:1: stop: "node-1" is neither an actor nor a node (did you mean "node/node-1"?); ` +
			`expected one of node/node-1, node/node-2, persistent-volume-binder,`,
		"stop node/node-3\n----\n": `test.txt:1: stop: "node/node-3" is neither an actor nor a node (did you mean "node/node-1"?); ` +
			`expected one of node/node-1, node/node-2, persistent-volume-binder,`,
		"start kubelet/node-1 now\n----\n": `test.txt:1: start: wrong number of arguments: 2; expected 1; usage: start ACTOR|node/NAME`,
		"drain\n----\n": `test.txt:1: drain: wrong number of arguments: 0; expected 1; usage: ` +
			`drain NODE [--ignore-daemonsets]`,
		"drain node-1 --grace-period -2\n----\n": `test.txt:1: drain: grace-period: -2; expected seconds, at least 0, or -1 for the pods' own`,
		"drain node-1 --timeout soon\n----\n":    `test.txt:1: drain: timeout: "soon" is not a time such as 90s, 6m or 1h30m`,
		"help nothing\n----\n":                   `test.txt:1: help: unknown command "nothing"; expected one of cluster`,
	} {
		_, err := Run("test.txt", script)
		var wrong *Error
		require.ErrorAs(t, err, &wrong, script)
		assert.True(t, strings.HasPrefix(err.Error(), want), "%q\ngot  %s\nwant %s", script, err, want)
	}
}

func TestARefusalOfAPatchIsAboutTheRequestWhereItNamesNoObject(t *testing.T) {
	const cm = "apply\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {k: v}\n----\n\n"
	const rejected = "The request is invalid: the server rejected our request due to an error in our request\n"
	for patch, want := range map[string]string{
		`-p '{"data":{"k":1}}'`: `The request is invalid: patch: Invalid value: "map[data:map[k:1]]": cannot convert int64 to string` + "\n",
		`--type json -p '[{"op":"test","path":"/data/k","value":"x"}]'`: rejected,
		`--type json -p '[{"op":"remove","path":"/data/z"}]'`:           rejected,
		`--type json -p '[{"op":"turn","path":"/data/k","value":"x"}]'`: rejected,
		`--type merge -p '{"data":{"a b":"x"}}'`:                        `The ConfigMap "cm" is invalid: data[a b]: Invalid value: "a b": a valid config key`,
	} {
		got := play(t, cm+"! patch cm cm "+patch+"\n----\n")
		_, got, _ = strings.Cut(got, patch+"\n----\n")
		assert.True(t, strings.HasPrefix(got, want), "%s: %s", patch, got)
	}
}

func TestACommandPrintsEachWarningOfTheServerOnceAboveTheLineOfTheObject(t *testing.T) {
	const (
		pod       = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {nodeSelector: {beta.kubernetes.io/os: linux}, containers: [{name: c, image: a}]}\n"
		selector  = `Warning: spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead` + "\n"
		endpoints = "Warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\n"
	)
	script, want := "", ""
	for _, c := range [][2]string{
		{"apply\n" + fmt.Sprintf(pod, "one") + "---\n" + fmt.Sprintf(pod, "two"), selector + "pod/one created\npod/two created\n"},
		{"create\n" + fmt.Sprintf(pod, "three"), selector + "pod/three created\n"},
		{"apply\napiVersion: v1\nkind: Endpoints\nmetadata: {name: e}\n", endpoints + "endpoints/e created\n"},
		{`patch pod one -p '{"spec":{"a":1}}'` + "\n", "Warning: unknown field \"spec.a\"\npod/one patched (no change)\n"},
		{"label endpoints e a=b\n", endpoints + "endpoints/e labeled\n"},
		{"get endpoints e -o name\n", endpoints + "endpoints/e\n"},
		{"get endpoints -o name\n", endpoints + "endpoints/e\n"},
		{"delete endpoints e\n", endpoints + "endpoints \"e\" deleted from default namespace\n"},
	} {
		script += c[0] + "----\n\n"
		want += c[0] + "----\n" + c[1] + "\n"
	}
	assert.Equal(t, want, play(t, script))
}

func TestLabelsAndAnnotationsAreToldAsKubectlTellsThem(t *testing.T) {
	script, want := "apply\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {old: a, odd: b}}\n----\n", ""
	for _, c := range [][2]string{
		{"label cm c a=b a-", "error: can not both modify and remove a label in the same command\n"},
		{"label cm c a=b*", `error: invalid label value: "a=b*": ` + strings.Join(validation.IsValidLabelValue("b*"), ";") + "\n"},
		{"label cm c zz-", "----\nlabel \"zz\" not found.\nconfigmap/c not labeled\n----\n----\n"},
		{"label cm c zz- new=x", "----\nlabel \"zz\" not found.\nconfigmap/c labeled\n----\n----\n"},
		{"label cm c new=x", "configmap/c not labeled\n"},
		{"label cm c new- newer=x", "configmap/c modified\n"},
		{"label cm c newer-", "configmap/c unlabeled\n"},
		{"label cm c old=x", "error: 'old' already has a value (a), and --overwrite is false\n"},
		{"label cm c old=x odd=x", "'odd' already has a value (b), and --overwrite is false\n'old' already has a value (a), and --overwrite is false\n"},
		{"label cm c old=x odd=x --overwrite", "configmap/c labeled\n"},
		{"annotate cm c x=1 y=1", "configmap/c annotated\n"},
		{"annotate cm c x=1", "configmap/c annotated\n"},
		{"annotate cm c x=2 x- z- y=1 y-", "error: can not both modify and remove the following annotation(s) in the same command: x, y\n"},
		{"annotate cm c y=2 x=2", "error: --overwrite is false but found the following declared annotation(s): " +
			"'x' already has a value (1); 'y' already has a value (1)\n"},
		{"annotate cm c x-", "configmap/c annotated\n"},
		{"annotate cm c zz-", "configmap/c annotated\n"},
		{"annotate cm c kubernetes.io/change-cause=a", "configmap/c annotated\n"},
		{"annotate cm c kubernetes.io/change-cause=b", "configmap/c annotated\n"},
	} {
		script += "\n" + c[0] + "\n----\n"
		want += "\n" + c[0] + "\n----\n" + c[1]
	}
	_, got, _ := strings.Cut(play(t, script), "configmap/c created\n")
	assert.Equal(t, want, got)
}

func TestLogsOfWhatIsNotThereSayInWhichNamespaceAsKubectlDoes(t *testing.T) {
	got := play(t, "logs nope\n----\n\nlogs shop/nope\n----\n\nlogs deploy/nope\n----\n\nexec nope -- ls\n----\n")
	assert.Equal(t, `logs nope
----
error: error from server (NotFound): pods "nope" not found in namespace "default"

logs shop/nope
----
error: error from server (NotFound): pods "nope" not found in namespace "shop"

logs deploy/nope
----
error: error from server (NotFound): deployments.apps "nope" not found in namespace "default"

exec nope -- ls
----
Error from server (NotFound): pods "nope" not found
`, got)
}

func TestACommandThatMustFailMayBeWrittenWrongly(t *testing.T) {
	got := play(t, `! cluster nodes=a,a
----

cluster nodes=a
----

! taint node a a=b:NoExec
----

! get pv --colour
----

! get pv
input
----

get nodes -o name
----
`)
	for _, want := range []string{
		"! cluster nodes=a,a\n----\nerror: cluster: nodes: \"a\" is given twice; usage: cluster",
		"! taint node a a=b:NoExec\n----\nerror: taint: \"NoExec\" is not an effect (did you mean \"NoExecute\"?); expected one of NoSchedule,",
		"! get pv --colour\n----\nerror: get: unknown flag: --colour; usage: get TYPE",
		"input\n----\nerror: get takes no input; expected an empty line or ---- below the command\n",
		"get nodes -o name\n----\nnode/a\n",
	} {
		assert.Contains(t, got, want)
	}
	assert.Equal(t, got, play(t, got), "played again it is the same")
	sh := NewShell(t.Context(), Options{Width: 60})
	output, err := sh.Do("! settle nobody")
	require.NoError(t, err)
	for line := range strings.Lines(output) {
		assert.LessOrEqual(t, len(line), 61, "it is wrapped as what a command prints")
	}
	require.NoError(t, sh.Close())
}

func TestAVerbOfKubectlThatStoriesLackNamesWhatDoesTheSame(t *testing.T) {
	const deployment = "apply\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: web}}\n" +
		"  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: busybox}]}}\n----\n\n"
	show := "\n----\n\nget deploy web -o jsonpath={.spec.replicas}{.spec.template.spec.containers[*].image}\n----\n"
	for line, want := range map[string]string{"scale deploy web --replicas 3": "3busybox\n", "set image deploy/web c=nginx": "1nginx\n"} {
		_, err := Run("test.txt", line)
		require.Error(t, err)
		at := strings.Index(err.Error(), "patch deployment/NAME")
		require.Positive(t, at, err)
		command := strings.NewReplacer("NAME", "web", "CONTAINER", "c", "IMAGE", "nginx").Replace(err.Error()[at:])
		assert.True(t, strings.HasSuffix(play(t, deployment+command+show), want), command)
	}
	for _, verb := range []string{"rollout", "edit", "replace", "run", "expose", "autoscale", "top", "cp", "debug", "attach", "watch"} {
		_, err := Run("test.txt", verb+" x\n")
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "did you mean", "a command with a name like it is another thing")
		assert.NotContains(t, err.Error(), "expected one of", verb)
	}
}

// kubectl v0.37.2 prints the same of the same files.
func TestTheServerAppliesObjectsAndKnowsWhoseFieldsAreWhose(t *testing.T) {
	object := func(fields string) string {
		return "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: " + fields + "\n"
	}
	script, want := "cluster provisioners=\n----\n\n", ""
	for _, c := range [][2]string{
		{"apply --server-side" + object(`{a: "1", b: "1"}`), "configmap/one serverside-applied\n"},
		{"apply --server-side" + object(`{a: "1"}`), "configmap/one serverside-applied\n"},
		{"get cm one -o jsonpath={.data}\n", "{\"a\":\"1\"}\n"},
		{"apply --server-side --field-manager=bob" + object(`{a: "2"}`),
			"error: Apply failed with 1 conflict: conflict with \"kubectl\": .data.a\nPlease review the fields above--they currently have other managers. Here\n"},
		{"apply --server-side --field-manager=bob --force-conflicts" + object(`{a: "2"}`), "configmap/one serverside-applied\n"},
		{`patch cm one -p '{"data":{"a":"7"}}'` + "\n", "configmap/one patched\n"},
		{"label cm one x=1\n", "configmap/one labeled\n"},
		{"apply --server-side" + object(`{a: "1"}`) + "---" + strings.Replace(object(`{}`), "name: one", "name: one, labels: {x: other}", 1),
			"error: Apply failed with 1 conflict: conflict with \"kubectl-patch\" using v1: .data.a\n"},
		{"apply --server-side" + strings.Replace(object(`{}`), "name: one", "name: one, labels: {x: z}", 1),
			"error: Apply failed with 1 conflict: conflict with \"kubectl-label\" using v1: .metadata.labels.x\n"},
		{"apply --server-side" + strings.Replace(object(`{}`), "name", "generateName", 1), "error: from one: cannot use generate name with apply\n"},
		{"apply --server-side\n{apiVersion: v1, kind: Pod, metadata: {name: web}}\n", "The Pod \"web\" is invalid: spec.containers: Required value\n"},
		{"apply --force-conflicts" + object(`{}`), "error: --force-conflicts only works with --server-side\n"},
		{"apply --server-side\n{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshotClass, metadata: {name: s}, driver: d, deletionPolicy: Delete}\n",
			"volumesnapshotclass.snapshot.storage.k8s.io/s serverside-applied\n"},
	} {
		script += c[0] + "----\n\n"
		got := play(t, script)
		at := strings.LastIndex(got, c[0]+"----\n")
		require.GreaterOrEqual(t, at, 0, got)
		require.Contains(t, got[at:], "----\n"+c[1])
		want = got
	}
	assert.Contains(t, want, "See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts\n")
	_, err := Run("test.txt", "apply --field-manager bob"+object(`{}`)+"----\n")
	assert.ErrorContains(t, err, "--field-manager: without --server-side no managers are kept here")
}

// What kubectl v0.37.2 prints of the same objects, but for the errors that it drops: see internal/tables.
func TestObjectsAreSortedByAField(t *testing.T) {
	script := "cluster provisioners=\n----\n\napply\n"
	for _, pv := range [][2]string{{"a", "10Gi"}, {"b", "2Gi"}, {"c", "500Mi"}, {"d", "2Gi"}} {
		script += "---\n{apiVersion: v1, kind: PersistentVolume, metadata: {name: " + pv[0] + "}, spec: {capacity: {storage: " + pv[1] +
			"}, accessModes: [ReadWriteOnce], hostPath: {path: /x}}}\n"
	}
	script += "----\n\nlabel pv/a tier=2\n----\n\nlabel pv/c tier=10\n----\n\n"
	want := "\n"
	name := func(list string) string {
		return "persistentvolume/" + strings.Join(strings.Fields(list), "\npersistentvolume/") + "\n"
	}
	const missing = `error: couldn't find any field with path "{.spec.nothing}" in the list of objects` + "\n"
	for _, c := range [][2]string{
		{"get pv --sort-by=.spec.capacity.storage -o name", name("c b d a")},
		{"get pv --sort-by=spec.capacity.storage -o jsonpath={.items[*].metadata.name}", "c b d a\n"},
		{"get pv --sort-by={.metadata.labels.tier} -o name", name("d b a c")},
		{"get pv c a --sort-by=.metadata.name -o name", name("a c")},
		{"get pv c a --sort-by=.spec.nothing", missing},
		{"get pv,sc --sort-by=.spec.nothing", missing},
		{"get pv --sort-by=.spec.nothing", missing},
		{"get pv c --sort-by=.spec.nothing -o name", name("c")},
		{"get secrets --sort-by=.spec.nothing -o name", ""},
		{"get pv --sort-by={.spec", "error: sorting error: unclosed action\n"},
		{"get pv --sort-by={.spec -o name", "error: unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'\n"},
		{"get pv --sort-by=.spec -o name", "error: field {.spec}: unsortable type: map[string]interface {}\n"},
	} {
		script += c[0] + "\n----\n\n"
		want += c[0] + "\n----\n" + c[1] + "\n"
	}
	got := play(t, script)
	assert.Equal(t, want, got[len(got)-len(want):])
	assert.Regexp(t, `(?s)\nc +500Mi.*\nb +2Gi.*\nd +2Gi.*\na +10Gi`, play(t, script+"get pv --sort-by=.spec.capacity.storage\n----\n"))
	assert.Contains(t, play(t, script+"get pv -w --sort-by=.metadata.name\n----\n"),
		"warning: --watch requested, --sort-by will be ignored for watch events received\nNAME")
}

func TestObjectsAreChosenByTypeLabelsFieldsAndFiles(t *testing.T) {
	one := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, labels: {app: a}}\n"
	others := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: three, labels: {app: a}}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: elsewhere, namespace: kube-system, labels: {app: a}}\n"
	script := "apply\n" + one + others + "----\n\n"
	want := "\n"
	for _, c := range [][2]string{
		{"label cm --all x=1", "configmap/one labeled\nconfigmap/two labeled\n"},
		{"annotate cm,secret -l app=a x=1", "configmap/one annotated\nsecret/three annotated\n"},
		{"label cm one --all x=1", "error: name cannot be provided when a selector is specified\n"},
		{"delete cm --all -l app=a", "error: cannot set --all and --selector at the same time\n"},
		{"get cm --field-selector metadata.name=two -o name", "configmap/two\n"},
		{"get cm --field-selector metadata.namespace!=default -A -o name", "configmap/elsewhere\n"},
		{"get cm --field-selector metadata.name=none", "No resources found in default namespace.\n"},
		{"get cm one --field-selector metadata.name=two", "error: name cannot be provided when a selector is specified\n"},
		{"get cm --field-selector color=red", `Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "", ` +
			`field selector "color=red": "color" is not a known field selector: only "metadata.name", "metadata.namespace"` + "\n"},
		{"delete cm,secret -l app=a", "configmap \"one\" deleted from default namespace\nsecret \"three\" deleted from default namespace\n"},
		{"delete cm -l app=a", "No resources found\n"},
		{"delete cm --all -n kube-system", "configmap \"elsewhere\" deleted from kube-system namespace\n"},
		{"apply -f one.yaml", "configmap/one created\n"},
		{"delete -f one.yaml", "configmap \"one\" deleted from default namespace\n"},
		{"delete -f one.yaml", "Error from server (NotFound): configmaps \"one\" not found\n"},
	} {
		script += c[0] + "\n----\n\n"
		want += c[0] + "\n----\n" + c[1] + "\n"
	}
	var played strings.Builder
	files := fstest.MapFS{"one.yaml": {Data: []byte(one)}}
	require.NoError(t, Play(t.Context(), &played, "test.txt", script, Options{Width: -1, Files: files}))
	_, got, _ := strings.Cut(played.String(), "configmap/elsewhere created\n")
	assert.Equal(t, want, got)
}

func TestRefusalsArePrintedAsKubectlPrintsThemAndTheStoryGoesOn(t *testing.T) {
	got := play(t, `apply
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5GG}}}
----

apply
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {resources: {requests: {storage: 5Gi}}}
----

create
apiVersion: v1
kind: Namespace
metadata: {name: default}
----

get pvc/data
----

delete pod/web pvc/data
----

get pq
----

read node/node-9:/etc/passwd
----

read node/node-1:/../../../etc/passwd
----

get pv
----
`)
	assert.Equal(t, `test.txt:5: PersistentVolumeClaim/data: spec.resources.requests.storage: "5GG" is not a quantity (number with unit such as 5Gi, 500M, 1.5T)
The PersistentVolumeClaim "data" is invalid: spec.accessModes: Required value: at least 1 access mode is required
Error from server (AlreadyExists): namespaces "default" already exists
Error from server (NotFound): persistentvolumeclaims "data" not found
Error from server (NotFound): pods "web" not found
Error from server (NotFound): persistentvolumeclaims "data" not found
error: the server doesn't have a resource type "pq" (did you mean "pv"?)
error: no node is called "node-9" (did you mean "node-1"?); expected one of node-1, node-2
`, strings.Join(outputs(got)[:8], "\n")+"\n")
	assert.NotContains(t, got, "root:", "nothing leaves the node's directory")
	assert.NotContains(t, got, os.TempDir(), "where the nodes' directories are stays out of transcripts")
	assert.Equal(t, "No resources found", outputs(got)[9])
}

// outputs returns the lines that commands printed.
func outputs(transcript string) []string {
	var lines []string
	in := false
	for _, line := range strings.Split(transcript, "\n") {
		switch {
		case line == fence:
			in = true
		case line == "":
			in = false
		case in:
			lines = append(lines, line)
		}
	}
	return lines
}

func TestAnObjectThatIsNotThereIsExplainedByTheOneThatWasMeant(t *testing.T) {
	require.Equal(t, []string{`Error from server (NotFound): nodes "node-l" not found (did you mean "node-1"?)`}, outputs(play(t, "explain node/node-l\n----\n")))
}

func TestCommandsThatChangeObjectsReportAsKubectl(t *testing.T) {
	claim := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: " +
		"{storage: 5Gi}}}\n----\n\n"
	got := play(t, "cluster nodes=node-1 provisioners=\n----\n\n"+
		"apply\n"+claim+"apply\n"+claim+"apply\n"+strings.Replace(claim, "name: data", "name: data, labels: {a: b}", 1)+
		"create\n"+strings.Replace(claim, "name: data", "generateName: data-", 1)+
		"apply\n"+strings.Replace(claim, "name: data", "generateName: data-", 1)+`
label pvc/data a=c
----

label pvc/data a=c --overwrite
----

label pvc data a-
----

annotate pvc/data x.io/y="z z"
----

annotate pvc/data x.io/y="z z"
----

patch pvc/data -p '{"metadata": {"labels": {"q": "r"}}}'
----

patch pvc/data
metadata: {labels: {q: r}}
----

get pvc/data -o jsonpath='{.metadata.labels.q} {.metadata.annotations}'
----

cordon node-1
----

cordon node/node-1
----

uncordon node-1
----

taint node node-1 dedicated=db:NoSchedule gpu:NoExecute
----

get node node-1 -o jsonpath={.spec.taints[*].key}
----

taint node-1 dedicated- gpu:NoExecute-
----

taint node-1 dedicated-
----

delete pvc/data
----

delete pvc data --now
----

delete node node-1 --grace-period 0
----
`)
	lines := outputs(got)[1:]
	assert.Regexp(t, `^persistentvolumeclaim/data-[a-z0-9]{5} created$`, lines[3])
	lines[3] = ""
	assert.Equal(t, `persistentvolumeclaim/data created
persistentvolumeclaim/data unchanged
persistentvolumeclaim/data configured

error: from data-: cannot use generate name with apply
error: 'a' already has a value (b), and --overwrite is false
persistentvolumeclaim/data labeled
persistentvolumeclaim/data unlabeled
persistentvolumeclaim/data annotated
persistentvolumeclaim/data annotated
persistentvolumeclaim/data patched
persistentvolumeclaim/data patched (no change)
r {"x.io/y":"z z"}
node/node-1 cordoned
node/node-1 already cordoned
node/node-1 uncordoned
node/node-1 tainted
dedicated gpu
node/node-1 untainted
error: taint "dedicated" not found
persistentvolumeclaim "data" deleted from default namespace
persistentvolumeclaim "data" deleted from default namespace
node "node-1" deleted`, strings.Join(lines, "\n"))
}

func TestTimeAndTroubleAreTold(t *testing.T) {
	got := play(t, `cluster nodes=node-1 provisioners= only=persistent-volume-binder
----

fail persistent-volume-binder update pv/status error=Conflict
----

create
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}}
----

settle fault write
----

crash persistent-volume-binder
----

settle fault
----

settle
----

hold persistent-volume-binder pvc
----

release persistent-volume-binder pvc
----

step 3 quiet
----

run-for 1h event
----

trace fault
----

leaks
----
`)
	assert.Contains(t, got, "persistent-volume-binder will fail to update pv/status")
	assert.Contains(t, got, "is refused (before it was carried out): update persistentvolumes/status pv")
	assert.Contains(t, got, "phase = Available", "it tries again")
	assert.Contains(t, got, "persistent-volume-binder crashed")
	assert.Contains(t, got, "persistent-volume-binder's cache of persistentvolumeclaims is held")
	assert.Contains(t, got, "leaks\n----\nno leaks\n")
	again := play(t, got)
	assert.Equal(t, got, again, "the same story, to the byte")
}

func TestFilesAreFoundBesideTheScript(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ns.yaml"), []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: lab}\n"), 0o600))
	got, err := Run(filepath.Join(dir, "story.txt"), "apply -f ns.yaml\n----\n\napply -f none.yaml\n----\n")
	require.NoError(t, err)
	assert.Contains(t, got, "namespace/lab created\n")
	assert.Contains(t, got, "none.yaml: no such file or directory")
}

func TestStarsInPathsStandForWhatIsThere(t *testing.T) {
	got := play(t, "write node/node-1:/etc-a x\n----\n\nwrite node/node-1:/etc-b y\n----\n\nread node/node-1:/*-b\n----\n\nread node/node-1:/etc-*\n----\n\n"+
		"read node/node-1:/*-c\n----\n")
	lines := outputs(got)
	assert.Equal(t, []string{"y", "error: /etc-* is any of /etc-a, /etc-b", "read: /*-c: No such file or directory"}, lines)
}

func TestMkdirMakesDirectoriesOnNodesAndInPodsVolumes(t *testing.T) {
	got := play(t, `cluster nodes=node-1 provisioners=
----

mkdir node/node-1:/mnt/disks/ssd1 -m 0700
----

mkdir node/node-1:/mnt/disks/ssd1
----

ls node/node-1:/mnt/disks
----

apply
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, hostPath: {path: /mnt/disks/ssd1}}]
----

settle quiet
----

mkdir pod/web:/data/a/b
----

ls node/node-1:/mnt/disks/ssd1/a
----

write node/node-1:/mnt/file x
----

mkdir node/node-1:/mnt/file
----

mkdir node/node-1:/../outside
----

mkdir node/node-9:/a
----

mkdir pod/web:/elsewhere
----
`)
	assert.Equal(t, `ssd1/
pod/web created
b/
error: node/node-1: mkdir /mnt/file: file exists
error: node/node-1: mkdir /../outside: the path contains "..": leads out of the node's directory
error: no node is called "node-9" (did you mean "node-1"?); expected node-1
error: pod/web: path "/elsewhere" of pod default/web is not in any of its volumes: they are mounted at /data`, strings.Join(outputs(got)[1:], "\n"))
}

func TestAStoryStopsBetweenCommandsWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b strings.Builder
	err := Play(ctx, &b, "test.txt", "help\n----\n", Options{})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, b.String())
}

func TestAStoryStopsWithinACommandWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var b strings.Builder
	// The time counts from the first line, however long it takes the machine to come to it.
	begun := writing(func(p []byte) (int, error) {
		time.AfterFunc(50*time.Millisecond, cancel)
		return b.Write(p)
	})
	err := Play(ctx, begun, "test.txt", "# first\nrun-for 1000000h\n----\n", Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "# first\n", b.String())
}

type writing func(p []byte) (int, error)

func (w writing) Write(p []byte) (int, error) { return w(p) }

func TestEveryStoryCanBePlayedInOtherOrders(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		script, err := os.ReadFile(file)
		require.NoError(t, err)
		seedtest.Each(t, 5, func(t testing.TB, seed uint64) {
			var b, again strings.Builder
			require.NoError(t, Play(t.Context(), &b, file, string(script), Options{Seed: seed}), file)
			require.NoError(t, Play(t.Context(), &again, file, string(script), Options{Seed: seed}))
			require.Equal(t, b.String(), again.String(), "%s is the same twice", file)
		})
	}
}

func TestTheMainStoryEndsWellInAnyOrder(t *testing.T) {
	const file = "testdata/openebs_hostpath.txt"
	script, err := os.ReadFile(file)
	require.NoError(t, err)
	seedtest.Each(t, 25, func(t testing.TB, seed uint64) {
		var b strings.Builder
		require.NoError(t, Play(t.Context(), &b, file, string(script), Options{Seed: seed}))
		assert.Regexp(t, `hello-local-hostpath-pod +1/1 +Running .* node2 `, b.String())
		assert.Contains(t, b.String(), "get pv,pvc,pods -A\n----\nNo resources found\n\nls node/node2:/var/openebs/local\n----\n\nleaks\n----\nno leaks\n")
	})
}

func FuzzParsingAScriptNeverPanics(f *testing.F) {
	var seeds [][]any
	for _, script := range []string{"a\n----\nb\n", "a 'b\n----\n", "----\n", "a\n----\n----\nb\n\nc\n----\n----\n", "\r\n#\n"} {
		seeds = append(seeds, []any{script})
	}
	seedtest.Corpus(f, 200, seeds...)
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parse("fuzz", text)
		if err != nil {
			return
		}
		for _, it := range parsed.items {
			if it.words != nil && !strings.HasPrefix(it.printed("x"), it.text+"\n") {
				t.Fatalf("%q is not printed as it was", it.text)
			}
		}
	})
}

func TestNoDirectoryIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	_, err := Run("test.txt", "settle\n----\n\nwrite node/node-1:/a b\n----\n\nnonsense\n----\n")
	require.Error(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestShortNamesOfTranscriptsCanBeUsedInCommands(t *testing.T) {
	got := play(t, `apply
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: now, annotations: {openebs.io/cas-type: local, cas.openebs.io/config: "- {name: StorageType, value: hostpath}"}}
provisioner: openebs.io/local
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: now, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: busybox, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
----

settle quiet
----

get pv pvc-558a3044 -o name
----

get pv pvc-558a3044
----

write pod/web:/v/greet.txt hello
----

ls node/node-1:/var/openebs/local
----

read node/node-1:/var/openebs/local/pvc-558a3044/greet.txt
----

patch pv/pvc-558a3044
metadata: {annotations: {same: pvc-558a3044}}
----

get pv pvc-558a3044 -o jsonpath={.metadata.annotations.same}
----
`)
	const whole = "pvc-558a3044-d9ab-451d-bf3b-29391f5b604b"
	lines := outputs(got)[3:]
	assert.Equal(t, "persistentvolume/"+whole, lines[0], "programs read this")
	assert.Regexp(t, "^pvc-558a3044 +1Gi", lines[2])
	assert.Equal(t, []string{"pvc-558a3044/", "hello", "persistentvolume/pvc-558a3044 patched", whole}, lines[3:])
}

func TestNoSentenceIsWiderThanItMayBe(t *testing.T) {
	script := "settle\n----\n\nget node\n----\n\nexplain pod/none\n----\n\nget pvc/" + strings.Repeat("very-", 20) + "long\n----\n\nhelp break\n----\n"
	for _, width := range []int{60, 100, 120} {
		var got strings.Builder
		require.NoError(t, Play(t.Context(), &got, "test.txt", script, Options{Width: width}))
		for _, line := range outputs(got.String()) {
			if !strings.Contains(line, "very-") {
				assert.LessOrEqual(t, len(line), width, line)
			}
		}
	}
}
