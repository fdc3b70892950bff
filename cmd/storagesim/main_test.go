package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagesim/storagesim/internal/rigs/outside"
	"github.com/storagesim/storagesim/internal/rigs/soon"
	"github.com/storagesim/storagesim/live/serve"
	"github.com/storagesim/storagesim/story/bundled"
)

const manifests = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: openebs-hostpath}
provisioner: openebs.io/local
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: openebs-hostpath
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// file writes a file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// command runs a command line in this process.
func command(t *testing.T, in string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = execute(t.Context(), args, strings.NewReader(in), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestRunTellsTheStoryAndShowsTheTables(t *testing.T) {
	path := file(t, "all.yaml", manifests)
	code, out, errOut := command(t, "", "run", "-f", path)
	require.Zero(t, code, errOut)
	assert.Empty(t, errOut)
	assert.Contains(t, out, "kubelet/node-1")
	assert.Contains(t, out, "creates pv pvc-")
	assert.Regexp(t, `default +persistentvolumeclaim/data +Bound +pvc-\S+ +1Gi +RWO +openebs-hostpath`, out)
	assert.Regexp(t, `default +pod/web +1/1 +Running`, out)

	_, again, _ := command(t, manifests, "run", "-f", "-")
	assert.Equal(t, out, again, "the same from standard input, to the byte")
	_, table, _ := command(t, "", "run", "-f", path, "-o", "table")
	assert.True(t, strings.HasPrefix(table, "NAME "))
	assert.True(t, strings.HasSuffix(out, "\n\n"+table))
	_, told, _ := command(t, "", "run", "-f", path, "-o", "story")
	assert.Equal(t, out, told+"\n"+table)
}

func TestTheTablesOfRunHaveSnapshotsIfThereAreAny(t *testing.T) {
	code, out, errOut := command(t, "", "run", "-o", "table", "-f", "../../examples/csi-snapshots")
	require.Equal(t, 0, code, errOut)
	require.Regexp(t, `READYTOUSE .*\n.*volumesnapshot.snapshot.storage.k8s.io/monday +true +data `, out)
	require.Contains(t, out, "volumesnapshotcontent.snapshot.storage.k8s.io/snapcontent-")
}

func TestRunSaysWhyASnapshotIsNotReady(t *testing.T) {
	code, out, errOut := command(t, "", "run", "-f", file(t, "snapshot.yaml", `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: s1}
spec: {volumeSnapshotClassName: snap, source: {persistentVolumeClaimName: dta}}
`))
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "\nvolumesnapshot default/s1 is not ready to use\n  it is to be taken of pvc default/dta, which does not exist\n")
}

func TestRunSaysWhySomethingIsPending(t *testing.T) {
	pod := func(name, spec string) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {" + spec + ", containers: [{name: a, image: b}]}\n"
	}
	path := file(t, "all.yaml", strings.Replace(manifests, "storageClassName: openebs-hostpath", "storageClassName: missing", 1)+
		pod("lost", "nodeName: nowhere")+pod("picky", "nodeSelector: {disk: ssd}"))
	code, out, errOut := command(t, "", "run", "-f", path, "--width", "0")
	require.Zero(t, code, errOut)
	for _, why := range []string{
		"\n\npod default/lost is Pending on node nowhere: there is no node nowhere, so its containers are never started. To do: delete the pod, " +
			"or bring the node back.\n" +
			"pod default/lost is Pending on node nowhere\n  there is no node nowhere, so its containers are never started\n",
		"\npod default/picky is Pending: 0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
		"\n  node node-1: node(s) didn't match Pod's node affinity/selector: nodeSelector wants disk=ssd, the node has no such label\n",
		"\npvc default/data is Pending\n  its class \"missing\" does not exist, so it can only be bound to a volume that names the same class\n",
	} {
		assert.Contains(t, out, why)
	}
	assert.Equal(t, 1, strings.Count(out, "pvc default/data is Pending\n"), "the pod's explanation has it already")
	_, out, _ = command(t, strings.Split(strings.Replace(manifests, "WaitForFirstConsumer", "Immediate", 1), "---")[1], "run", "-f", "-")
	assert.Contains(t, out, "\n\npvc default/data is Pending: its class \"openebs-hostpath\" does not exist", "a claim that no pod uses")
}

func TestRunPrintsEveryObjectAtRest(t *testing.T) {
	path := file(t, "all.yaml", manifests)
	code, out, errOut := command(t, "", "run", "-f", path, "-o", "yaml", "--nodes", "a,b", "--for", "5m")
	require.Zero(t, code, errOut)
	assert.True(t, strings.HasPrefix(out, "apiVersion: v1\nitems:\n"))
	assert.Contains(t, out, "  kind: PersistentVolume\n")
	_, out, _ = command(t, "", "run", "-f", path, "-o", "json")
	assert.Contains(t, out, `"kind": "StorageClass"`)
}

func TestWrongManifestsLeaveNothingApplied(t *testing.T) {
	good, bad := file(t, "good.yaml", manifests), file(t, "bad.yaml", strings.NewReplacer("name: data}", "name: other}", "1Gi", "1GG").Replace(manifests))
	code, out, errOut := command(t, "", "run", "-f", good, "-f", bad)
	assert.Equal(t, exitError, code)
	assert.Empty(t, out)
	assert.Equal(t, strings.NewReplacer("BAD", bad, "GOOD",
		good).Replace(`BAD:13: PersistentVolumeClaim/other: spec.resources.requests.storage: "1GG" is not a quantity (number with unit such as 5Gi, 500M, 1.5T)
`), errOut)
}

