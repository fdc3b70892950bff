package strategy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/internal/apitest"
	"github.com/storagesim/storagesim/api/internal/validation/pods"
)

// semantics 8 must 6.
func TestWhatAClientSaysOfANewObjectsStatusIsDropped(t *testing.T) {
	volume := apitest.Created(t, apitest.GoodVolume, "status: {phase: Bound, message: mine}").(*v1.PersistentVolume)
	require.Equal(t, v1.PersistentVolumeStatus{Phase: v1.VolumePending, LastPhaseTransitionTime: &apitest.Now}, volume.Status)
	claim := apitest.Created(t, apitest.GoodClaim, "status: {phase: Bound, capacity: {storage: 5Gi}}").(*v1.PersistentVolumeClaim)
	require.Equal(t, v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending}, claim.Status)
	pod := apitest.Created(t, apitest.GoodPod, "status: {phase: Running, podIP: 10.0.0.1}").(*v1.Pod)
	require.Equal(t, v1.PodStatus{Phase: v1.PodPending, QOSClass: v1.PodQOSBestEffort}, pod.Status)
}

func TestAGatedPodSaysWhyItIsNotScheduled(t *testing.T) {
	pod := apitest.Created(t, apitest.GoodPod, "spec: {schedulingGates: [{name: a}]}").(*v1.Pod)
	require.Equal(t, []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: "SchedulingGated", LastTransitionTime: apitest.Now,
		Message: "Scheduling is blocked due to non-empty scheduling gates"}}, pod.Status.Conditions)
}

func TestAPodsQualityOfServiceFollowsItsResources(t *testing.T) {
	const full = "resources: {limits: {cpu: 1, memory: 1Gi}}"
	for containers, want := range map[string]v1.PodQOSClass{
		"{name: a, image: i}":                                                                 v1.PodQOSBestEffort,
		"{name: a, image: i, " + full + "}":                                                   v1.PodQOSGuaranteed,
		"{name: a, image: i, " + full + "}, {name: b, image: i}":                              v1.PodQOSBurstable,
		"{name: a, image: i, resources: {limits: {cpu: 1}}}":                                  v1.PodQOSBurstable,
		"{name: a, image: i, resources: {requests: {ephemeral-storage: 1Gi}}}":                v1.PodQOSBestEffort,
		"{name: a, image: i, " + full + "}, {name: b, image: i, " + full + "}":                v1.PodQOSGuaranteed,
		"{name: a, image: i, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 0}}}": v1.PodQOSBurstable,
	} {
		pod := apitest.Created(t, apitest.GoodPod, "spec: {containers: ["+containers+"]}").(*v1.Pod)
		require.Equal(t, want, pod.Status.QOSClass, containers)
	}
	pod := apitest.Created(t, apitest.GoodPod, "spec: {resources: {}, containers: [{name: a, image: i, "+full+"}]}").(*v1.Pod)
	require.Equal(t, v1.PodQOSGuaranteed, pod.Status.QOSClass, "the pod as a whole asks for nothing, so its containers count")
}

func TestPodLevelResourcesAreDefaultedWhenThePodIsMadeAndKeptByClientsThatDoNotKnowThem(t *testing.T) {
	const asked, box = "resources: {requests: {cpu: 2}}, ", "image: i, resources: {limits: {cpu: 1, memory: 1Gi}}}"
	for spec, want := range map[string]string{
		asked + "containers: [{name: a, " + box + "]":                                               "cpu 2 of 2, memory 1Gi of 1Gi",
		asked + "containers: [{name: a, " + box + ", {name: b, image: i}]":                          "cpu 2 of 0, memory 1Gi of 0",
		"resources: {limits: {cpu: 3}}, containers: [{name: a, " + box + "]":                        "cpu 1 of 3, memory 1Gi of 1Gi",
		"resources: {limits: {memory: 3Gi}}, containers: [{name: a, image: i}]":                     "cpu 0 of 0, memory 3Gi of 3Gi",
		asked + "containers: [{name: a, " + box + ", {name: b, " + box + ", {name: c, " + box + "]": "cpu 2 of 3, memory 3Gi of 3Gi",
	} {
		pod := apitest.Created(t, apitest.GoodPod, "spec: {"+spec+"}").(*v1.Pod)
		r := pod.Spec.Resources
		got := fmt.Sprintf("cpu %v of %v, memory %v of %v", r.Requests.Cpu(), r.Limits.Cpu(), r.Requests.Memory(), r.Limits.Memory())
		require.Equal(t, want, got, spec)

		silent := pod.DeepCopy()
		silent.Spec.Resources = nil
		apitest.Strategy(pod).Update(silent, pod)
		require.Equal(t, r, silent.Spec.Resources, "a client that does not know the field does not remove it")
	}
}

