package kubelet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/trace"
)

// writes returns the kubelet's writes to objects of a name, "patch pods/status" and so on,
// each with what it changed.
func (w *world) writes(name string) (list []string) { return w.writesSince(name, 0) }

func (w *world) writesSince(name string, entries int) (list []string) {
	w.t.Helper()
	for _, entry := range w.e.Trace().Entries()[entries:] {
		write, ok := entry.Record.(trace.Write)
		if !ok || entry.Actor != actor || write.Name != name || write.Err != nil {
			continue
		}
		text := write.Verb + " " + strings.TrimSuffix(write.Resource.Resource+"/"+write.Subresource, "/")
		for _, c := range write.Changes() {
			text += " " + strings.Join(c.Path, ".")
		}
		list = append(list, text)
	}
	return list
}

func conditions(p *v1.Pod) (list []string) {
	for _, c := range p.Status.Conditions {
		text := fmt.Sprintf("%s=%s", c.Type, c.Status)
		if c.Reason != "" {
			text += " " + c.Reason + ": " + c.Message
		}
		list = append(list, strings.TrimSuffix(text, ": "))
	}
	return list
}

const pendingWrite = "patch pods/status status.conditions status.containerStatuses status.hostIP status.hostIPs status.resources status.startTime"

// Conformance: full/k19_two_pods_one_local.
func TestAPodIsToldThreeTimesUntilItRunsAndTwiceWhenItEnds(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	p := w.get("web")
	require.Equal(t, []string{
		"PodReadyToStartContainers=True", "Initialized=True", "Ready=True", "ContainersReady=True", "PodScheduled=True",
	}, conditions(p))
	require.Equal(t, p.Generation, p.Status.ObservedGeneration)
	running := []string{
		pendingWrite, "patch pods/status status.conditions",
		"patch pods/status status.conditions status.containerStatuses status.phase status.podIP status.podIPs",
	}
	require.Equal(t, running, w.writes("web"))
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.Equal(t, running, w.writes("web"), "the kubelet's next life has nothing to add")
	w.delete("web")
	w.settle()
	require.Equal(t, append(running,
		"patch pods/status", // the generation that the deletion made
		"patch pods/status status.conditions status.containerStatuses status.phase",
		"delete pods metadata.deletionGracePeriodSeconds metadata.deletionTimestamp",
	), normalDeletion(w.writes("web")))
	w.requireNothingLeft()
}

// normalDeletion says of a deletion the same whatever the server changed before it.
func normalDeletion(writes []string) []string {
	last := &writes[len(writes)-1]
	if strings.HasPrefix(*last, "delete pods") {
		*last = "delete pods metadata.deletionGracePeriodSeconds metadata.deletionTimestamp"
	}
	return writes
}

// Conformance: full/k17_local_dir_missing, the first status.
func TestAContainerThatWaitsIsDescribedInFull(t *testing.T) {
	w := simple(t)
	w.boundVolume("other", nil) // whose directory is missing
	p := pod("web", claim("other"))
	p.Spec.Containers[0].VolumeMounts[0].ReadOnly = true
	w.create(p)
	w.settle()
	p = w.get("web")
	no, disabled := false, v1.RecursiveReadOnlyDisabled
	require.Equal(t, []v1.ContainerStatus{{
		Name: "c", Image: "busybox", Started: &no,
		State:        v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}},
		VolumeMounts: []v1.VolumeMountStatus{{Name: "other", MountPath: "/other", ReadOnly: true, RecursiveReadOnly: &disabled}},
	}}, p.Status.ContainerStatuses)
	const unready = " ContainersNotReady: containers with unready status: [c]"
	require.Equal(t, []string{
		"PodReadyToStartContainers=False PodSandboxNotReady: no pod sandbox exists", "Initialized=True", "Ready=False" + unready, "ContainersReady=False" + unready,
		"PodScheduled=True",
	}, conditions(p))
	require.Equal(t, &v1.ResourceRequirements{}, p.Status.Resources)
	w.requireEvent("web", "FailedMount", `MountVolume.NewMounter initialization failed for volume "pv-other" : path "/disk/other" does not exist`)
}

