package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	assert.Equal(t, strings.NewReplacer("BAD", bad, "GOOD", good).Replace(`BAD:1: StorageClass/openebs-hostpath: metadata.name: the same object is already at GOOD:1; expected each object once
BAD:13: PersistentVolumeClaim/other: spec.resources.requests.storage: "1GG" is not a quantity (number with unit such as 5Gi, 500M, 1.5T)
BAD:15: Pod/web: metadata.name: the same object is already at GOOD:15; expected each object once
`), errOut)
}

func TestWhatTheServerRefusesIsReportedAndTheRestApplied(t *testing.T) {
	path := file(t, "all.yaml", strings.Replace(manifests, "accessModes: [ReadWriteOnce]", "accessModes: []", 1))
	code, out, errOut := command(t, "", "run", "-f", path, "-o", "table")
	assert.Equal(t, exitError, code)
	assert.Equal(t, path+":7: PersistentVolumeClaim/data: PersistentVolumeClaim \"data\" is invalid: spec.accessModes: Required value: at least 1 access mode is required\n", errOut)
	assert.Contains(t, out, "pod/web")
}

func TestAWrongCommandLineExitsWith2(t *testing.T) {
	for args, want := range map[string]string{
		"rnu":                         `unknown command "rnu"; did you mean run?`,
		"run":                         `nothing to apply: give manifests with -f`,
		"run -f x -o xml":             `-o "xml" is none of story, table, yaml, json`,
		"run -f x --for -1s":          `--for -1s: time does not run backwards`,
		"run -f x --provisioners nfs": `--provisioners: there is no "nfs"; there is openebs`,
		"run -f x --seed x":           `invalid argument "x" for "--seed" flag`,
		"run x":                       `unknown command "x" for "storagesim run"`,
		"run --nope":                  `unknown flag: --nope`,
		"story":                       `requires at least 1 arg(s), only received 0`,
		"story -w --check x":          `-w and --check exclude each other`,
		"conformance":                 `accepts 1 arg(s), received 0`,
		"version x":                   `unknown command "x" for "storagesim version"`,
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
		"conformance /does/not/exist": "no such file or directory",
	} {
		code, _, errOut := command(t, "", strings.Fields(args)...)
		assert.Equal(t, exitError, code, args)
		assert.Contains(t, errOut, want, args)
	}
	code, _, errOut := command(t, "", "run", "-f", file(t, "a.yaml", manifests), "--nodes", "Node_1")
	assert.Equal(t, exitError, code)
	assert.Contains(t, errOut, `"Node_1" is not a node name`)
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
	code, out, _ := command(t, "", "version")
	assert.Zero(t, code)
	assert.Contains(t, out, "behaves as Kubernetes v1.36")
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
	assert.Contains(t, errOut, `b.txt:1: unknown command "nonsense"; there are cluster, settle,`)
}

func TestKeptDirectoriesHoldTheVolumes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nodes")
	code, _, errOut := command(t, "", "run", "-f", file(t, "all.yaml", manifests), "--keep", dir)
	require.Zero(t, code, errOut)
	volumes, err := filepath.Glob(filepath.Join(dir, "node-1/var/openebs/local/pvc-*"))
	require.NoError(t, err)
	assert.Len(t, volumes, 1)
}

func TestInterruptingLeavesNothingBehind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no way to send Ctrl-C to one process")
	}
	binary := filepath.Join(t.TempDir(), "storagesim")
	built, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	manifest := file(t, "all.yaml", manifests)
	loop := file(t, "loop.txt", "apply -f "+manifest+"\n----\n\nrun-for 100000h\n----\n")
	for name, args := range map[string][]string{
		"run":   {"run", "-f", manifest, "--for", "1000000h"},
		"story": {"story", loop},
	} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			cmd := exec.Command(binary, args...)
			cmd.Env = append(os.Environ(), "TMPDIR="+temp)
			var errOut bytes.Buffer
			cmd.Stderr = &errOut
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				found, err := filepath.Glob(filepath.Join(temp, "*", "*", "node-1", "var", "openebs", "local", "pvc-*"))
				return err == nil && len(found) > 0
			}, 30*time.Second, 5*time.Millisecond, "the volume's directory is made")
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			err := cmd.Wait()
			require.Error(t, err, errOut.String())
			assert.Equal(t, interrupted, cmd.ProcessState.ExitCode(), errOut.String())
			entries, err := os.ReadDir(temp)
			require.NoError(t, err)
			assert.Empty(t, entries)
		})
	}
}
