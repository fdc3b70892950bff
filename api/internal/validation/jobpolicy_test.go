package validation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/apitest"
)

func TestAJobsFailurePolicyHasRulesThatCanMatch(t *testing.T) {
	const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: default}
spec:
  podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: c, operator: In, values: [1, 42]}},
    {action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}`
	rule := func(text string) string { return "spec: {podFailurePolicy: {rules: [" + text + "]}}" }
	const at = "spec.podFailurePolicy.rules[0]"
	refusesNew(t, job, []refusal{
		{"no action", rule("{onPodConditions: [{type: X}]}"), []string{at + `.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`}},
		{"an unknown action", rule("{action: Explode, onPodConditions: [{type: X}]}"),
			[]string{at + `.action: Unsupported value: "Explode": supported values: "Count", "FailIndex", "FailJob", "Ignore"`}},
		{"an index where none counts", rule("{action: FailIndex, onPodConditions: [{type: X}]}"),
			[]string{at + `.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`}},
		{"nothing to match", rule("{action: Count}"), []string{at + ": Invalid value: specifying one of OnExitCodes and OnPodConditions is required"}},
		{"both", rule("{action: Count, onExitCodes: {operator: In, values: [1]}, onPodConditions: [{type: X}]}"),
			[]string{at + ": Invalid value: specifying both OnExitCodes and OnPodConditions is not supported"}},
		{"an unknown operator", rule("{action: Count, onExitCodes: {operator: Near, values: [1]}}"),
			[]string{at + `.onExitCodes.operator: Unsupported value: "Near": supported values: "In", "NotIn"`}},
		{"an unknown container", rule("{action: Count, onExitCodes: {containerName: d, operator: In, values: [1]}}"),
			[]string{at + `.onExitCodes.containerName: Invalid value: "d": must be one of the container or initContainer names in the pod template`}},
		{"no code", rule("{action: Count, onExitCodes: {operator: In, values: []}}"),
			[]string{at + ".onExitCodes.values: Invalid value: []: at least one value is required"}},
		{"success, twice, in no order", rule("{action: Count, onExitCodes: {operator: In, values: [3, 0, 3]}}"), []string{
			at + ".onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator", at + ".onExitCodes.values[2]: Duplicate value: 3",
			at + ".onExitCodes.values: Invalid value: [3,0,3]: must be ordered",
		}},
		{"an unknown status", rule("{action: Count, onPodConditions: [{type: X, status: Maybe}]}"),
			[]string{at + `.onPodConditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"`}},
		{"containers that start again", "spec: {template: {spec: {restartPolicy: OnFailure}}}",
			[]string{`spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified`}},
		{"pods that are replaced while they end", "spec: {podReplacementPolicy: TerminatingOrFailed}",
			[]string{`spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"`}},
		{"the same without a policy", "spec: {podFailurePolicy: null, podReplacementPolicy: TerminatingOrFailed}", nil},
	})
}