// Conformance: full/k24_deleted_while_configmap_missing.
func TestAPodThatNeverStartedEndsFailed(t *testing.T) {
	for name, init := range map[string]bool{"": false, "with an init container": true} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			p := pod("web", v1.Volume{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{
				LocalObjectReference: v1.LocalObjectReference{Name: "conf"},
			}}})
			if init {
				p.Spec.InitContainers = []v1.Container{{Name: "first", Image: "busybox"}}
			}
			p.Finalizers = []string{"example.com/look"} // to look at it when the kubelet is done
			w.create(p)
			w.settle()
			w.requireEvent("web", "FailedMount", `MountVolume.SetUp failed for volume "conf" : configmap "conf" not found`)
			before := conditions(w.get("web"))
			w.delete("web")
			w.settle()
			p = w.get("web")
			require.Equal(t, v1.PodFailed, p.Status.Phase)
			require.Equal(t, before, conditions(p), "they stay as they are")
			unknown := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
				ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated",
			}}
			writes := w.writes("web")
			changed := "status.containerStatuses"
			if init {
				require.Equal(t, unknown, p.Status.InitContainerStatuses[0].State)
				require.NotNil(t, p.Status.ContainerStatuses[0].State.Waiting, "it never had its turn")
				changed = "status.initContainerStatuses"
			} else {
				require.Equal(t, unknown, p.Status.ContainerStatuses[0].State)
			}
			require.Equal(t, []string{"patch pods/status", "patch pods/status " + changed + " status.phase"}, writes[1:3])
			require.Contains(t, writes[3], "delete pods")
			require.NotContains(t, strings.Join(w.events("web"), "\n"), "Killing")
		})
	}
}

func TestContainersAreListedInOrderOfNameAndInitContainersInThePods(t *testing.T) {
	w := simple(t)
	p := pod("web")
	p.Spec.Containers = []v1.Container{{Name: "z", Image: "busybox"}, {Name: "a", Image: "busybox"}}
	p.Spec.InitContainers = []v1.Container{{Name: "second", Image: "busybox"}, {Name: "first", Image: "busybox"}}
	p.Spec.Volumes = []v1.Volume{claim("none")}
	p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "none", MountPath: "/none"}}
	w.create(p)
	w.settle()
	s := w.get("web").Status
	require.Equal(t, []string{"a", "z"}, []string{s.ContainerStatuses[0].Name, s.ContainerStatuses[1].Name})
	require.Equal(t, []string{"second", "first"}, []string{s.InitContainerStatuses[0].Name, s.InitContainerStatuses[1].Name})
	require.Contains(t, conditions(w.get("web")), "Ready=False ContainersNotReady: containers with unready status: [z a]")
	require.Contains(t, conditions(w.get("web")), "Initialized=False ContainersNotInitialized: containers with incomplete status: [second first]")
}

func TestAReadinessGateKeepsAPodFromBeingReady(t *testing.T) {
	w := simple(t)
	p := pod("web")
	p.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/open"}}
	w.create(p)
	w.settle()
	p = w.get("web")
	require.Contains(t, conditions(p), `Ready=False ReadinessGatesNotReady: corresponding condition of pod readiness gate "example.com/open" does not exist.`)
	p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: "example.com/open", Status: v1.ConditionTrue})
	_, err := w.user.CoreV1().Pods("default").UpdateStatus(context.Background(), p, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.settle()
	require.Contains(t, conditions(w.get("web")), "Ready=True")
}

// Upstream: kubelet_pods.go convertContainerStatusResources and convertToAPIPodLevelResourcesStatus, v1.37.2. Conformance: made/resources.
func TestAKubeletOfUpstreamsTestsKnowsNoCgroups(t *testing.T) {
	list := func(cpu, memory string) v1.ResourceList {
		l := v1.ResourceList{}
		if cpu != "" {
			l[v1.ResourceCPU] = apiresource.MustParse(cpu)
		}
		if memory != "" {
			l[v1.ResourceMemory] = apiresource.MustParse(memory)
		}
		return l
	}
	same := func(want, got v1.ResourceList, of string) {
		t.Helper()
		require.True(t, semantic.Equal(want, got), "%s: wanted %v, got %v", of, want, got)
	}
	for fake, memory := range map[bool]string{true: "0", false: ""} {
		w := simple(t)
		if fake {
			w = fakeRuntime(t)
		}
		p := pod("web")
		p.Finalizers = []string{"example.com/stays"}
		p.Spec.Containers[0].Resources.Requests = list("1", "")
		p.Spec.Containers[0].Resources.Limits = list("2", "")
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "d", Image: "busybox", Resources: v1.ResourceRequirements{Requests: list("", "1Mi")}})
		w.create(p)
		w.settle()
		require.NoError(t, w.e.Crash(actor))
		w.settle()
		p = w.get("web")
		same(list("1", memory), p.Status.ContainerStatuses[0].Resources.Requests, "a container that runs")
		same(list("2", memory), p.Status.ContainerStatuses[0].Resources.Limits, "a container that runs")
		same(list("", "1Mi"), p.Status.ContainerStatuses[1].Resources.Requests, "the other container")
		same(list("1", "1Mi"), p.Status.Resources.Requests, "the pod that runs")
		w.delete("web")
		w.settle()
		p = w.get("web")
		same(list("1", ""), p.Status.ContainerStatuses[0].Resources.Requests, "a container that has ended")
		if fake {
			same(list("", "1Mi"), p.Status.Resources.Requests, "a pod that has ended without a cgroup")
			same(list("", ""), p.Status.Resources.Limits, "a pod that has ended without a cgroup")
		} else {
			same(list("1", "1Mi"), p.Status.Resources.Requests, "a pod that has ended")
		}
	}
}