// Each of them used to run for minutes, or out of memory.
func TestRunRefusesHugeQuantities(t *testing.T) {
	for _, text := range []string{"1e2147483648", "1e-2147483648", "1E+2147483648", "0e2147483647", "'1e-2147483648'", `"1e99999999999999999999"`,
		"1" + strings.Repeat("0", 1<<20)} {
		path := file(t, "huge.yaml", strings.Replace(manifests, "1Gi", text, 1))
		code, out, errOut := command(t, "", "run", "-f", path)
		assert.Equal(t, exitError, code)
		assert.Empty(t, out)
		assert.Contains(t, errOut, path+`:13: PersistentVolumeClaim/data: spec.resources.requests.storage: "`)
		assert.Less(t, len(errOut), 500+len(path))
	}
}

// Where no quantity is expected, the text is one like others.
func TestRunTakesHugeNumbersInParametersAndAnnotations(t *testing.T) {
	path := file(t, "all.yaml", strings.NewReplacer(
		"metadata: {name: data}", `metadata: {name: data, annotations: {volume.alpha.kubernetes.io/pre-resize-capacity: "1e-2147483648"}}`,
		"metadata: {name: openebs-hostpath}", `metadata:
  name: openebs-hostpath
  annotations: {cas.openebs.io/config: "[{name: XFSQuota, enabled: true, data: {softLimitGrace: 1e2147483648%}}]"}`).Replace(manifests))
	code, out, errOut := command(t, "", "run", "-f", path)
	assert.Equal(t, 0, code, errOut)
	assert.Contains(t, out, "invalid format for limit grace")
	path = file(t, "class.yaml",
		strings.Replace(manifests, "provisioner: openebs.io/local", "provisioner: openebs.io/local\nparameters: {size: \"1e2147483648\"}", 1))
	code, out, errOut = command(t, "", "run", "-f", path)
	assert.Equal(t, 0, code, errOut)
	assert.Contains(t, out, "pod/web   1/1     Running")
}

func TestWhatTheServerRefusesIsReportedAndTheRestApplied(t *testing.T) {
	path := file(t, "all.yaml", strings.Replace(manifests, "accessModes: [ReadWriteOnce]", "accessModes: []", 1))
	code, out, errOut := command(t, "", "run", "-f", path, "-o", "table")
	assert.Equal(t, exitError, code)
	assert.Equal(t, path+":12: PersistentVolumeClaim/data: PersistentVolumeClaim \"data\" is invalid: spec.accessModes: Required value: "+
		"at least 1 access mode is required\n", errOut)
	assert.Contains(t, out, "pod/web")

	_, out, _ = command(t, "", "run", "-f", path, "-o", "story")
	assert.NotContains(t, out, "at least 1 access mode", "it is told once")
	assert.Contains(t, out, "user")
}