// The words and their order were recorded of a kube-apiserver v1.37.2.
func TestTheJobsOfACronJobAreRefusedInTheWordsOfTheRealServer(t *testing.T) {
	const (
		at      = "spec.jobTemplate.spec."
		cronJob = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: daily, namespace: default}
spec: {schedule: "@daily", jobTemplate: {spec: {template: {spec: {restartPolicy: OnFailure, containers: [{name: c, image: busybox}]}}}}}`
		negative = ": Invalid value: -1: must be greater than or equal to 0"
		perIndex = "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index"
		noStatus = "spec: {jobTemplate: {spec: {podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: A}]}]}}}}"
	)
	spec := func(text string) string { return "spec: {jobTemplate: {spec: {" + text + "}}}" }
	refusesNew(t, cronJob, []refusal{
		{"numbers below zero", spec("parallelism: -1, completions: -1, activeDeadlineSeconds: -1, backoffLimit: -1, ttlSecondsAfterFinished: -1"), []string{
			at + "parallelism" + negative, at + "completions" + negative, at + "activeDeadlineSeconds" + negative, at + "backoffLimit" + negative,
			at + "ttlSecondsAfterFinished" + negative}},
		{"what has no meaning without indexes", spec("maxFailedIndexes: -1, backoffLimitPerIndex: -1, successPolicy: {rules: [{succeededCount: 1}]}"), []string{
			at + "backoffLimitPerIndex" + negative, at + "maxFailedIndexes" + negative,
			at + "backoffLimitPerIndex: Invalid value: -1: requires indexed completion mode",
			at + "maxFailedIndexes: Invalid value: -1: requires indexed completion mode",
			at + `successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode`}},
		{"indexes without a number", spec("parallelism: 100001, maxFailedIndexes: 100001, completionMode: Indexed"), []string{
			at + "backoffLimitPerIndex: Required value: when maxFailedIndexes is specified", at + "completions: Required value: when completion mode is Indexed",
			at + "parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed",
			at + "maxFailedIndexes: Invalid value: 100001: must be less than or equal to 100000"}},
		{"many indexes", spec("parallelism: 10001, completions: 100001, backoffLimitPerIndex: 1, completionMode: Indexed, " +
			"successPolicy: {rules: [{succeededIndexes: b}]}"),
			[]string{at + "maxFailedIndexes: Required value: must be specified when completions is above 100000",
				at + "parallelism: Invalid value: 10001: " + perIndex,
				at + `successPolicy.rules[0].succeededIndexes: Invalid value: "b": error parsing succeededIndexes: cannot convert string to integer for index: "b"`}},
		{"a policy for failures", spec("podReplacementPolicy: TerminatingOrFailed, " +
			"podFailurePolicy: {rules: [{action: FailIndex, onExitCodes: {operator: In, values: [1, 1]}}]}"),
			[]string{at + `podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`,
				at + "podFailurePolicy.rules[0].onExitCodes.values[1]: Duplicate value: 1",
				at + `podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"`,
				at + `template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified`}},
		{"a selector", spec("completionMode: Odd, managedBy: a, selector: {matchLabels: {a: b_}}, manualSelector: true, " +
			"template: {spec: {restartPolicy: Always}}"), []string{
			at + `managedBy: Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")`,
			at + `completionMode: Unsupported value: "Odd": supported values: "NonIndexed", "Indexed"`,
			at + `template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`,
			at + "selector: Invalid value: {\"matchLabels\":{\"a\":\"b_\"}}: `selector` will be auto-generated",
			at + `manualSelector: Unsupported value: true: supported values: "nil", "false"`}},
		{"a condition without a status", noStatus,
			[]string{at + `template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified`}},
	})
	refusesChange(t, cronJob, []refusal{
		{"a mode", spec("completionMode: Bogus"), []string{at + `completionMode: Unsupported value: "Bogus": supported values: "NonIndexed", "Indexed"`}},
		{"an index where none counts, and no schedule", `spec: {schedule: '', jobTemplate: {spec: {successPolicy: {rules: []}}}}`, []string{
			at + `successPolicy: Invalid value: {"Rules":[]}: requires indexed completion mode`, "spec.schedule: Required value"}},
	})
	job := apitest.Created(t, cronJob, noStatus).(*batchv1.CronJob)
	require.Equal(t, v1.ConditionTrue, job.Spec.JobTemplate.Spec.PodFailurePolicy.Rules[0].OnPodConditions[0].Status)
}

// The name is looked at when all else is known to be wrong or right.
func TestTheNameOfAJobWithIndexesIsToldLast(t *testing.T) {
	name := strings.Repeat("x", 62)
	errs := apitest.Words(create(apitest.Created(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: `+name+`, namespace: default},
		spec: {completions: 3, completionMode: Indexed, template: {spec: {restartPolicy: Always, containers: [{name: c, image: busybox}]}}}}`)))
	require.Equal(t, "metadata.name: Invalid value: \""+name+"\": will not able to create pod with invalid DNS label: "+name+"-2", errs[len(errs)-1])
	require.Contains(t, errs, `spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`)
}