func TestAVolumeNotesWhenItsPhaseChanged(t *testing.T) {
	later, chosen := metav1.Unix(1_800_000_000, 0), metav1.Unix(1_900_000_000, 0)
	old := apitest.Created(t, apitest.GoodVolume).(*v1.PersistentVolume)
	update := func(change func(*v1.PersistentVolumeStatus)) *metav1.Time {
		volume := old.DeepCopy()
		change(&volume.Status)
		apitest.Strategy(volume).UpdateStatus(volume, old, later)
		return volume.Status.LastPhaseTransitionTime
	}
	require.Equal(t, &later, update(func(s *v1.PersistentVolumeStatus) { s.Phase = v1.VolumeAvailable }))
	require.Equal(t, &later, update(func(s *v1.PersistentVolumeStatus) { s.Phase, s.LastPhaseTransitionTime = v1.VolumeAvailable, nil }))
	require.Equal(t, &apitest.Now, update(func(s *v1.PersistentVolumeStatus) { s.Message = "same phase" }))
	require.Equal(t, &apitest.Now, update(func(s *v1.PersistentVolumeStatus) { s.LastPhaseTransitionTime = nil }))
	require.Equal(t, &chosen, update(func(s *v1.PersistentVolumeStatus) { s.Phase, s.LastPhaseTransitionTime = v1.VolumeAvailable, &chosen }))
}

func TestDataSourcesAreMirroredAndUnknownKindsDropped(t *testing.T) {
	const snapshot = "{name: s, kind: VolumeSnapshot, apiGroup: snapshot.storage.k8s.io}"
	const unknown = "{name: u, kind: Backup, apiGroup: example.com}"
	type sources struct{ source, ref string }
	show := func(claim *v1.PersistentVolumeClaim) (s sources) {
		if claim.Spec.DataSource != nil {
			s.source = claim.Spec.DataSource.Kind
		}
		if claim.Spec.DataSourceRef != nil {
			s.ref = claim.Spec.DataSourceRef.Kind
		}
		return s
	}
	for patch, want := range map[string]sources{
		"dataSource: " + snapshot:                            {"VolumeSnapshot", "VolumeSnapshot"},
		"dataSource: " + unknown:                             {},
		"dataSourceRef: " + snapshot:                         {"VolumeSnapshot", "VolumeSnapshot"},
		"dataSourceRef: " + unknown:                          {"Backup", "Backup"},
		"dataSource: {name: c, kind: PersistentVolumeClaim}": {"PersistentVolumeClaim", "PersistentVolumeClaim"},
		"dataSource: {name: c, kind: Pod}":                   {},
	} {
		claim := apitest.Created(t, apitest.GoodClaim, "spec: {"+patch+"}").(*v1.PersistentVolumeClaim)
		require.Equal(t, want, show(claim), patch)
	}
	claim := apitest.Created(t, apitest.GoodClaim, "spec: {dataSourceRef: {name: c, kind: PersistentVolumeClaim, namespace: other}}").(*v1.PersistentVolumeClaim)
	require.Nil(t, claim.Spec.DataSourceRef, "claims across namespaces are an alpha feature")
	require.Nil(t, claim.Spec.DataSource)
}

func TestAPodsStatusUpdateMayLeaveOutItsQualityOfService(t *testing.T) {
	old := apitest.Created(t, apitest.GoodPod).(*v1.Pod)
	pod := old.DeepCopy()
	pod.Status = v1.PodStatus{Phase: v1.PodRunning}
	apitest.Strategy(pod).UpdateStatus(pod, old, apitest.Now)
	rules := pods.Pods()
	require.Empty(t, apitest.Words(rules.ValidateUpdateStatus(pod, old)))
}