func TestAWrongCommandLineExitsWith2(t *testing.T) {
	for args, want := range map[string]string{
		"help rnu":      `unknown command "rnu" (did you mean "run"?)`,
		"help apply":    `"apply" is a command of stories`,
		"rnu -f a.yaml": `unknown command "rnu" (did you mean "run"?)`,
		"rnu": `unknown command "rnu" (did you mean "run"?); expected one of conformance, control, explain, explore, help, learn, ` +
			`museum, page, run, run-for, serve, settle, shell, step, story, version`,
		"run":                          `nothing to apply: give manifests with -f`,
		"run -f x -o xml":              `-o: unknown format "xml"; expected one of story, table, yaml, json`,
		"run -f x --for -1s":           `--for -1s: the time must not be negative`,
		"run -f x --provisioners ceph": `--provisioners: there is no "ceph"; expected one of csi, local-path, nfs, openebs`,
		"run -f x --csi-endpoint csi.sock": `--csi-endpoint: "csi.sock" is not the address of a gRPC server: expected unix:// and the absolute path of a socket, ` +
			`or tcp://HOST:PORT`,
		"run -f x --csi-endpoint unix:///a --csi-endpoint x=unix:///a": `--csi-endpoint: unix:///a is given twice`,
		"run -f x --nodes a,b --csi-endpoint unix:///a": `--csi-endpoint unix:///a: one process of a driver serves one node, and there are 2 (a, ` +
			`b); have one for each and write {node} for the node's name, or give one node with --nodes`,
		"run -f x --csi-endpoint unix:///run/" + strings.Repeat("x", 103): "--csi-endpoint: unix:///run/" + strings.Repeat("x", 103) +
			": the path of the socket has 108 bytes; a unix socket's may have at most 107",
		"run -f x --disk node-1":                     `--disk: "node-1" is not NODE:PATH with an absolute path, such as node-1:/data/disk`,
		"run -f x --disk node-1:data":                `--disk: "node-1:data" is not NODE:PATH`,
		"run -f x --disk node-1:/a/..":               `--disk: "node-1:/a/.." is not NODE:PATH`,
		"run -f x --disk node-9:/data":               `--disk node-9:/data: there is no node "node-9" (did you mean "node-1"?); expected one of node-1, node-2`,
		"run -f x --provisioners openebs,openebs":    `--provisioners: "openebs" is given twice`,
		"run -f x --nfs nas":                         `--nfs: "nas" is not SERVER:PATH, such as 192.168.203.110:/data/nfs`,
		"run -f x --nfs a_b:/x":                      `--nfs: "a_b" is neither an IP address nor a DNS name`,
		"run -f x --entrypoint image":                `--entrypoint: "image" is not IMAGE=SCRIPT`,
		"explore -f x --disk-size much":              `--disk-size: "much" is not a size such as 512Mi or 20Gi`,
		"serve --disk-size 0":                        `--disk-size: "0" is not a size such as 512Mi or 20Gi`,
		"run -f x --entrypoint a=b --entrypoint a=c": `--entrypoint: the image a is named twice`,
		"run -f x --nodes Node_1":                    `--nodes: "Node_1" is not a node name: `,
		"run -f x --nodes ../x":                      `--nodes: "../x" is not a node name: `,
		"run -f x --nodes a,b,a":                     `--nodes: "a" is given twice`,
		"run -f x --nodes=":                          `--nodes: name at least one node, such as node-1`,
		"run -f x --keep=":                           `--keep: name a directory, new or empty`,
		"run -f x --seed x":                          `--seed "x" is not a whole number such as 7`,
		"run -f x --seed -1":                         `--seed "-1" is not a whole number such as 7`,
		"run -f x --for 5":                           `--for "5" is not a time such as 90s, 6m or 1h30m`,
		"run x":                                      `run takes no arguments: write -f x`,
		"delete pvc/data": `"delete" is a command of stories: write it into a script, ` +
			`and play that with storagesim story`,
		"explain":                       `explain takes one object such as pvc/data or pod/default/web, but 0 are given`,
		"explain pvc/data -o yaml":      `-o "yaml": expected json, or nothing for words`,
		"run --file x":                  `unknown flag: --file (did you mean "--filename"?)`,
		"run --nope":                    `unknown flag: --nope (did you mean "--nodes"?)`,
		"run -x":                        `unknown shorthand flag: 'x' in -x`,
		"story":                         `nothing to play: name the file of a script, or - for standard input`,
		"story -w --check x":            `-w and --check exclude each other`,
		"conformance":                   `expected one directory of recordings, got 0 arguments`,
		"conformance x --api y":         `--api takes its own directory: unexpected argument "x"`,
		"conformance --api y --seeds 3": `--seeds has no effect with --api`,
		"conformance x --seeds 0":       `--seeds 0: there must be at least one`,
		"conformance x --run (":         `--run: error parsing regexp: missing closing ): `,
		"serve app.yaml":                `serve takes no arguments: write -f app.yaml`,
		"explore app.yaml":              `explore takes no arguments: write -f app.yaml`,
		"explore --run 5":               `unknown flag: --run (did you mean "--runs"?)`,
		"explore --sed 3": `unknown flag: --sed (explore has no --seed: the number of a run is its seed, --from RUN begins with another, ` +
			`and --replay LINE repeats one)`,
		"explore --seed 3":   `unknown flag: --seed (explore has no --seed`,
		"serve --speed 60":   `--speed: "60" is neither step nor a number of times up to 100000x, such as 1x or 60x`,
		"serve --speed 0x":   `--speed: "0x" is neither step nor a number of times`,
		"serve --speed NaNx": `--speed: "NaNx" is neither step nor a number of times`,
		"serve --nodes a,a":  `--nodes: "a" is given twice`,
		"serve --nodes 3":    "--nodes: 3 would be the name of one node; name each, such as node-1,node-2",
		"step 3":             `step takes no arguments, but "3" is given`,
		"settle x":           `settle takes no arguments, but "x" is given`,
		"run-for":            `run-for takes one time such as 90s, 6m or 1h30m, but 0 are given`,
		"run-for 10":         `"10" is not a time such as 90s, 6m or 1h30m`,
		"run-for -5m":        `"-5m" is negative; expected a time of at least 0s`,
		"run-for -- -5m":     `"-5m" is negative; expected a time of at least 0s`,
		"run-for -x 5m":      `unknown shorthand flag: 'x' in -x`,
		"version x":          `version takes no arguments`,
	} {
		code, out, errOut := command(t, "", strings.Fields(args)...)
		assert.Equal(t, exitUsage, code, args)
		assert.Empty(t, out, args)
		assert.True(t, strings.HasPrefix(errOut, "error: "+want), "%s: %s", args, errOut)
		assert.Contains(t, errOut, " -h'.\n", args)
	}
}

func TestErrorsExitWith1(t *testing.T) {
	for args, want := range map[string]string{
		"run -f /does/not/exist":      "no such file or directory",
		"story /does/not/exist":       "no such file or directory",
		"conformance /does/not/exist": "error: /does/not/exist: no such file or directory",
		"conformance --api /does/not": "error: /does/not: no such file or directory",
		"run -f -":                    "standard input: is empty; expected at least one object in YAML or JSON",
		"run -f - -f x":               "-f - cannot be combined with other files",
		"run -f " + t.TempDir():       "the directory holds no .yaml, .yml or .json file",
		"story " + t.TempDir():        "is a directory",
	} {
		code, _, errOut := command(t, "", strings.Fields(args)...)
		assert.Equal(t, exitError, code, args)
		assert.Contains(t, errOut, want, args)
	}
}

func TestRunProvisionsWithThoseItIsTold(t *testing.T) {
	path := file(t, "all.yaml", strings.ReplaceAll(manifests, "openebs.io/local", "rancher.io/local-path"))
	code, out, errOut := command(t, "", "run", "-f", path, "--provisioners", "local-path,nfs", "-o", "table")
	require.Zero(t, code, errOut)
	assert.Regexp(t, `data +Bound`, out)
	code, out, _ = command(t, "", "run", "-f", path, "--provisioners", "", "-o", "table")
	assert.Zero(t, code)
	assert.Regexp(t, `data +Pending`, out)
}

