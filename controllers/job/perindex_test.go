package job_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/storagesim/storagesim/internal/seedtest"
)

// indexed returns a Job of four indexes, all at once. The script of one sees its number in $JOB_COMPLETION_INDEX.
func indexed(script, more string) string {
	return once(script, "  completionMode: Indexed\n  completions: 4\n  parallelism: 4\n"+more)
}

func (c cluster) failedIndexes() string {
	c.T.Helper()
	if failed := c.job().Status.FailedIndexes; failed != nil {
		return *failed
	}
	return "none"
}

// Upstream: job_controller.go syncJob, getPodCreationInfoForIndependentIndexes, v1.37.2.
func TestEachIndexHasAsManyTriesAsItsLimitSays(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(indexed("test $JOB_COMPLETION_INDEX != 2", "  backoffLimitPerIndex: 2"))
	c.RunFor(9 * time.Second)
	require.Equal(t, "0,1,3", c.job().Status.CompletedIndexes)
	require.Empty(t, c.failedIndexes())
	require.Empty(t, c.conditions())
	c.RunFor(3 * time.Minute)
	require.Equal(t, "2", c.failedIndexes())
	require.Equal(t, []string{"FailureTarget=True FailedIndexes", "Failed=True FailedIndexes"}, c.conditions())
	require.Equal(t, []string{"FailedIndexes: Job has failed indexes"}, c.events("FailedIndexes"))
	require.EqualValues(t, 3, c.job().Status.Failed)
	require.EqualValues(t, 3, c.job().Status.Succeeded)
	counts := map[string]int{}
	var begun []time.Time
	for _, pod := range c.pods() {
		if pod.Labels[batchv1.JobCompletionIndexAnnotation] == "2" {
			counts[pod.Annotations[batchv1.JobIndexFailureCountAnnotation]]++
			begun = append(begun, pod.CreationTimestamp.Time)
		}
		require.Empty(t, pod.Finalizers)
	}
	require.Equal(t, map[string]int{"0": 1, "1": 1, "2": 1}, counts)
	slices.SortFunc(begun, time.Time.Compare)
	require.InDelta(t, 10, begun[1].Sub(begun[0]).Seconds(), 1.5)
	require.InDelta(t, 20, begun[2].Sub(begun[1]).Seconds(), 1.5)
}

func TestAJobEndsWhenMoreIndexesHaveFailedThanItAllows(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(indexed("case $JOB_COMPLETION_INDEX in 3) sleep 3600;; *) false;; esac", "  backoffLimitPerIndex: 0\n  maxFailedIndexes: 2"))
	c.RunFor(time.Minute)
	require.Equal(t, "0-2", c.failedIndexes())
	require.Equal(t, []string{"FailureTarget=True MaxFailedIndexesExceeded", "Failed=True MaxFailedIndexesExceeded"}, c.conditions())
	require.Equal(t, []string{"MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed indexes"}, c.events("MaxFailedIndexesExceeded"))
	require.Zero(t, c.job().Status.Active)
}

func TestARuleFailsAnIndexAtOnce(t *testing.T) {
	c := newCluster(t, 0)
	c.Apply(indexed("exit $JOB_COMPLETION_INDEX", `  backoffLimitPerIndex: 5
  podFailurePolicy:
    rules:
    - {action: FailIndex, onExitCodes: {operator: In, values: [2]}}
    - {action: Ignore, onExitCodes: {operator: In, values: [3]}}`))
	c.RunFor(15 * time.Second)
	require.Equal(t, "2", c.failedIndexes())
	require.Equal(t, "0", c.job().Status.CompletedIndexes)
	require.Empty(t, c.conditions())
	for _, pod := range c.pods() {
		counted, ignored := pod.Annotations[batchv1.JobIndexFailureCountAnnotation], pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation]
		switch index := pod.Labels[batchv1.JobCompletionIndexAnnotation]; {
		case index == "3" && ignored != "":
			require.Equal(t, "0 1", counted+" "+ignored)
		case index == "2":
			require.Equal(t, "0 ", counted+" "+ignored)
		}
	}
	c.RunFor(time.Hour)
	require.Equal(t, "1,2", c.failedIndexes(), "index 3 is tried without an end")
}

// Upstream: success_policy.go matchSuccessPolicy, v1.37.2.
func TestAJobIsCompleteWhenARuleOfItsSuccessPolicyIsFulfilled(t *testing.T) {
	const script = "case $JOB_COMPLETION_INDEX in 0|2) ;; *) sleep 3600;; esac"
	for rule, met := range map[string]string{
		`[{succeededIndexes: "1,3"}, {succeededIndexes: "0,2"}]`:              "Matched rules at index 1",
		`[{succeededCount: 2}]`:                                               "Matched rules at index 0",
		`[{succeededCount: 3}, {succeededIndexes: "0-1", succeededCount: 1}]`: "Matched rules at index 1",
		`[{succeededIndexes: "0-1"}]`:                                         "",
		`[{succeededIndexes: "1,3", succeededCount: 1}]`:                      "",
	} {
		c := newCluster(t, 0)
		c.Apply(indexed(script, "  successPolicy: {rules: "+rule+"}"))
		c.RunFor(time.Minute)
		if met == "" {
			require.Empty(t, c.conditions(), rule)
			continue
		}
		require.Equal(t, []string{"SuccessCriteriaMet=True SuccessPolicy", "Complete=True SuccessPolicy"}, c.conditions(), rule)
		require.Equal(t, met, c.job().Status.Conditions[1].Message)
		require.Equal(t, "0,2", c.job().Status.CompletedIndexes)
		require.Zero(t, c.job().Status.Failed, "pods that are ended by it have not failed")
		require.Zero(t, c.job().Status.Active)
		require.Equal(t, []string{"Completed: Job completed"}, c.events("Completed"))
	}
}

