package runtime_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/storagesimtest"
)

// podOf returns a pod on node-1 with containers c and d and an emptyDir at /data.
func podOf(name, commandOfC string) string {
	container := func(name, command string) string {
		return `{name: ` + name + `, image: busybox, command: ` + command + `, volumeMounts: [{name: data, mountPath: /data}]}`
	}
	return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {nodeName: node-1, volumes: [{name: data, emptyDir: {}}],
  containers: [` + container("c", commandOfC) + `, ` + container("d", "[sleep, infinity]") + `]}}`
}

const prints = `[sh, -c, "echo begins $HOSTNAME; sleep 30; echo fails; exit 3"]`

func memory(t *testing.T) *storagesimtest.Cluster {
	t.Helper()
	return storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
}

func TestACommandIsRunInAContainerOfAPod(t *testing.T) {
	c := memory(t)
	c.Apply(podOf("web", "[sleep, infinity]"))
	c.Settle()
	result, err := c.Cluster.Machine("pod/web").Exec("", "sh", "-c", "echo kept > /data/x; hostname; echo oops >&2; exit 4")
	require.NoError(t, err)
	require.Equal(t, storagesim.ExecResult{Stdout: "web\n", Stderr: "oops\n", ExitCode: 4}, result)
	result, err = c.Cluster.Machine("pod/default/web").Exec("d", "cat", "/data/x")
	require.NoError(t, err)
	require.Equal(t, storagesim.ExecResult{Stdout: "kept\n"}, result)
	require.Contains(t, c.Story(), `runs "sh -c`)
}

func TestVirtualTimePassesForEverybodyWhileACommandSleeps(t *testing.T) {
	c := memory(t)
	c.Apply(podOf("web", `[sh, -c, "while true; do echo x >> /data/x; sleep 60; done"]`))
	c.Settle()
	began := c.Now()
	result, err := c.Cluster.Machine("pod/web").Exec("d", "sh", "-c", "sleep 300; wc -l < /data/x")
	require.NoError(t, err)
	require.Equal(t, 5*time.Minute, c.Now().Sub(began))
	require.Contains(t, []string{"5", "6"}, strings.TrimSpace(result.Stdout))

	for _, command := range [][]string{{"sleep", "infinity"}, {"tail", "-f", "/data/x"}, {"sh", "-c", "while true; do sleep 3600; done"}} {
		_, err = c.Cluster.Machine("pod/web").Exec("d", command...)
		require.EqualError(t, err, "the command has not ended after 24h0m0s of virtual time, or waits for ever; it was stopped")
	}
}

func TestACommandReadsAndWritesStreams(t *testing.T) {
	c := memory(t)
	c.Apply(podOf("web", "[sleep, infinity]"))
	c.Settle()
	var out bytes.Buffer
	code, err := c.Cluster.Machine("pod/web").ExecStreams("c", runtime.ExecConfig{
		Command: []string{"sh", "-c", "while read line; do echo \"<$line>\"; done; cat /nothing"},
		Stdin:   strings.NewReader("one\ntwo\n"), Stdout: &out, Stderr: &out,
	})
	require.NoError(t, err)
	require.EqualValues(t, 1, code)
	require.True(t, strings.HasPrefix(out.String(), "<one>\n<two>\ncat: "), out.String())
}