func TestRunMountsFromTheNFSServersItIsGiven(t *testing.T) {
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: c, image: busybox, volumeMounts: [{name: v, mountPath: /v}]}]\n" +
		"  volumes: [{name: v, nfs: {server: 'fd00::1', path: /srv/web}}]\n"
	code, out, errOut := command(t, "", "run", "-f", file(t, "pod.yaml", pod), "--nfs", "[fd00::1]:/srv/web", "--nfs", "nas:/x", "-o", "table")
	assert.Zero(t, code, errOut)
	assert.Regexp(t, `web +1/1 +Running`, out)
	code, out, _ = command(t, "", "run", "-f", file(t, "pod.yaml", pod), "-o", "story")
	assert.Zero(t, code)
	assert.Contains(t, out, "mount.nfs: Connection timed out for [fd00::1]:/srv/web")
}

func TestHelpNeedsNoOtherPage(t *testing.T) {
	for _, cmd := range []string{"", "run", "story", "conformance"} {
		code, out, _ := command(t, "", append(strings.Fields(cmd), "-h")...)
		assert.Zero(t, code)
		assert.Contains(t, out, "Examples:\n  ")
		for line := range strings.SplitSeq(out, "\n") {
			assert.LessOrEqual(t, len(line), 140, cmd)
		}
	}
	for _, ask := range []string{"version", "--version"} {
		code, out, _ := command(t, "", ask)
		assert.Zero(t, code)
		assert.Contains(t, out, "behaves as Kubernetes v1.37.2 ")
	}
}

func TestStoriesArePlayedWrittenAndChecked(t *testing.T) {
	path := file(t, "a.txt", "# see\nget pv\n----\n")
	code, out, _ := command(t, "", "story", path)
	assert.Zero(t, code)
	assert.Equal(t, "# see\nget pv\n----\nNo resources found\n", out)
	code, _, errOut := command(t, "", "story", "--check", path)
	assert.Equal(t, exitError, code)
	assert.Contains(t, errOut, path+":4: the output is no longer what the file says\n- \n+ No resources found\n")
	code, _, _ = command(t, "", "story", "-w", path)
	assert.Zero(t, code)
	code, _, errOut = command(t, "", "story", "--check", path)
	assert.Zero(t, code, errOut)
	code, out, _ = command(t, "help\n----\n", "story", "-")
	assert.Zero(t, code)
	assert.Contains(t, out, "\nsettle ")
	code, _, errOut = command(t, "", "story", file(t, "b.txt", "nonsense\n----\n"))
	assert.Equal(t, exitError, code)
	assert.Contains(t, errOut, `b.txt:1: unknown command "nonsense"; expected one of cluster, settle,`)
	_, _, errOut = command(t, "nonsense\n----\n", "story", "-")
	assert.Contains(t, errOut, `standard input:1: unknown command "nonsense"`)
}

// The line ends and the mark at the beginning that editors on Windows write are no difference, and -w keeps the line ends.
func TestAStoryFromWindowsIsCheckedAndWritten(t *testing.T) {
	const played = "# see\r\nget pv\r\n----\r\nNo resources found\r\n"
	path := file(t, "a.txt", "\ufeff"+played)
	code, _, errOut := command(t, "", "story", "--check", path)
	assert.Zero(t, code, errOut)
	path = file(t, "b.txt", "# see\r\nget pv\r\n----\r\n")
	code, _, errOut = command(t, "", "story", "--check", path)
	assert.Equal(t, exitError, code)
	assert.Contains(t, errOut, path+":4: the output is no longer what the file says\n- \n+ No resources found\n")
	code, _, errOut = command(t, "", "story", "-w", path)
	assert.Zero(t, code, errOut)
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, played, string(written))
	path = file(t, "c.txt", "get pv\r\nrun-for ten\r\n\r\n# end\r\n")
	code, _, _ = command(t, "", "story", "-w", path)
	assert.Equal(t, exitError, code)
	written, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "get pv\r\n----\r\nNo resources found\r\n\r\nrun-for ten\r\n\r\n# end\r\n", string(written))
}

func TestAFileThatIsNoStoryIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "a.txt: is empty; expected at least one command",
		" \n\n":                       "a.txt: is empty; expected at least one command",
		"\xff\xfeg\x00e\x00t\x00":     "a.txt: is encoded in UTF-16; expected UTF-8",
		"get pv\n# caf\xe9\n":         "a.txt:2: is not UTF-8: the byte 0xE9 is part of another encoding; save the file as UTF-8",
		"get pv\n\nget\x00\x00\x00\n": "a.txt:3: is not text: it has a byte 0x00",
	} {
		path := file(t, "a.txt", text)
		for _, args := range [][]string{{"story", path}, {"story", "--check", path}, {"story", "-w", path}, {"page", path}} {
			code, out, errOut := command(t, "", args...)
			assert.NotZero(t, code, args)
			assert.Empty(t, out, args)
			assert.Contains(t, errOut, want, args)
		}
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, text, string(left), "-w leaves it")
	}
}

