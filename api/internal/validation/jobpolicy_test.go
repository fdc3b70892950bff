package validation_test

import "testing"

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
