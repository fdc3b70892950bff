package job_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

var ctx = context.Background()

type cluster struct{ *storagesimtest.Cluster }

func newCluster(t testing.TB, seed uint64) cluster {
	t.Helper()
	return cluster{storagesimtest.New(t, storagesim.Config{Seed: seed, Disks: storagesim.MemoryDisks, Nodes: storagesim.Nodes("node-1", "node-2")})}
}

// once returns the manifest of a Job that runs a script, with more of its spec and of its pods'.
func once(script, more string) string {
	policy := "Never"
	if strings.Contains(more, "OnFailure") {
		policy, more = "OnFailure", strings.Replace(more, "OnFailure", "", 1)
	}
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
%s
  template:
    spec:
      restartPolicy: %s
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: "busybox:1", command: [sh, -c, '%s']}]
`, more, policy, script)
}

func (c cluster) job() *batchv1.Job {
	c.T.Helper()
	job, err := c.Client().BatchV1().Jobs("default").Get(ctx, "once", metav1.GetOptions{})
	require.NoError(c.T, err)
	return job
}

func (c cluster) patch(patch string) error {
	c.T.Helper()
	_, err := c.Client().BatchV1().Jobs("default").Patch(ctx, "once", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (c cluster) pods() []v1.Pod {
	c.T.Helper()
	list, err := c.Client().CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	require.NoError(c.T, err)
	return list.Items
}

// phases returns the number of pods in each phase.
func (c cluster) phases() map[v1.PodPhase]int {
	phases := map[v1.PodPhase]int{}
	for _, pod := range c.pods() {
		phases[pod.Status.Phase]++
	}
	return phases
}

// conditions returns the conditions as "Type=Status Reason".
func (c cluster) conditions() (list []string) {
	for _, condition := range c.job().Status.Conditions {
		list = append(list, fmt.Sprintf("%s=%s %s", condition.Type, condition.Status, condition.Reason))
	}
	return list
}

// events returns "Reason: message" of the events about Jobs, or only of those with a reason.
func (c cluster) events(reason string) (list []string) {
	for _, entry := range c.Trace().Records() {
		if e, ok := entry.Record.(trace.Event); ok && strings.EqualFold(e.About.Kind, "job") && (reason == "" || e.Reason == reason) {
			list = append(list, e.Reason+": "+e.Message)
		}
	}
	return list
}

func TestAJobIsCompleteWhenSoManyPodsHaveSucceeded(t *testing.T) {
	seedtest.Each(t, 12, func(t testing.TB, seed uint64) {
		c := newCluster(t, seed)
		c.Apply(once("echo done; sleep 3", "  completions: 5\n  parallelism: 2"))
		for range 3000 {
			active := 0
			for _, pod := range c.pods() {
				if pod.DeletionTimestamp == nil && pod.Status.Phase != v1.PodSucceeded {
					active++
				}
			}
			require.LessOrEqual(t, active, 2)
			if stepped, err := c.Engine().Step(); err != nil || !stepped {
				require.NoError(t, err)
				break
			}
		}
		c.RunFor(time.Minute)
		require.Equal(t, map[v1.PodPhase]int{v1.PodSucceeded: 5}, c.phases())
		job := c.job()
		require.Equal(t, []int32{5, 0, 0, 0, 0}, []int32{job.Status.Succeeded, job.Status.Failed, job.Status.Active, *job.Status.Ready, *job.Status.Terminating})
		require.Equal(t, &batchv1.UncountedTerminatedPods{}, job.Status.UncountedTerminatedPods)
		require.Equal(t, []string{"SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"}, c.conditions())
		require.NotNil(t, job.Status.StartTime)
		require.Equal(t, job.Status.Conditions[1].LastTransitionTime, *job.Status.CompletionTime)
		require.Equal(t, "Completed: Job completed", c.events("")[len(c.events(""))-1])
		for _, pod := range c.pods() {
			require.Empty(t, pod.Finalizers)
		}
	})
}

func TestTheServerMakesAJobsSelectorAndItsPodsLabels(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("true", ""))
	c.Settle()
	job := c.job()
	uid := string(job.UID)
	require.Equal(t, map[string]string{"batch.kubernetes.io/controller-uid": uid}, job.Spec.Selector.MatchLabels)
	want := map[string]string{"batch.kubernetes.io/controller-uid": uid, "controller-uid": uid, "batch.kubernetes.io/job-name": "once", "job-name": "once"}
	require.Equal(t, want, job.Labels)
	pod := c.pods()[0]
	require.Equal(t, want, pod.Labels)
	require.Regexp(t, "^once-.{5}$", pod.Name)
	require.True(t, metav1.IsControlledBy(&pod, job))
	require.Regexp(t, "^SuccessfulCreate: Created pod: once-.{5}$", c.events("SuccessfulCreate")[0])
	require.ErrorContains(t, c.patch(`{"spec":{"completions":3}}`), "spec.completions: Invalid value: 3: field is immutable")
	require.ErrorContains(t, c.patch(`{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":5}}}}`), "spec.template: Invalid value: ")
	require.ErrorContains(t, c.Cluster.Cluster.Apply(strings.Replace(once("true", "  selector: {matchLabels: {app: x}}"), "once", "two", 1)),
		"`selector` not auto-generated")
	require.ErrorContains(t,
		c.Cluster.Cluster.Apply(strings.Replace(once("true", "  selector: {matchLabels: {app: x}}\n  manualSelector: true"), "once", "two", 1)),
		"`selector` does not match template `labels`")
}