func TestKeptDirectoriesHoldTheVolumes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nodes")
	code, _, errOut := command(t, "", "run", "-f", file(t, "all.yaml", manifests), "--keep", dir)
	require.Zero(t, code, errOut)
	volumes, err := filepath.Glob(filepath.Join(dir, "node-1/var/openebs/local/pvc-*"))
	require.NoError(t, err)
	assert.Len(t, volumes, 1)
	mounted, err := filepath.Glob(filepath.Join(dir, "node-1/var/lib/kubelet/pods/*/volumes/kubernetes.io~local-volume/pvc-*"))
	require.NoError(t, err)
	require.Len(t, mounted, 1)
	there, err := filepath.EvalSymlinks(mounted[0])
	require.NoError(t, err)
	real, err := filepath.EvalSymlinks(volumes[0])
	require.NoError(t, err)
	assert.Equal(t, real, there, "a mount leads to its volume for whoever looks from outside")
}

func TestKeptDirectoriesAreMadeWhereNothingIs(t *testing.T) {
	dir := t.TempDir()
	manifest := file(t, "all.yaml", manifests)
	code, _, errOut := command(t, "", "run", "-f", manifest, "--keep", dir)
	require.Zero(t, code, "an empty directory will do: %s", errOut)
	code, out, errOut := command(t, "", "run", "-f", manifest, "--keep", dir)
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.True(t, strings.HasPrefix(errOut, "error: --keep "+dir+": the directory is not empty, it has \"node-1\"; name a new or an empty one\n"), errOut)
	code, _, errOut = command(t, "", "run", "-f", manifest, "--keep", manifest)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errOut, "error: --keep: "+manifest+": ", "and no system call")
}

// TestMain lets the test binary stand for the real one: signals end processes, not
// functions.
func TestMain(m *testing.M) {
	outside.Main()
	if os.Getenv("BE_STORAGESIM") != "" {
		main()
	}
	os.Exit(inOwnTemp(m))
}

// inOwnTemp runs the tests with a directory for temporary files in which no other process leaves any: the command names
// those that it finds.
func inOwnTemp(m *testing.M) int {
	dir, err := os.MkdirTemp("", "st")
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

// process returns storagesim as a process of its own, with a directory for its temporary
// files.
func process(t *testing.T, args ...string) (cmd *exec.Cmd, temp string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no way to send Ctrl-C to one process")
	}
	binary, err := os.Executable()
	require.NoError(t, err)
	temp, err = os.MkdirTemp("", "p") // short, as a socket's path must be
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(temp)) })
	cmd = exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "BE_STORAGESIM=1")
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill() // it has ended, unless the test failed
		}
	})
	return cmd, temp
}

func TestInterruptingLeavesNothingBehind(t *testing.T) {
	manifest := file(t, "all.yaml", manifests)
	loop := file(t, "loop.txt", "apply -f "+manifest+"\n----\n\nrun-for 1000000h\n----\n")
	for name, args := range map[string][]string{
		"run":   {"run", "-f", manifest, "--for", "1000000h", "--keep"},
		"story": {"story", "--allow-files", filepath.Dir(manifest), loop},
	} {
		for _, sign := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
			if signal.Ignored(sign) { // these tests run under nohup, which the command respects
				sign = os.Interrupt
			}
			t.Run(name+" "+sign.String(), func(t *testing.T) {
				// A story says what its first command did while the second runs.
				kept, said := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "said")
				args, begun := slices.Clone(args), said
				if name == "run" {
					args = append(args, kept)
					begun = filepath.Join(kept, "node-1", "var", "openebs", "local", "pvc-*")
				}
				cmd, temp := process(t, args...)
				out, err := os.Create(said)
				require.NoError(t, err)
				defer out.Close()
				var errOut bytes.Buffer
				cmd.Stdout, cmd.Stderr = out, &errOut
				require.NoError(t, cmd.Start())
				awaitSomething(t, begun)
				require.NoError(t, cmd.Process.Signal(sign))
				require.Error(t, cmd.Wait(), errOut.String())
				assert.Equal(t, interrupted, cmd.ProcessState.ExitCode(), errOut.String())
				assert.Equal(t, "interrupted\n", errOut.String())
				requireEmpty(t, temp)
			})
		}
	}
}

// A shell ignores SIGINT for what a script starts with "&".
func TestAScriptEndsItsServerWithSIGINT(t *testing.T) {
	cmd, temp := process(t, "serve")
	cmd.Args = append([]string{"sh", "-c", `trap '' INT; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	cmd.Path = sh
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	_ = cmd.Wait()
	require.True(t, cmd.ProcessState.Exited(), "it ends by itself")
	requireEmpty(t, temp)
}

// Pods work, hold and write without end, a client asks for all virtual time, and a good one writes.
func TestCtrlCEndsAServerUnderAttackAndLeavesNothing(t *testing.T) {
	pods := ""
	for name, script := range map[string]string{
		"steps": "while :; do :; done", "values": "x=a; while :; do x=$x$x; done", "files": "while :; do i=$((i+1)); echo $i > /data/$i; done",
		"output": "while :; do seq 1000; done",
	} {
		pods += fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  containers: [{name: c, image: busybox, command: [sh, -c, %q], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, emptyDir: {}}]
---`, name, script)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	cmd, temp := process(t, "serve", "--kubeconfig", kubeconfig, "-f", file(t, "hostile.yaml", pods))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	client, err := serve.NewClient(kubeconfig)
	require.NoError(t, err)
	pressed := make(chan error)
	go func() {
		_, err := client.RunFor(t.Context(), 2_000_000*time.Hour)
		pressed <- err
	}()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	config.QPS = -1
	good, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	for i := range 50 {
		_, err := good.CoreV1().ConfigMaps("default").Create(t.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("good-", i)}},
			metav1.CreateOptions{})
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	_ = cmd.Wait()
	require.True(t, cmd.ProcessState.Exited(), "it ends by itself")
	require.Error(t, <-pressed)
	require.NoFileExists(t, kubeconfig)
	requireEmpty(t, temp)
}

