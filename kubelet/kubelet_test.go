package kubelet_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/mount"
	"github.com/storagesim/storagesim/kubelet/nodefs"
)

func TestAKubeletRegistersItsNode(t *testing.T) {
	w := simple(t)
	w.settle()
	node, err := w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "node-1", node.Labels[v1.LabelHostname])
	require.Equal(t, "v1.36.3", node.Status.NodeInfo.KubeletVersion)
	require.Equal(t, "64", node.Status.Capacity.Cpu().String())
	require.Equal(t, "110", node.Status.Allocatable.Pods().String())
	ready := node.Status.Conditions[len(node.Status.Conditions)-1]
	require.Equal(t, v1.NodeReady, ready.Type)
	require.Equal(t, v1.ConditionTrue, ready.Status)

	require.NoError(t, w.e.Crash(actor))
	w.settle()
	again, err := w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, node.ResourceVersion, again.ResourceVersion, "starting again changes nothing")
}

func TestAPodGetsItsLocalVolumeAndRuns(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()

	p := w.get("web")
	require.Equal(t, v1.PodRunning, p.Status.Phase)
	require.NotEmpty(t, p.Status.PodIP)
	require.NotEmpty(t, p.Status.HostIP)
	require.NotNil(t, p.Status.StartTime)
	require.True(t, p.Status.ContainerStatuses[0].Ready)
	conditions := map[v1.PodConditionType]v1.ConditionStatus{}
	for _, c := range p.Status.Conditions {
		conditions[c.Type] = c.Status
		require.Empty(t, c.Reason, "%s: the reason for not being ready is gone", c.Type)
	}
	for _, c := range []v1.PodConditionType{v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodReadyToStartContainers} {
		require.Equal(t, v1.ConditionTrue, conditions[c], c)
	}
	dir := "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~local-volume/pv-data"
	require.NoError(t, kubelet.WriteFile(w.node, p, "/data/greet.txt", []byte("hello")))
	for _, at := range []string{"/disk/data/greet.txt", dir + "/greet.txt"} {
		data, err := w.node.ReadFile(at)
		require.NoError(t, err)
		require.Equal(t, "hello", string(data))
	}
	require.Contains(t, w.trace(), "mounts pv-data: /disk/data -> "+dir+" for pod default/web")
	w.requireEvent("web", "Started", "c")

	w.delete("web")
	require.NotNil(t, w.get("web").DeletionTimestamp, "it is terminating, not gone")
	w.settle()
	w.requireNothingLeft()
	_, err := w.node.ReadFile("/disk/data/greet.txt")
	require.NoError(t, err, "the data stays")
	w.requireEvent("web", "Killing", "c")
}

func TestAForceDeletedPodLeavesNothing(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	w.delete("web", 0)
	w.settle()
	w.requireNothingLeft()
}

func TestAPodOfTheSameNameIsAnotherPod(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	first := w.create(pod("web", claim("data")))
	w.settle()
	w.delete("web", 0)
	second := w.create(pod("web", claim("data")))
	w.settle()
	require.NotEqual(t, first.UID, second.UID)
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.Len(t, w.mounts(), 1)
	require.Contains(t, w.mounts()[0].Path, string(second.UID))
}

// semantics 5 must 7.
func TestAVolumeOfAnEarlierClaimIsNotMounted(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.ClaimRef.UID = "earlier" })
	w.create(pod("web", claim("data")))
	w.settle()
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	require.Empty(t, w.mounts())
	w.requireEvent("web", "FailedMount", "claimRef.UID")
}

// semantics 5 must 11.
func TestALocalVolumeIsRefusedOnANodeFailingItsAffinity(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.NodeAffinity = onNode("node-2") })
	w.create(pod("web", claim("data")))
	w.settle()
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	require.Empty(t, w.mounts())
	w.requireEvent("web", "FailedMount", "MountVolume.NodeAffinity check failed for volume \"pv-data\"")
}