func TestAJobThatFailsTooOftenIsFailedAfterLongerAndLongerWaits(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("exit 3", "  backoffLimit: 2"))
	c.RunFor(5 * time.Second)
	require.Equal(t, map[v1.PodPhase]int{v1.PodFailed: 1}, c.phases())
	c.RunFor(10 * time.Second)
	require.Equal(t, map[v1.PodPhase]int{v1.PodFailed: 2}, c.phases())
	c.RunFor(14 * time.Second)
	require.Equal(t, map[v1.PodPhase]int{v1.PodFailed: 2}, c.phases(), "20 s the second time")
	c.RunFor(10 * time.Second)
	require.Equal(t, map[v1.PodPhase]int{v1.PodFailed: 3}, c.phases())
	require.EqualValues(t, 3, c.job().Status.Failed)
	require.Equal(t, []string{"FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded"}, c.conditions())
	require.Equal(t, []string{"BackoffLimitExceeded: Job has reached the specified backoff limit"}, c.events("BackoffLimitExceeded"))
	c.RunFor(time.Hour)
	require.Len(t, c.pods(), 3)
}

func TestAFailedPodThatItsPolicyNamesEndsTheJobAtOnce(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(strings.Replace(once("exit 42", `  backoffLimit: 3
  podFailurePolicy:
    rules:
    - {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}
    - {action: Ignore, onExitCodes: {containerName: first, operator: In, values: [42]}}
    - {action: FailJob, onExitCodes: {containerName: c, operator: In, values: [41, 42]}}`), "containers: [",
		"initContainers: [{name: first, image: busybox, command: ['true']}]\n      containers: [", 1))
	c.RunFor(time.Minute)
	require.Equal(t, []string{"FailureTarget=True PodFailurePolicy", "Failed=True PodFailurePolicy"}, c.conditions())
	require.Len(t, c.pods(), 1)
	require.EqualValues(t, 1, c.job().Status.Failed)
	require.Equal(t, []string{
		"PodFailurePolicy: Container c for pod default/" + c.pods()[0].Name + " failed with exit code 42 matching FailJob rule at index 2",
	}, c.events("PodFailurePolicy"))
}