// What is not printed to a terminal may be read on one later.
func TestErrorsShowControlCharactersAsEscapes(t *testing.T) {
	_, _, errOut := command(t, "", "run", "-f", file(t, "esc.yaml", `{apiVersion: v1, kind: ConfigMap, metadata: {name: "a\e[31mb"}}`))
	require.Contains(t, errOut, `ConfigMap/a\x1b[31mb`)
	require.NotContains(t, errOut, "\x1b")
}

// awaitSomething waits until there is something at a path with wildcards.
func awaitSomething(t *testing.T, pattern string) {
	t.Helper()
	require.True(t, soon.Is(t, func() bool {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			return false
		}
		info, err := os.Stat(found[0])
		return err == nil && (info.IsDir() || info.Size() > 0)
	}))
}

// The nodes are still being made when Ctrl-C comes.
func TestInterruptingTheStartLeavesNothingBehind(t *testing.T) {
	nodes := make([]string, 500)
	for i := range nodes {
		nodes[i] = fmt.Sprintf("node-%d", i)
	}
	for range 3 {
		kept := filepath.Join(t.TempDir(), "kept")
		cmd, temp := process(t, "run", "-f", file(t, "all.yaml", manifests), "--nodes", strings.Join(nodes, ","), "--keep", kept)
		require.NoError(t, cmd.Start())
		awaitSomething(t, filepath.Join(kept, "node-*"))
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait() // it may have been done already
		requireEmpty(t, temp)
	}
}

