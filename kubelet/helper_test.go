package kubelet_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// semantics 4.1: what OpenEBS' helper pods do.
func TestHelperPodsMakeAndRemoveDirectories(t *testing.T) {
	w := simple(t)
	parent := hostPath("data", "/var/openebs/local", v1.HostPathDirectoryOrCreate)
	w.create(helper(pod("init", parent), "mkdir", "-m", "0777", "-p", "/data/pvc-1"))
	w.settle()
	p := w.get("init")
	require.Equal(t, v1.PodSucceeded, p.Status.Phase)
	require.Equal(t, int32(0), p.Status.ContainerStatuses[0].State.Terminated.ExitCode)
	info, err := w.node.Stat("/var/openebs/local/pvc-1")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o777), info.Mode().Perm())
	require.Contains(t, w.trace(), `runs "mkdir -m 0777 -p /data/pvc-1" in pod default/init`)

	require.NoError(t, w.node.WriteFile("/var/openebs/local/pvc-1/x", nil, 0o644))
	w.create(helper(pod("cleanup", parent), "rm", "-rf", "/data/pvc-1"))
	w.settle()
	require.Equal(t, v1.PodSucceeded, w.get("cleanup").Status.Phase)
	names, err := w.node.List("/var/openebs/local")
	require.NoError(t, err)
	require.Empty(t, names)
	w.delete("init")
	w.delete("cleanup")
	w.settle()
	w.requireNothingLeft()
}

func TestAScriptOfAHelperPodIsRunWithTheContainersEnvironment(t *testing.T) {
	w := simple(t)
	require.NoError(t, w.node.MkdirAll("/scripts", 0o755))
	require.NoError(t, w.node.WriteFile("/scripts/setup", []byte("#!/bin/sh\nset -eu\nmkdir -m 0777 -p \"$VOL_DIR\"\n"), 0o755))
	p := helper(pod("create", hostPath("data", "/opt/local", v1.HostPathDirectoryOrCreate), hostPath("script", "/scripts", v1.HostPathDirectory)),
		"/bin/sh", "/script/setup", "-p", "/data/pvc-1")
	p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "VOL_DIR", Value: "/data/pvc-1"}}
	w.create(p)
	w.settle()
	require.Equal(t, v1.PodSucceeded, w.get("create").Status.Phase)
	info, err := w.node.Stat("/opt/local/pvc-1")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o777), info.Mode().Perm())
	require.Contains(t, w.trace(), `runs "/bin/sh /script/setup -p /data/pvc-1" in pod default/create`)
	require.Contains(t, w.trace(), `runs "mkdir -m 0777 -p /data/pvc-1" in pod default/create`)
}

func TestAScriptThatCannotBeReadFailsItsPodAndSaysWhy(t *testing.T) {
	for script, want := range map[string]struct {
		code    int32
		message string
		files   []string
	}{
		"mkdir /script/x\ncurl http://example.com": {127, "/script/setup: curl: not found", []string{"setup", "x/"}},
		"mkdir /script/x\nif true":                 {2, "/script/setup: line 2: syntax error", []string{"setup"}},
		"mkdir /script/x\nb=(1 2)":                 {2, "/script/setup: line 2: syntax error: arrays: not in the language of sh", []string{"setup"}},
		"mkdir /script/x\necho x <> f":             {2, "/script/setup: line 2: the redirection <> is not supported", []string{"setup"}},
	} {
		w := simple(t)
		require.NoError(t, w.node.MkdirAll("/scripts", 0o755))
		require.NoError(t, w.node.WriteFile("/scripts/setup", []byte(script), 0o755))
		w.create(helper(pod("create", hostPath("script", "/scripts", v1.HostPathDirectory)), "sh", "/script/setup"))
		w.settle()
		ended := w.get("create").Status.ContainerStatuses[0].State.Terminated
		require.NotNil(t, ended)
		require.Equal(t, want.code, ended.ExitCode)
		require.Contains(t, ended.Message, want.message)
		names, err := w.node.List("/scripts")
		require.NoError(t, err)
		require.Equal(t, want.files, names)
	}
}

func TestAFailingCommandFailsThePod(t *testing.T) {
	for name, argv := range map[string][]string{
		"a path in no volume":       {"mkdir", "/elsewhere/x"},
		"steps back out of one":     {"rm", "-rf", "/data/../etc"},
		"a missing parent":          {"mkdir", "/data/a/b"},
		"an unknown flag":           {"rm", "--one-file-system", "/data/x"},
		"a directory without -r":    {"rm", "/data/dir"},
		"the volume itself":         {"rm", "-rf", "/data"},
		"nothing to do it to":       {"mkdir", "-p"},
		"a bad mode":                {"mkdir", "-m", "u+q", "/data/x"},
		"a link out of the volume":  {"rm", "-rf", "/data/out/keep"},
		"a missing file without -f": {"rm", "/data/none"},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			require.NoError(t, w.node.MkdirAll("/srv/dir", 0o755))
			require.NoError(t, w.node.MkdirAll("/etc/keep", 0o755))
			_, err := w.node.Symlink("/etc", "/srv/out")
			require.NoError(t, err)
			w.create(helper(pod("helper", hostPath("data", "/srv", v1.HostPathDirectory)), argv...))
			w.settle()
			p := w.get("helper")
			require.Equal(t, v1.PodFailed, p.Status.Phase)
			ended := p.Status.ContainerStatuses[0].State.Terminated
			require.Equal(t, int32(1), ended.ExitCode)
			require.NotEmpty(t, ended.Message)
			_, err = w.node.Stat("/etc/keep")
			require.NoError(t, err)
		})
	}
}

func TestAFailingCommandWithOnFailureIsRunAgain(t *testing.T) {
	w := simple(t)
	p := helper(pod("helper", hostPath("data", "/srv", v1.HostPathDirectoryOrCreate)), "mkdir", "/data/a/b")
	p.Spec.RestartPolicy = v1.RestartPolicyOnFailure
	w.create(p)
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("helper").Status.Phase)
	require.NoError(t, w.node.MkdirAll("/srv/a", 0o755))
	require.NoError(t, w.e.RunFor(10*time.Minute))
	p = w.get("helper")
	require.Equal(t, v1.PodSucceeded, p.Status.Phase)
	require.NotZero(t, p.Status.ContainerStatuses[0].RestartCount)
}