func TestAFailedPodThatItsPolicyIgnoresIsReplacedAndDoesNotCount(t *testing.T) {
	for _, rule := range []string{
		"{action: Ignore, onExitCodes: {operator: NotIn, values: [0, 1]}}", "{action: Count, onExitCodes: {operator: NotIn, values: [0, 1]}}",
	} {
		c := newCluster(t, 0)
		c.Apply(once("exit 42", "  backoffLimit: 0\n  podFailurePolicy: {rules: ["+rule+"]}"))
		c.RunFor(25 * time.Second)
		if strings.Contains(rule, "Count") {
			require.Equal(t, []string{"FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded"}, c.conditions())
			require.Len(t, c.pods(), 1)
			continue
		}
		require.Empty(t, c.conditions())
		require.Len(t, c.pods(), 2, "the waits between them are the same")
		require.EqualValues(t, 0, c.job().Status.Failed)
	}
}

func TestAPodThatIsEvictedDoesNotCountIfItsPolicySaysSo(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("sleep 3600", "  backoffLimit: 0\n  podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}"))
	c.Settle()
	first := c.pods()[0]
	require.NoError(t, c.Client().CoreV1().Pods("default").EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: first.Name, Namespace: "default"}}))
	c.RunFor(30 * time.Second)
	require.Empty(t, c.conditions())
	require.EqualValues(t, 0, c.job().Status.Failed)
	require.Len(t, c.pods(), 1)
	require.NotEqual(t, first.Name, c.pods()[0].Name)
}

func TestContainersThatAreStartedAgainCountForTheLimit(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("exit 3", "  backoffLimit: 2\nOnFailure"))
	c.RunFor(5 * time.Minute)
	require.Equal(t, []string{"FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded"}, c.conditions())
	require.Empty(t, c.pods(), "its pod ran, and was deleted")
	require.Len(t, c.events("SuccessfulDelete"), 1)
}

func TestAJobIsFailedWhenItsTimeIsUp(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("sleep 1000000", "  activeDeadlineSeconds: 60"))
	c.Settle()
	require.EqualValues(t, 1, c.job().Status.Active, "settling does not wait for the deadline")
	require.EqualValues(t, 1, *c.job().Status.Ready)
	c.RunFor(2 * time.Minute)
	require.Equal(t, []string{"FailureTarget=True DeadlineExceeded", "Failed=True DeadlineExceeded"}, c.conditions())
	require.Equal(t, []string{"DeadlineExceeded: Job was active longer than specified deadline"}, c.events("DeadlineExceeded"))
	require.Empty(t, c.pods())
}

func TestAJobThatNeverEndsStaysActive(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("sleep 1000000", ""))
	c.RunFor(24 * time.Hour)
	require.Empty(t, c.conditions())
	require.EqualValues(t, 1, c.job().Status.Active)
}

func TestAFinishedJobIsDeletedWithItsPodsAfterItsTime(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("true", "  ttlSecondsAfterFinished: 60"))
	c.Settle()
	require.Equal(t, []string{"SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"}, c.conditions())
	c.RunFor(50 * time.Second)
	require.Len(t, c.pods(), 1)
	c.RunFor(20 * time.Second)
	require.Empty(t, c.pods())
	_, err := c.Client().BatchV1().Jobs("default").Get(ctx, "once", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

func TestASuspendedJobHasNoPods(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("sleep 1000000", "  suspend: true\n  parallelism: 2\n  activeDeadlineSeconds: 100"))
	c.RunFor(3 * time.Minute)
	require.Empty(t, c.pods())
	require.Equal(t, []string{"Suspended=True JobSuspended"}, c.conditions())
	require.Nil(t, c.job().Status.StartTime)
	require.NoError(t, c.patch(`{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/hostname":"node-2"}}}}}`), "where its pods run may change until then")
	require.NoError(t, c.patch(`{"spec":{"suspend":false}}`))
	c.RunFor(10 * time.Second)
	require.Equal(t, map[v1.PodPhase]int{v1.PodRunning: 2}, c.phases())
	require.Equal(t, "node-2", c.pods()[0].Spec.NodeName)
	require.Equal(t, []string{"Suspended=False JobResumed"}, c.conditions())
	require.NoError(t, c.patch(`{"spec":{"suspend":true}}`))
	c.RunFor(20 * time.Second)
	require.Empty(t, c.pods())
	require.EqualValues(t, 0, c.job().Status.Failed, "pods that were deleted have not failed")
	require.Equal(t, []string{"Suspended: Job suspended", "Suspended: Job suspended"}, c.events("Suspended"))
	require.Equal(t, []string{"Resumed: Job resumed"}, c.events("Resumed"))
}