// As in "storagesim run ... | head -1".
func TestAReaderThatLeavesLeavesNothingBehind(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	cmd, temp := process(t, "run", "-f", file(t, "all.yaml", manifests))
	var errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = write, &errOut
	require.Error(t, cmd.Run())
	require.NoError(t, write.Close())
	assert.Equal(t, exitError, cmd.ProcessState.ExitCode())
	assert.Empty(t, errOut.String(), "nobody wants to know")
	requireEmpty(t, temp)
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// The manifests of the first document: its disk is not there, and the flag gives it.
func TestADiskGivesANodeADirectoryAndTheHintNamesTheFlag(t *testing.T) {
	_, out, _ := command(t, "", "run", "-f", "testdata/local-volume.yaml")
	assert.Contains(t, out, "\n  hint: --disk node-1:/data/k8s/localpv gives the node this directory before the start\n")
	assert.Regexp(t, `pod/web +0/1 +ContainerCreating`, out)
	code, out, errOut := command(t, "", "run", "-f", "testdata/local-volume.yaml", "--disk", "node-1:/data/k8s/localpv", "-o", "table")
	assert.Zero(t, code)
	assert.Empty(t, errOut)
	assert.Regexp(t, `pod/web +1/1 +Running`, out)
}

func TestManifestsWithoutANamespaceAreInTheOneThatIsAskedFor(t *testing.T) {
	dir := t.TempDir()
	claim := func(name, namespace string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + namespace +
			"}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "deep", "er"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(claim("a", "")), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "deep", "er", "b.yaml"), []byte(claim("b", "")), 0o644))
	code, out, errOut := command(t, "", "run", "-f", dir, "-n", "team", "-o", "table")
	assert.Zero(t, code, errOut)
	assert.Regexp(t, `team +persistentvolumeclaim/a`, out)
	assert.NotContains(t, out, "persistentvolumeclaim/b")
	code, out, errOut = command(t, "", "run", "-R", "-f", dir, "--namespace", "default", "-o", "table")
	assert.Zero(t, code, errOut)
	assert.Regexp(t, `default +persistentvolumeclaim/a`, out)
	assert.Regexp(t, `default +persistentvolumeclaim/b`, out)

	other := file(t, "other.yaml", claim("c", ", namespace: other"))
	code, _, errOut = command(t, "", "run", "-f", other, "-n", "team")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "other.yaml:3: PersistentVolumeClaim/c: metadata.namespace: is other, which is not the namespace asked for, team")
	for flags, want := range map[string]string{
		"-f x -n T":                    `--namespace: "T" is not the name of a namespace`,
		"-k dir":                       "-k: kustomize is a program of its own; write kubectl kustomize dir | storagesim run -f -",
		"-f x --extra-create-metadata": "--extra-create-metadata is for drivers of --csi-endpoint and --csi-command",
	} {
		code, _, errOut := command(t, "", append([]string{"run"}, strings.Fields(flags)...)...)
		assert.Equal(t, 2, code)
		assert.Contains(t, errOut, want)
	}
}

// Below /dev the flag gives a block device, for a volume of mode Block and for a hostPath of type BlockDevice.
func TestADiskBelowDevIsABlockDevice(t *testing.T) {
	text, err := os.ReadFile("testdata/local-volume.yaml")
	require.NoError(t, err)
	block := strings.NewReplacer("volumeMode: Filesystem", "volumeMode: Block", "/data/k8s/localpv", "/dev/disk/sdb",
		"storageClassName: local-storage\n  accessModes: [ReadWriteOnce]", "storageClassName: local-storage\n  volumeMode: Block\n  accessModes: [ReadWriteOnce]",
		"volumeMounts: [{name: data, mountPath: /data}]", "volumeDevices: [{name: data, devicePath: /dev/xvda}]").Replace(string(text))
	path := file(t, "block.yaml", block+`
---
apiVersion: v1
kind: Pod
metadata: {name: raw}
spec:
  nodeName: node-1
  containers: [{name: c, image: nginx, volumeMounts: [{name: d, mountPath: /d}]}]
  volumes: [{name: d, hostPath: {path: /dev/disk/sdb, type: BlockDevice}}]
`)
	code, out, errOut := command(t, "", "run", "-f", path, "--disk", "node-1:/dev/disk/sdb", "-o", "table")
	assert.Zero(t, code)
	assert.Empty(t, errOut)
	assert.Regexp(t, `pod/web +1/1 +Running`, out)
	assert.Regexp(t, `pod/raw +1/1 +Running`, out)
	_, out, _ = command(t, "", "run", "-f", path, "--disk", "node-1:/data/sdb", "-o", "table")
	assert.Regexp(t, `pod/web +0/1 +ContainerCreating`, out)
	code, out, errOut = command(t, "cluster disk=node-1:/dev/disk/sdb,node-2:/data/x\n\nsettle quiet\n", "story", "-")
	assert.Zero(t, code, out+errOut)
	code, out, errOut = command(t, "cluster disk=node-9:/dev/sdb\n", "story", "-")
	assert.Equal(t, 1, code)
	assert.Contains(t, out+errOut, `disk node-9:/dev/sdb: there is no node "node-9" (did you mean "node-1"?)`)
}

func TestTheProvisionersThatClassesNameRunAndOthersAreHinted(t *testing.T) {
	for name, config := range map[string][]string{"openebs.io/local": nil, "rancher.io/local-path": nil} {
		path := file(t, "all.yaml", strings.ReplaceAll(manifests, "openebs.io/local", name))
		code, out, errOut := command(t, "", append([]string{"run", "-f", path, "-o", "table"}, config...)...)
		assert.Zero(t, code)
		assert.Empty(t, errOut)
		assert.Regexp(t, `persistentvolumeclaim/data +Bound`, out, name)
		assert.NotContains(t, out, "hint: ")
	}
	path := file(t, "all.yaml", manifests)
	_, out, _ := command(t, "", "run", "-f", path, "--provisioners", "nfs")
	assert.Contains(t, out, "but no such provisioner runs here")
	assert.Contains(t, out, "\n  hint: --provisioners openebs runs it\n")
	path = file(t, "all.yaml", strings.ReplaceAll(manifests, "openebs.io/local", "example.com/shelf"))
	_, out, _ = command(t, "", "run", "-f", path)
	assert.Contains(t, out, "\n  hint: --stand-ins runs a stand-in for example.com/shelf; ")
	path = file(t, "all.yaml", strings.ReplaceAll(manifests, "openebs.io/local", "kubernetes.io/glusterfs"))
	_, out, _ = command(t, "", "run", "-f", path, "--stand-ins")
	assert.NotContains(t, out, "stands in for")
	assert.Contains(t, strings.Join(strings.Fields(out), " "), "no volume plugin matched name: kubernetes.io/glusterfs")
}

func TestAJobCompletesIfItIsSaidWhatItsImageStartsWith(t *testing.T) {
	path := file(t, "job.yaml", `
apiVersion: batch/v1
kind: Job
metadata: {name: fill}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "example.com/fill:v1", args: [a, b]}]}}}
`)
	for _, test := range []struct{ status, flag string }{{"Running", "other=exit 3"}, {"Complete", "example.com/fill=test \"$*\" = \"a b\""}} {
		_, out, errOut := command(t, "", "run", "-f", path, "--entrypoint", test.flag)
		assert.Empty(t, errOut)
		assert.Regexp(t, `job.batch/fill +`+test.status, out)
	}
}

func TestWhatIsNotModelledIsNamedOnceForAllObjects(t *testing.T) {
	const template = "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: nginx}]}}"
	path := file(t, "all.yaml", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {a: b}}, template: `+template+`}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: often}
spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: nginx, livenessProbe: {tcpSocket: {port: 80}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec: {containers: [{name: c, image: nginx, livenessProbe: {tcpSocket: {port: 80}}}, {name: d, image: nginx, livenessProbe: {tcpSocket: {port: 81}}}]}
`)
	code, _, errOut := command(t, "", "run", "-f", path, "-o", "json")
	assert.Zero(t, code)
	assert.Equal(t, "note: HorizontalPodAutoscaler/often: a cluster changes the number of replicas with their load; "+
		"here the number stays as it is: programs take no measurable CPU or memory\n"+
		"note: Pod/a, Pod/b: spec.containers[c].livenessProbe.tcpSocket, spec.containers[d].livenessProbe.tcpSocket: "+
		"a cluster connects to the container, and the probe fails if it does not answer; here there is no network: "+
		"the probe succeeds while the container runs, after its delay and as often as its threshold says\n", errOut)
}

// A pod that does not run at the end is explained in any phase.
func TestRunExplainsAtItsEndAPodThatHasFailed(t *testing.T) {
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: once}\nspec:\n  restartPolicy: Never\n" +
		"  containers: [{name: maker, image: busybox, command: [mkdir, /not/there]}]\n"
	code, out, errOut := command(t, pod, "run", "-f", "-")
	require.Zero(t, code, errOut)
	require.Contains(t, out, "pod default/once is Failed on node node-1\n  container maker exited with 1: Error: mkdir: ")
}

// The commands of README work as they are written there.
func TestTheCommandsOfTheREADMEWork(t *testing.T) {
	t.Chdir("../..")
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var said []string
	for line := range strings.Lines(string(readme)) {
		if args, ok := strings.CutPrefix(line, "go run ./cmd/storagesim "); ok {
			said = append(said, args)
			code, out, errOut := command(t, "", strings.Fields(args)...)
			require.Zero(t, code, "%s: %s", args, errOut)
			require.NotEmpty(t, out, args)
			require.NotContains(t, out, "hint:", "%s: what it needs is there", args)
		}
	}
	require.Greater(t, len(said), 3)
	for _, flag := range []string{"--nodes", "--disk", "--provisioners", "--nfs"} {
		require.Contains(t, strings.Join(said, ""), flag)
	}
}

func TestTheREADMENamesTheProvisionersThatRunByDefault(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, name := range []string{"openebs.io/local", "rancher.io/local-path", "provisioner.test.com/nfs", "csi.storagesim.io"} {
		short, ok := bundled.NameOf(name)
		require.True(t, ok)
		require.Contains(t, strings.Join(strings.Fields(string(readme)), " "), "`"+name+"` ("+short+")")
	}
	require.Len(t, bundled.Names(), 4, "README names them all")
}

func TestTablesWithoutRowsSayWhatTheyWouldShow(t *testing.T) {
	code, out, errOut := command(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "run", "-f", "/dev/stdin", "-o", "table")
	require.Zero(t, code, errOut)
	require.Equal(t, "The tables show StorageClasses, PersistentVolumes, PersistentVolumeClaims, StatefulSets, Deployments, DaemonSets, Jobs, "+
		"Pods and VolumeAttachments; there are none.\n", out)
	code, out, _ = command(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "run", "-f", "/dev/stdin", "-o", "table", "--width", "80")
	require.Zero(t, code)
	require.Equal(t, "The tables show StorageClasses, PersistentVolumes, PersistentVolumeClaims,\n"+
		"  StatefulSets, Deployments, DaemonSets, Jobs, Pods and VolumeAttachments; there\n  are none.\n", out)
}

func TestWhatIsWrongIsWrappedAtTheWidthThatIsAskedFor(t *testing.T) {
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: My_Data}\n" +
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	script := file(t, "a.txt", "settle nobody\n")
	t.Setenv("KUBECONFIG", "")
	for _, c := range []struct {
		in   string
		args []string
	}{
		{claim, []string{"run", "-f", "-"}},
		{"kind: PersistentVolumeClaim\n" + claim, []string{"run", "-f", "-"}},
		{"", []string{"run", "-f", "-", "--csi", strings.Repeat("wrong words ", 20)}},
		{"settle nobody\n", []string{"story", "-"}},
		{"", []string{"story", "--check", script}},
		{"", []string{"story", "-w", script}},
		{"", []string{"story", "-o", "html", script}},
		{"", []string{"explain", "pvc/data"}}, // no server is there
	} {
		_, _, errOut := command(t, c.in, append(c.args, "--width", "70")...)
		assert.Greater(t, strings.Count(errOut, "\n"), 1, c.args)
		for line := range strings.Lines(errOut) {
			assert.LessOrEqual(t, len(line), 71, "%s", c.args)
		}
	}
}

// With --width a story fits: what the script's comments say, and what is wrong with it, are wrapped, and what it has for commands stays as it is.
func TestAStoryFitsTheWidthThatIsAskedFor(t *testing.T) {
	script := "# The first line of this comment is longer than forty columns.\n#   - a list: its second line begins below its first\nsettle\n\n" +
		"expect 'bound at last' get pvc\n"
	code, out, errOut := command(t, script, "story", "-", "--width", "40")
	require.Equal(t, 1, code)
	require.Equal(t, "# The first line of this comment is\n# longer than forty columns.\n"+
		"#   - a list: its second line begins\n#   below its first\nsettle\n----\n\n", out)
	require.Equal(t, "error: standard input:5: expect: \"bound\n    at last get pvc\" is not TEXT in\n    COMMAND; a TEXT with blanks stands\n"+
		"    in quotes; usage: expect [no | only]\n    TEXT in COMMAND...\n", errOut)
	_, out, _ = command(t, script, "story", "-")
	require.Contains(t, out, "# The first line of this comment is longer than forty columns.\n", "unless a width is asked for")
}

func TestAMissingNFSServerIsHinted(t *testing.T) {
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: web, image: b, volumeMounts: [{name: v, mountPath: /v}]}]\n" +
		"  volumes: [{name: v, nfs: {server: 10.0.0.1, path: /data}}]\n"
	_, out, _ := command(t, pod, "run", "-f", "-")
	require.Contains(t, out, "  hint: --nfs 10.0.0.1:/data adds a server that exports it\n")
	_, out, _ = command(t, pod, "run", "-f", "-", "--nfs", "10.0.0.1:/data")
	require.NotContains(t, out, "hint:")
	_, out, _ = command(t, strings.Replace(pod, "10.0.0.1", "fd00::1", 1), "run", "-f", "-")
	require.Contains(t, out, "  hint: --nfs [fd00::1]:/data adds a server that exports it\n")
}

func TestALineBreakInAListOfNodesIsRefused(t *testing.T) {
	for _, verb := range []string{"run", "serve"} {
		code, out, errOut := command(t, "", verb, "--nodes", "a\nb")
		assert.Equal(t, exitUsage, code)
		assert.Empty(t, out)
		assert.Contains(t, errOut, "there is a line break in it; separate names by commas")
	}
}