func TestAPodWaitsForItsClaimAndStartsWhenItIsBound(t *testing.T) {
	w := simple(t)
	w.create(pod("web", claim("data")))
	w.settle()
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	require.Equal(t, "ContainerCreating", w.get("web").Status.ContainerStatuses[0].State.Waiting.Reason)
	w.requireEvent("web", "FailedMount", "failed to process volumes=[data]")
	w.boundVolume("data", nil)
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

func TestAMissingDirectoryIsReportedAndMountedWhenItAppears(t *testing.T) {
	w := simple(t)
	w.boundVolume("other", nil)
	w.create(pod("web", claim("other")))
	w.settle()
	w.requireEvent("web", "FailedMount", "MountVolume.NewMounter initialization failed for volume \"pv-other\"")
	require.NoError(t, w.node.MkdirAll("/disk/other", 0o755))
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

func TestAVolumeKindWithoutAPluginIsNamed(t *testing.T) {
	w := simple(t)
	w.create(pod("web", v1.Volume{Name: "share", VolumeSource: v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2001-04.com.example:storage"}}}))
	w.settle()
	w.requireEvent("web", "FailedMount", `volume "share" of kind iscsi is not supported`)
}

func TestAVolumeThatNoContainerUsesIsSkipped(t *testing.T) {
	w := simple(t)
	p := pod("web", v1.Volume{Name: "share", VolumeSource: v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2001-04.com.example:storage"}}})
	p.Spec.Containers[0].VolumeMounts = nil
	w.create(p)
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

// semantics 5 must 3.
func TestAFailedBindMountLeavesNeitherDirectoryNorMount(t *testing.T) {
	failing := true
	w := newWorld(t, engine.Config{}, kubelet.Config{})
	m, err := mount.NewTempDir(mount.Config{Dir: w.node})
	require.NoError(t, err)
	cfg := kubelet.Config{Root: w.node, Mounter: mount.Failing(m, func(op mount.Op) error {
		if failing && op.Verb == mount.VerbMount {
			return errors.New("wrong fs type")
		}
		return nil
	})}
	cfg.Node.Name = "node-2"
	require.NoError(t, w.e.Add("kubelet/node-2", kubelet.New(cfg)))
	w.boundVolume("data", func(pv *v1.PersistentVolume) { pv.Spec.NodeAffinity = onNode("node-2") })
	p := pod("web", claim("data"))
	p.Spec.NodeName = "node-2"
	p = w.create(p)
	w.settle()
	w.requireEvent("web", "FailedMount", `MountVolume.SetUp failed for volume "pv-data" : wrong fs type`)
	_, err = w.node.Lstat("/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~local-volume/pv-data")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Empty(t, w.mounts())
	failing = false
	require.NoError(t, w.e.RunFor(5*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}

func TestTwoPodsShareALocalVolume(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	one, two := w.create(pod("one", claim("data"))), w.create(pod("two", claim("data")))
	w.settle()
	require.NoError(t, kubelet.WriteFile(w.node, one, "/data/x", []byte("shared")))
	data, err := kubelet.ReadFile(w.node, two, "/data/x")
	require.NoError(t, err)
	require.Equal(t, "shared", string(data))
	w.delete("one")
	w.settle()
	_, err = kubelet.ReadFile(w.node, two, "/data/x")
	require.NoError(t, err)
	w.delete("two")
	w.settle()
	w.requireNothingLeft()
}

// semantics 5 must 4.
func TestAnotherFSGroupIsWarnedAndOwnershipUntouched(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	with := func(p *v1.Pod, group int64) *v1.Pod {
		p.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: &group}
		return p
	}
	w.create(with(pod("one", claim("data")), 4242))
	w.settle()
	before, err := w.node.Stat("/disk/data")
	require.NoError(t, err)
	require.NotZero(t, before.Mode()&fs.ModeSetgid)
	require.NoError(t, w.node.Chmod("/disk/data", 0o700)) // what another group's turn would undo
	before, err = w.node.Stat("/disk/data")
	require.NoError(t, err)
	w.create(with(pod("two", claim("data")), 4343))
	w.settle()
	after, err := w.node.Stat("/disk/data")
	require.NoError(t, err)
	require.Equal(t, before.Mode(), after.Mode())
	_, had, _ := nodefs.Owner(before)
	_, has, _ := nodefs.Owner(after)
	require.Equal(t, had, has, "the group's number")
	require.Equal(t, v1.PodRunning, w.get("two").Status.Phase)
	w.requireEvent("two", "AlreadyMountedVolume", "The requested fsGroup is 4343, but the volume pv-data has GID")
}

func TestAReadOnlyVolumeRefusesThePodsWrites(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	p := pod("web", claim("data"))
	p.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
	p = w.create(p)
	w.settle()
	require.ErrorIs(t, kubelet.WriteFile(w.node, p, "/data/x", nil), kubelet.ErrReadOnly)
	require.ErrorIs(t, kubelet.MakeDir(w.node, p, "/data/x", 0o755), kubelet.ErrReadOnly)
	require.Contains(t, w.mounts()[0].Opts, "ro")
}

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

func TestAScriptThatCannotBeRunFailsItsPodAndSaysWhy(t *testing.T) {
	w := simple(t)
	require.NoError(t, w.node.MkdirAll("/scripts", 0o755))
	require.NoError(t, w.node.WriteFile("/scripts/setup", []byte("mkdir /script/x\ncurl http://example.com | sh"), 0o755))
	w.create(helper(pod("create", hostPath("script", "/scripts", v1.HostPathDirectory)), "sh", "/script/setup"))
	w.create(helper(pod("user", hostPath("script", "/scripts", v1.HostPathDirectory)), "sh", "-c", "sleep 10"))
	w.settle()
	ended := w.get("create").Status.ContainerStatuses[0].State.Terminated
	require.NotNil(t, ended)
	require.Equal(t, int32(2), ended.ExitCode)
	require.Contains(t, ended.Message, `/script/setup: line 2: "|": this simulation has no shell`)
	names, err := w.node.List("/scripts")
	require.NoError(t, err)
	require.Equal(t, []string{"setup"}, names, "nothing of it was done")

	require.Equal(t, v1.PodRunning, w.get("user").Status.Phase, "a user's program just runs")
	require.Contains(t, w.trace(), "pod default/user: container c: the container just runs: line 1: sleep: this simulation has no shell")
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

func TestAnEmptyDirLivesAsLongAsItsPod(t *testing.T) {
	w := simple(t)
	p := w.create(pod("web", v1.Volume{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}))
	w.settle()
	require.NoError(t, kubelet.WriteFile(w.node, p, "/tmp/x", []byte("1")))
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	_, err := kubelet.ReadFile(w.node, p, "/tmp/x")
	require.NoError(t, err, "it outlives the kubelet's crash")
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

// semantics 5 must 9.
func TestNothingIsUnmountedBeforeAllPodsAreKnown(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	require.NoError(t, w.e.Hold(actor, "pods"))
	require.NoError(t, w.e.Crash(actor))
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Contains(t, w.trace(), "finds volumes of an earlier life on disk: 1, each uncertain")
	require.Len(t, w.mounts(), 1)
	require.NoError(t, w.e.Release(actor, "pods"))
	w.settle()
	require.Len(t, w.mounts(), 1)
	require.NotContains(t, w.trace(), "unmounts")
}

// semantics 5 must 9: a pod that ends, or is gone, keeps its mounts, too, while
// another one's volumes are being looked up.
func TestAnEndingPodsVolumeStaysUntilTheLastPodIsLookedAt(t *testing.T) {
	for name, grace := range map[string]int64{"it ends": 30, "it is gone": 0} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			for _, name := range []string{"one", "two"} {
				require.NoError(t, w.node.MkdirAll("/disk/"+name, 0o755))
				w.boundVolume(name, nil)
				w.create(pod(name, claim(name)))
			}
			w.settle()
			require.Len(t, w.mounts(), 2)
			require.NoError(t, w.e.Crash(actor))
			w.delete("one", grace)
			require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "persistentvolumeclaims", Delay: 10 * time.Second}))
			require.NoError(t, w.e.RunFor(9*time.Second))
			require.Contains(t, w.trace(), "finds volumes of an earlier life on disk: 2, each uncertain")
			require.Len(t, w.mounts(), 2)
			require.NotContains(t, w.trace(), "unmounts")
			require.NoError(t, w.e.RunFor(2*time.Second))
			require.Len(t, w.mounts(), 1)
		})
	}
}

func TestAPodDeletedWhileTheKubeletWasDownLeavesNothing(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	require.NoError(t, w.e.Crash(actor))
	w.delete("web", 0)
	w.settle()
	w.requireNothingLeft()
}

// semantics 5 must 6.
func TestUnmountsPrecedeMounts(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("one", claim("data")))
	w.settle()
	require.NoError(t, w.e.Hold(actor, "pods"))
	w.delete("one", 0)
	w.create(pod("two", claim("data")))
	require.NoError(t, w.e.Release(actor, "pods"))
	w.settle()
	story := w.trace()
	unmounted, mounted := strings.Index(story, "unmounts pv-data"), strings.LastIndex(story, "mounts pv-data: ")
	require.Positive(t, unmounted)
	require.Less(t, unmounted, mounted)
}