// In whatever order things happen, each index has its tries, and each of them is counted once.
func TestFailuresOfIndexesAreCountedOnceInEveryOrder(t *testing.T) {
	seedtest.Each(t, 40, func(t testing.TB, seed uint64) {
		c := newCluster(t, seed)
		c.Apply(indexed("test $JOB_COMPLETION_INDEX -lt 2", "  backoffLimitPerIndex: 1"))
		c.RunFor(5 * time.Minute)
		require.Equal(t, "2,3", c.failedIndexes())
		require.EqualValues(t, 4, c.job().Status.Failed)
		require.Len(t, c.pods(), 6)
		require.Equal(t, "Failed=True FailedIndexes", c.conditions()[1])
	})
}

func TestPoliciesOfIndexesAreRefusedAsUpstream(t *testing.T) {
	for more, says := range map[string]string{
		"  maxFailedIndexes: 1":                             "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
		"  backoffLimitPerIndex: 1\n  maxFailedIndexes: -1": "spec.maxFailedIndexes: Invalid value: -1: must be greater than or equal to 0",
		"  backoffLimitPerIndex: 1\n  maxFailedIndexes: 5":  "spec.maxFailedIndexes: Invalid value: 5: must be less than or equal to completions",
		"  successPolicy: {rules: []}": "spec.successPolicy.rules: Required value: " +
			"at least one rules must be specified when the successPolicy is specified",
		"  successPolicy: {rules: [{}]}": "spec.successPolicy.rules[0]: Required value: " +
			"at least one of succeededCount or succeededIndexes must be specified",
		"  successPolicy: {rules: [{succeededCount: 5}]}": "spec.successPolicy.rules[0].succeededCount: " +
			"Invalid value: 5: must be less than or equal to 4 (the number of specified completions)",
		`  successPolicy: {rules: [{succeededIndexes: "0,1", succeededCount: 3}]}`: "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: " +
			"must be less than or equal to 2 (the number of indexes in the specified " +
			"succeededIndexes field)",
		`  successPolicy: {rules: [{succeededIndexes: "4"}]}`: `spec.successPolicy.rules[0].succeededIndexes: ` +
			`Invalid value: "4": error parsing succeededIndexes: too large index: "4"`,
		`  successPolicy: {rules: [{succeededIndexes: "1,0"}]}`: `spec.successPolicy.rules[0].succeededIndexes: ` +
			`Invalid value: "1,0": error parsing succeededIndexes: non-increasing order, previous: 1, current: 0`,
		`  successPolicy: {rules: [{succeededIndexes: "2-1"}]}`: `error parsing succeededIndexes: non-increasing order, ` +
			`previous: 2, current: 1`,
		`  successPolicy: {rules: [{succeededIndexes: "0-1-2"}]}`: `error parsing succeededIndexes: ` +
			`the fragment "0-1-2" violates the requirement that an index interval can have at most two parts separated by '-'`,
		`  successPolicy: {rules: [{succeededIndexes: "one"}]}`: `error parsing succeededIndexes: ` +
			`cannot convert string to integer for index: "one"`,
		"  podFailurePolicy: {rules: [{action: FailIndex, onExitCodes: {operator: In, values: [1]}}]}": `spec.podFailurePolicy.rules[0].action: Invalid value: ` +
			`"FailIndex": requires the backoffLimitPerIndex to be set`,
	} {
		c := newCluster(t, 0)
		require.ErrorContains(t, c.Cluster.Cluster.Apply(indexed("true", more)), says, more)
	}
	c := newCluster(t, 0)
	require.ErrorContains(t, c.Cluster.Cluster.Apply(once("true", "  successPolicy: {rules: [{succeededCount: 1}]}")), "requires indexed completion mode")
	many := strings.Replace(indexed("true", "  backoffLimitPerIndex: 1"), "completions: 4", "completions: 100001", 1)
	require.ErrorContains(t, c.Cluster.Cluster.Apply(many), "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000")
	require.ErrorContains(t, c.Cluster.Cluster.Apply(strings.Replace(many, "backoffLimitPerIndex: 1", "backoffLimitPerIndex: 1\n  maxFailedIndexes: 10001", 1)),
		"spec.maxFailedIndexes: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index")
}