func TestEachIndexOfAnIndexedJobSucceedsOnce(t *testing.T) {
	seedtest.Each(t, 8, func(t testing.TB, seed uint64) {
		c := newCluster(t, seed)
		c.Apply(once("test $JOB_COMPLETION_INDEX -ne 1 || test -e /data/x || { touch /data/x; exit 1; }; echo I am $JOB_COMPLETION_INDEX",
			"  completionMode: Indexed\n  completions: 4\n  parallelism: 3") +
			"      nodeSelector: {kubernetes.io/hostname: node-1}\n      volumes: [{name: d, hostPath: {path: /data, type: DirectoryOrCreate}}]\n")
		c.RunFor(time.Minute)
		job := c.job()
		require.Equal(t, "0,2,3", job.Status.CompletedIndexes)
		require.EqualValues(t, 3, job.Status.Succeeded)
		require.Positive(t, job.Status.Failed, "index 1 sees no volume and fails again and again")
		indexes := map[string]int{}
		for _, pod := range c.pods() {
			index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
			require.Equal(t, index, pod.Labels[batchv1.JobCompletionIndexAnnotation])
			require.Equal(t, "once-"+index, pod.Spec.Hostname)
			require.Regexp(t, "^once-"+index+"-.{5}$", pod.Name)
			if pod.Status.Phase == v1.PodSucceeded {
				indexes[index]++
			}
		}
		require.Equal(t, map[string]int{"0": 1, "2": 1, "3": 1}, indexes)
	})
}

func TestAJobWithoutCompletionsEndsWithItsFirstSuccess(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("sleep 30", "  parallelism: 3"))
	c.RunFor(2 * time.Minute)
	require.Equal(t, map[v1.PodPhase]int{v1.PodSucceeded: 3}, c.phases())
	require.Equal(t, []string{"SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"}, c.conditions())
}

func TestWhenAPodIsDeletedItIsReplacedAtOnceOrWhenItHasEnded(t *testing.T) {
	for policy, want := range map[string]int{"TerminatingOrFailed": 2, "Failed": 1} {
		t.Run(policy, func(t *testing.T) {
			c := newCluster(t, 0)
			c.Apply(once("sleep 1000000", "  podReplacementPolicy: "+policy))
			c.Settle()
			pod := c.pods()[0]
			c.Stop("kubelet/" + pod.Spec.NodeName)
			require.NoError(t, c.Client().CoreV1().Pods("default").Delete(ctx, pod.Name, metav1.DeleteOptions{}))
			c.RunFor(20 * time.Second)
			require.Len(t, c.pods(), want)
			require.EqualValues(t, 1, *c.job().Status.Terminating)
			c.Start("kubelet/" + pod.Spec.NodeName)
			c.RunFor(time.Minute)
			require.Len(t, c.pods(), 1)
			require.NotEqual(t, pod.Name, c.pods()[0].Name)
			require.EqualValues(t, 1, c.job().Status.Failed)
			require.Zero(t, *c.job().Status.Terminating)
		})
	}
}

func TestAPodThatIsKilledHasFailed(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("sleep 1000000", ""))
	c.Settle()
	c.Delete("pod/" + c.pods()[0].Name)
	c.RunFor(time.Minute)
	require.Equal(t, map[v1.PodPhase]int{v1.PodRunning: 1}, c.phases())
	require.EqualValues(t, 1, c.job().Status.Failed)
	require.Empty(t, c.conditions())
}