// Upstream: pkg/registry/core/pod/strategy.go, kubelet_pods.go GetExec, kubectl exec, v1.37.
func TestWhatCannotBeRunInAContainerIsRefusedAndSaysWhy(t *testing.T) {
	c := memory(t)
	c.Apply(podOf("web", "[sh, -c, 'exit 1']"))
	c.Apply(strings.Replace(podOf("unplaced", "[sleep, '1']"), "nodeName: node-1, ", "nodeSelector: {'no': such}, ", 1))
	c.Apply(strings.Replace(podOf("done", "['true']"), "spec: {", "spec: {restartPolicy: Never, ", 1))
	c.Settle()
	c.Apply(strings.Replace(podOf("lost", "[sleep, '1']"), "node-1", "node-9", 1))
	_, err := c.Cluster.Machine("pod/done").Exec("d", "true")
	require.NoError(t, err)
	for _, test := range []struct {
		pod, container string
		command        []string
		want           string
	}{
		{"wbe", "", []string{"ls"}, `pods "wbe" not found`},
		{"web", "e", []string{"ls"}, `container e is not valid for pod web; expected one of c, d`},
		{"web", "c", []string{"ls"}, `unable to upgrade connection: container not found ("c"): it waits: CrashLoopBackOff`},
		{"done", "c", []string{"ls"}, `unable to upgrade connection: container not found ("c"): it has ended with exit code 0`},
		{"web", "d", nil, `you must specify at least one command for the container`},
		{"unplaced", "", []string{"ls"}, `pod unplaced does not have a host assigned`},
		{"lost", "", []string{"ls"}, `no node is called "node-9"`},
	} {
		_, err := c.Cluster.Machine("pod/"+test.pod).Exec(test.container, test.command...)
		require.ErrorContains(t, err, test.want)
	}
	result, err := c.Cluster.Machine("pod/web").Exec("d", "catt", "/data/x")
	require.NoError(t, err)
	require.EqualValues(t, 127, result.ExitCode)
	require.Contains(t, result.Stderr,
		`catt: not found; this simulation has no such program, and its image is not known to start with it (did you mean "cat"?); expected one of [, ash,`)

	require.NoError(t, c.Cluster.Stop("kubelet/node-1"))
	_, err = c.Cluster.Machine("pod/web").Exec("d", "ls")
	require.Regexp(t, `^error dialing backend: dial tcp 172\.18\.\d+\.\d+:10250: connect: connection refused$`, err.Error())
	_, err = c.Cluster.Machine("pod/web").Logs("d", false)
	require.Regexp(t, `^Get "https://172\.18\.(\d+\.\d+):10250/containerLogs/default/web/d": dial tcp 172\.18\.(\d+\.\d+):10250: connect: connection refused$`,
		err.Error())
}

func TestACommandIsStoppedWhenItsContainerOrItsKubeletGoesMeanwhile(t *testing.T) {
	c := memory(t)
	c.Apply(podOf("web", "[sleep, '100']"))
	c.Settle()
	result, err := c.Cluster.Machine("pod/web").Exec("c", "sleep", "200")
	require.NoError(t, err)
	require.EqualValues(t, 137, result.ExitCode, "the container has ended meanwhile")

	require.NoError(t, c.Cluster.Inject(engine.Fault{Actor: "kubelet/node-1", Verb: "patch", Resource: "pods/status", Crash: true, Restart: time.Hour}))
	_, err = c.Cluster.Machine("pod/web").Exec("d", "sleep", "300")
	require.ErrorContains(t, err, "the connection to the container was lost, and the command stopped: dial tcp 172.18.")
}

func TestTheLogsOfAContainerAndOfTheOneBeforeIt(t *testing.T) {
	c := memory(t)
	c.Apply(podOf("web", prints))
	c.Settle()
	c.RunFor(10 * time.Second)
	text, err := c.Cluster.Machine("pod/web").Logs("c", false)
	require.NoError(t, err)
	require.Equal(t, "begins web\n", text)
	_, err = c.Cluster.Machine("pod/web").Logs("c", true)
	require.EqualError(t, err, `previous terminated container "c" in pod "web" not found`)
	c.RunFor(35 * time.Second) // it has failed, and runs again
	text, err = c.Cluster.Machine("pod/web").Logs("", true)
	require.NoError(t, err)
	require.Equal(t, "begins web\nfails\n", text)
	_, err = c.Cluster.Machine("pod/web").Logs("e", false)
	require.ErrorContains(t, err, `container e is not valid for pod web; expected one of c, d`)

	c.Apply(strings.Replace(podOf("never", "[sleep, '1']"), "image: busybox", "image: mine, imagePullPolicy: Never", 1))
	c.Settle()
	_, err = c.Cluster.Machine("pod/never").Logs("c", false)
	require.EqualError(t, err, `container "c" in pod "never" is waiting to start: ErrImageNeverPull`)
}