// Conformance: full/k20_hostpath_types, where volume v0 names a path that is not there.
func TestTheFakeRuntimeMakesNoHostPathsAndNamesContainersAsUpstreamsTestsDo(t *testing.T) {
	w := fakeRuntime(t)
	p := w.create(pod("web", hostPath("none", "/none", v1.HostPathUnset)))
	w.settle()
	c := w.get("web").Status.ContainerStatuses[0]
	require.Equal(t, fmt.Sprintf("fakeRuntime://web_default_%s_0_c_0", p.UID), c.ContainerID)
	require.Equal(t, "busybox:latest", c.Image)
	require.Equal(t, "busybox:latest", c.ImageID)
	require.NotNil(t, c.Resources)
	_, err := w.node.Stat("/none")
	require.Error(t, err)

	w = simple(t)
	w.create(pod("web", hostPath("none", "/none", v1.HostPathUnset)))
	w.settle()
	_, err = w.node.Stat("/none")
	require.NoError(t, err, "containerd makes it")
}

// Conformance: full/k22_claim_unbound_then_static.
func TestAnUnboundClaimIsToldAndLookedForEveryTenSeconds(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	unbind(t, w, "data", v1.ClaimPending)
	w.create(pod("web", claim("data"), hostPath("tmp", "/tmp", v1.HostPathDirectoryOrCreate)))
	w.settle()
	require.Less(t, w.e.Now().Sub(engine.Start()), 15*time.Second, "nobody waits for a claim that nobody binds")
	require.Contains(t, w.events("web"), "FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], "+
		"failed to process volumes=[data]: error processing PVC default/data: PVC is not bound")
	unbind(t, w, "data", v1.ClaimBound)
	before := w.e.Now()
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.LessOrEqual(t, w.e.Now().Sub(before), 11*time.Second)
}

func unbind(t *testing.T, w *world, name string, phase v1.PersistentVolumeClaimPhase) {
	t.Helper()
	claims := w.user.CoreV1().PersistentVolumeClaims("default")
	pvc, err := claims.Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(t, err)
	pvc.Status.Phase = phase
	_, err = claims.UpdateStatus(context.Background(), pvc, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func TestManyPodsThatCannotHaveTheirVolumesLeaveTheClusterAtRest(t *testing.T) {
	w := simple(t)
	for i := range 20 {
		w.create(pod(fmt.Sprint("web-", i), claim("none")))
	}
	w.settle()
	require.Less(t, w.e.Now().Sub(engine.Start()), time.Minute)
	require.NoError(t, w.e.RunFor(time.Minute))
	events, err := w.user.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, events.Items[0].Count, int32(6), "the pod is told again every 10 s")
}

// Conformance: full/csi13c_pod_terminating_while_kubelet_down.
func TestAPodThatIsDeletedWhileTheKubeletIsDownEndsAsAnyOther(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.settle()
	before := len(w.writes("web"))
	require.NoError(t, w.e.Crash(actor)) // it is back when time passes
	w.delete("web")
	w.settle()
	require.Equal(t, []string{
		"patch pods/status", "patch pods/status status.conditions status.containerStatuses status.phase",
		"delete pods metadata.deletionGracePeriodSeconds metadata.deletionTimestamp",
	}, normalDeletion(w.writes("web"))[before:])
	w.requireEvent("web", "Killing", "Stopping container c")
	w.requireNothingLeft()
}
