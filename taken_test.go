package storagesim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/provisioner/localpath"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// imagePod returns a pod of an image, with a script for an init container and for the main one.
func imagePod(name, image, first, script string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  initContainers: [{name: i, image: " + image + ", command: [sh, -ec, '" +
		first + "']}]\n" +
		"  containers: [{name: c, image: " + image + ", command: [sh, -c, '" + script + "']}]\n"
}

// Programs of images are taken to run only where the configuration says so.
func TestProgramsOfImagesAreTakenToRun(t *testing.T) {
	pods := []string{
		imagePod("zk", "example.com/zookeeper:3", "make-config --x; true", "start-zookeeper --servers=3"), imagePod("typo", "busybox:1.37", "true", "slep 5"),
		imagePod("applet", "docker.io/library/alpine", "true", "httpd -f"), imagePod("condition", "example.com/zookeeper:3", "true", "until zkCli; do sleep 5; done"),
	}
	c := storagesimtest.New(t, storagesim.Config{TakePrograms: true})
	c.Apply(pods...)
	c.RunFor(time.Minute)
	c.RequireRunning("zk", "applet", "condition")
	require.NotEqual(t, v1.PodSucceeded, c.Pod("typo").Status.Phase)
	require.Contains(t, c.Explain("pod/typo"), "slep: not found")
	var taken []string
	for _, d := range c.Trace().Deviations() {
		require.Equal(t, trace.ProgramTaken, d.Situation)
		taken = append(taken, d.About.Name+": "+d.Of)
	}
	require.Equal(t, []string{"zk: program make-config of container i", "zk: program start-zookeeper of container c", "applet: program httpd of container c"},
		taken)
	answer, err := c.Cluster.Machine("pod/zk").Exec("c", "zkCli")
	require.NoError(t, err)
	require.EqualValues(t, 127, answer.ExitCode, "a command of a user is looked for, as in the image")

	strict := storagesimtest.New(t, storagesim.Config{})
	strict.Apply(pods[0])
	strict.RunFor(time.Minute)
	require.Contains(t, strict.Explain("pod/zk"), "make-config: not found")
	require.Empty(t, strict.Trace().Deviations())
}

// A Job whose script calls the program that has the name of its image ends, as one whose script calls any other program of the image.
func TestAJobOfAnImagesOwnProgramEnds(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{TakePrograms: true})
	for name, script := range map[string]string{"mc": "mc mb store/backups && echo done", "setup": "setup --all"} {
		c.Apply(`{apiVersion: batch/v1, kind: Job, metadata: {name: ` + name + `}, spec: {template: {spec: {restartPolicy: OnFailure, containers: [
  {name: c, image: "minio/mc:latest", command: [sh, -c, "` + script + `"]}]}}}}`)
		c.RunFor(time.Minute)
		job, err := c.Client().BatchV1().Jobs("default").Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.EqualValues(t, 1, job.Status.Succeeded, name)
	}
	c.Apply(imagePod("serves", "minio/minio", "true", "minio server /data"))
	c.RunFor(time.Minute)
	c.RequireRunning("serves")
}

// A container that names no command runs the one that its image is said to start with, and its args are that one's.
func TestAnImageStartsWithTheCommandThatTheConfigurationNames(t *testing.T) {
	fill := []string{"sh", "-c", `echo "$@" > /data/x`, "sh"}
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1"), Entrypoints: map[string][]string{
		"example.com/populator": fill, "fails:2": {"sh", "-c", "exit 3"}, "redis": {"sh", "-c", "echo starts; sleep infinity"},
	}})
	pod := func(name, image, more string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {restartPolicy: Never, volumes: [{name: v, hostPath: {path: /srv}}],\n" +
			"  containers: [{name: c, image: '" + image + "', volumeMounts: [{name: v, mountPath: /data}]" + more + "}]}}"
	}
	c.Apply(pod("fills", "example.com/populator:v1.0.1", ", args: [--file, a b]"), pod("digest", "example.com/populator:v1@sha256:"+strings.Repeat("0", 64), ""),
		pod("fails", "fails:2", ""), pod("other-tag", "fails:3", ""), pod("redis", "redis", ""), pod("own", "example.com/populator", `, command: [sh, -c, "exit 4"]`))
	c.RunFor(time.Minute)
	phases := map[string]v1.PodPhase{}
	for _, name := range []string{"fills", "digest", "fails", "other-tag", "redis", "own"} {
		phases[name] = c.Pod(name).Status.Phase
	}
	require.Equal(t, map[string]v1.PodPhase{
		"fills": v1.PodSucceeded, "digest": v1.PodSucceeded, "fails": v1.PodFailed, "other-tag": v1.PodRunning, "redis": v1.PodRunning, "own": v1.PodFailed,
	}, phases)
	require.EqualValues(t, 4, c.Pod("own").Status.ContainerStatuses[0].State.Terminated.ExitCode)
	require.Contains(t, c.Story(), `runs "sh -c echo \"$@\" > /data/x sh --file a b" in pod default/fills`)

	_, err := storagesim.New(storagesim.Config{Entrypoints: map[string][]string{"b": {}, "a": nil, "c": {"sh"}}})
	require.EqualError(t, err, `Config.Entrypoints["a"]: the command is empty`)
}

// The scripts of a provisioner's helper pods are the author's, and a misspelt program in them is not taken for one of the image.
func TestProgramsOfHelperPodsAreNeverTakenToRun(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{TakePrograms: true})
	c.AddProvisionController(localpath.Controller(localpath.Config{}))
	config, err := c.Client().CoreV1().ConfigMaps("local-path-storage").Get(t.Context(), "local-path-config", metav1.GetOptions{})
	require.NoError(t, err)
	config.Data["setup"] = "#!/bin/sh\nset -eu\nmkdri -p \"$VOL_DIR\"\n"
	config.Data["helperPod.yaml"] = strings.Replace(config.Data["helperPod.yaml"], "docker.io/library/busybox", "example.com/tools", 1)
	_, err = c.Client().CoreV1().ConfigMaps("local-path-storage").Update(t.Context(), config, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.Apply("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: made}\nprovisioner: rancher.io/local-path\n"+
		"volumeBindingMode: WaitForFirstConsumer\n",
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], storageClassName: made, resources: {requests: "+
			"{storage: 1Gi}}}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: nginx}], volumes: [{name: v, persistentVolumeClaim: "+
			"{claimName: data}}]}\n")
	c.RunFor(5 * time.Minute)
	require.Contains(t, c.Explain("pvc/data"), "mkdri: not found")
	require.Empty(t, c.Trace().Deviations())
}