func TestAJobOfAnotherControllerIsLeftAlone(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("true", "  managedBy: example.com/queue"))
	c.Settle()
	require.Empty(t, c.pods())
	require.Empty(t, c.events(""))
}

func TestWhatAJobSaysOfItsGangIsDropped(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("true", "  scheduling: {schedulingPolicy: {gang: {minCount: 1}}}"))
	require.Nil(t, c.job().Spec.Scheduling)
}

func TestDeletingAJobDeletesItsPodsOrLeavesThem(t *testing.T) {
	for policy, left := range map[metav1.DeletionPropagation]int{metav1.DeletePropagationBackground: 0, metav1.DeletePropagationForeground: 0,
		metav1.DeletePropagationOrphan: 1} {
		t.Run(string(policy), func(t *testing.T) {
			seedtest.Each(t, 6, func(t testing.TB, seed uint64) {
				c := newCluster(t, seed)
				c.Apply(once("sleep 1000000", ""))
				c.Settle()
				require.NoError(t, c.Client().BatchV1().Jobs("default").Delete(ctx, "once", metav1.DeleteOptions{PropagationPolicy: &policy}))
				c.RunFor(time.Minute)
				require.Len(t, c.pods(), left)
				for _, pod := range c.pods() {
					require.Empty(t, pod.Finalizers, "nothing holds them")
				}
			})
		})
	}
}

// Whatever the controller was doing when it crashed: no pod is counted twice, and none is forgotten.
func TestEachPodIsCountedOnceAlthoughTheControllerCrashes(t *testing.T) {
	seedtest.Each(t, 24, func(t testing.TB, seed uint64) {
		c := newCluster(t, seed)
		c.Apply(once("test $(($(date +%s) % 3)) -ne 0", "  completions: 4\n  parallelism: 2\n  backoffLimit: 100"))
		for i := range 40 {
			for range 11 + int(seed%7) + i {
				_, err := c.Engine().Step()
				require.NoError(t, err)
			}
			c.Crash(storagesim.Jobs)
		}
		c.RunFor(3 * time.Hour)
		phases, job := c.phases(), c.job()
		require.Equal(t, []string{"SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"}, c.conditions())
		require.EqualValues(t, phases[v1.PodSucceeded], job.Status.Succeeded)
		require.EqualValues(t, phases[v1.PodFailed], job.Status.Failed)
		require.GreaterOrEqual(t, phases[v1.PodSucceeded], 4)
	})
}

func TestAQuotaThatIsUsedUpKeepsAJobFromItsPods(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {pods: \"1\"}}\n")
	c.Settle()
	c.Apply(once("sleep 1000000", "  completions: 4\n  parallelism: 4"))
	c.RunFor(3 * time.Second)
	require.Len(t, c.pods(), 1)
	require.EqualValues(t, 1, c.job().Status.Active)
	require.True(t, slices.ContainsFunc(c.events("FailedCreate"), func(e string) bool { return strings.Contains(e, "exceeded quota: few") }))
}

func TestAJobOfThousandsOfPodsComesToItsEnd(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(once("true", "  completions: 700\n  parallelism: 700"))
	c.RunFor(time.Hour)
	require.EqualValues(t, 700, c.job().Status.Succeeded)
	require.Equal(t, []string{"SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"}, c.conditions())
}

func TestThereIsNoStepInAClusterWithoutJobs(t *testing.T) {
	c := newCluster(t, 0)
	c.Settle()
	for _, actor := range []string{storagesim.Jobs, storagesim.TTLAfterFinished} {
		follows, err := c.Engine().Follows(actor)
		require.NoError(t, err)
		require.Len(t, follows, 1, actor)
	}
	for _, entry := range c.Trace().Records() {
		require.NotContains(t, []string{storagesim.Jobs, storagesim.TTLAfterFinished}, entry.Actor)
	}
}