func TestACommandSendsTheContainersProgramSIGTERM(t *testing.T) {
	server := `{apiVersion: v1, kind: Pod, metadata: {name: server}, spec: {nodeName: node-1, volumes: [{name: data, emptyDir: {}}],
  containers: [{name: c, image: redis, volumeMounts: [{name: data, mountPath: /data}]}]}}`
	shared := strings.Replace(strings.ReplaceAll(server, "server", "shared"), "nodeName", "shareProcessNamespace: true, nodeName", 1)
	for name, test := range map[string]struct {
		pod, script string
		restarts    int32
		code        int32 // of the container
		result      storagesim.ExecResult
	}{
		"a server ends":                  {server, "echo kept > /data/x; kill 1; echo on", 1, 0, storagesim.ExecResult{Stdout: "on\n"}},
		"the program kill does the same": {server, "env kill -TERM 1", 1, 0, storagesim.ExecResult{}},
		"which knows no other process": {
			server, "env kill 77; env kill -WHAT 1", 0, 0, storagesim.ExecResult{
				Stderr:   "kill: can't kill pid 77: No such process\nkill: a signal (HUP, KILL, USR1, USR2, TERM or 0) and the number of a process are wanted\n",
				ExitCode: 2,
			},
		},
		"a shell runs its trap": {
			podOf("traps", `[sh, -c, "trap 'exit 3' TERM; while true; do sleep 1; done"]`), "kill -s TERM 1", 1, 3, storagesim.ExecResult{},
		},
		"a shell that waits is woken": {
			podOf("waits", `[sh, -c, "trap 'exit 4' TERM; sleep infinity & wait"]`), "kill -TERM 1; sleep 30; echo never", 1, 4, storagesim.ExecResult{ExitCode: 137},
		},
		"sleep ignores it":                         {podOf("sleeps", "[sleep, infinity]"), "kill 1; kill -9 1; kill -0 1", 0, 0, storagesim.ExecResult{}},
		"the first process is another container's": {shared, "kill 1", 0, 0, storagesim.ExecResult{}},
		"a command may end itself": {
			podOf("itself", "[sleep, infinity]"), "sleep 60 & kill $!; wait $!; echo $?; trap 'echo never' EXIT; kill $$; echo never", 0, 0,
			storagesim.ExecResult{Stdout: "143\n", ExitCode: 143},
		},
		"or handle the signal": {
			podOf("handles", "[sleep, infinity]"), "trap 'echo handled' TERM; kill $$; echo on", 0, 0, storagesim.ExecResult{Stdout: "handled\non\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := memory(t)
			c.Apply(test.pod)
			c.Settle()
			var pod string
			for _, name := range []string{"server", "shared", "traps", "waits", "sleeps", "itself", "handles"} {
				if strings.Contains(test.pod, "{name: "+name+"}") {
					pod = name
				}
			}
			result, err := c.Cluster.Machine("pod/"+pod).Exec("c", "sh", "-c", test.script)
			require.NoError(t, err)
			require.Equal(t, test.result, result)
			c.RunFor(5 * time.Second)
			status := c.Pod(pod).Status.ContainerStatuses[0]
			require.Equal(t, test.restarts, status.RestartCount)
			require.NotNil(t, status.State.Running)
			if test.restarts > 0 {
				require.Equal(t, test.code, status.LastTerminationState.Terminated.ExitCode)
				require.Contains(t, c.Story(), "container c gets SIGTERM from a command beside it")
			}
		})
	}
}
