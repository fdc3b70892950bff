package managers

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// once returns the manifest of a Job whose pods run a script, with more of its spec, one field a line, and a restart policy if it is not Never.
func once(script, more string, policy ...string) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:%s
  template:
    spec:
      restartPolicy: %s
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: "busybox:1", command: [sh, -c, '%s']}]
`, indent(2, more), strings.Join(append(policy, "Never")[:1], ""), script)
}

func jobScenarios() []Scenario {
	job := func(script, more string, policy ...string) Step {
		return Apply("create", once(script, more, policy...))
	}
	return []Scenario{
		{Name: "job-completions", Steps: []Step{job("sleep 1", "completions: 5\nparallelism: 2").For(8 * time.Second), Delete("job/once")}},
		{Name: "job-one-pod", Steps: []Step{job("sleep 1", "").For(4 * time.Second)}},
		{Name: "job-work-queue", Steps: []Step{job("sleep 2", "parallelism: 3").For(6 * time.Second)}},
		{Name: "job-indexed", Steps: []Step{job("sleep 1", "completions: 3\nparallelism: 2\ncompletionMode: Indexed").For(6 * time.Second)}},
		{Name: "job-backoff-limit", Steps: []Step{job("sleep 1; exit 1", "backoffLimit: 1").For(20 * time.Second)}},
		{Name: "job-backoff-limit-none", Steps: []Step{job("sleep 3; exit 1", "backoffLimit: 0\nparallelism: 2\ncompletions: 2").For(7 * time.Second)}},
		{Name: "job-restarts", Steps: []Step{job("sleep 3; exit 1", "backoffLimit: 1", "OnFailure").For(20 * time.Second)}},
		{Name: "job-deadline", Steps: []Step{job("sleep 3600", "activeDeadlineSeconds: 3").For(8 * time.Second)}},
		{Name: "job-ttl", Steps: []Step{job("sleep 1", "ttlSecondsAfterFinished: 3").For(10 * time.Second)}},
		{Name: "job-ttl-at-once", Steps: []Step{job("sleep 1", "ttlSecondsAfterFinished: 0").For(6 * time.Second)}},
		{Name: "job-suspended", Steps: []Step{
			job("sleep 3600", "suspend: true\nparallelism: 2\ncompletions: 2"),
			Patch("resume", jobs, "once", `{"spec":{"suspend":false}}`), Patch("suspend", jobs, "once", `{"spec":{"suspend":true}}`),
			Patch("resume again", jobs, "once", `{"spec":{"suspend":false}}`),
		}},
		{Name: "job-parallelism-changes", Steps: []Step{
			job("sleep 3600", "parallelism: 3\ncompletions: 6"), Patch("less", jobs, "once", `{"spec":{"parallelism":1}}`),
			Patch("none", jobs, "once", `{"spec":{"parallelism":0}}`),
			Patch("more", jobs, "once", `{"spec":{"parallelism":4}}`),
		}},
		{Name: "job-never-ends", Steps: []Step{job("sleep 3600", ""), DeleteWith("delete in the foreground", metav1.DeletePropagationForeground, jobs, "once")}},
		{Name: "job-orphans", Steps: []Step{job("sleep 3600", ""), DeleteWith("delete without its pods", metav1.DeletePropagationOrphan, jobs, "once")}},
		{Name: "job-selector-does-not-match", Steps: []Step{job("sleep 1", "manualSelector: true\nselector: {matchLabels: {app: other}}")}},
		{Name: "job-selector", Steps: []Step{
			Apply("create", strings.Replace(once("sleep 1", "manualSelector: true\nselector: {matchLabels: {app: mine}}"), "template:",
				"template:\n    metadata: {labels: {app: mine}}", 1)).For(4 * time.Second),
		}},
		{Name: "job-replacement-when-failed", Steps: []Step{
			job("sleep 1; exit 1", "podReplacementPolicy: Failed\nbackoffLimit: 1").For(20 * time.Second),
		}},
		{Name: "job-failure-policy-fails", Steps: []Step{
			job("sleep 1; exit 42", "backoffLimit: 3\npodFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}").For(6 * time.Second),
		}},
		{Name: "job-failure-policy-ignores", Steps: []Step{
			job("sleep 1; exit 42", "backoffLimit: 0\npodFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [41]}}]}").For(6 * time.Second),
		}},
		{Name: "job-backoff-limit-per-index", Steps: []Step{
			job("sleep 1; exit $JOB_COMPLETION_INDEX", "completions: 2\nparallelism: 2\ncompletionMode: Indexed\nbackoffLimitPerIndex: 1").For(20 * time.Second),
		}},
		{Name: "job-max-failed-indexes", Steps: []Step{
			job("sleep 1; exit $JOB_COMPLETION_INDEX", "completions: 3\nparallelism: 3\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0\nmaxFailedIndexes: 1").For(
				8 * time.Second),
		}},
		{Name: "job-fail-index", Steps: []Step{
			job("sleep 1; exit $JOB_COMPLETION_INDEX", "completions: 2\nparallelism: 2\ncompletionMode: Indexed\nbackoffLimitPerIndex: 3\n"+
				"podFailurePolicy: {rules: [{action: FailIndex, onExitCodes: {operator: In, values: [1]}}]}").For(8 * time.Second),
		}},
		{Name: "job-success-policy", Steps: []Step{
			job("test $JOB_COMPLETION_INDEX = 1 || sleep 3600", "completions: 3\nparallelism: 3\ncompletionMode: Indexed\n"+
				"successPolicy: {rules: [{succeededIndexes: \"1-2\", succeededCount: 1}]}").For(8 * time.Second),
		}},
		{Name: "job-indexed-elastic", Steps: []Step{
			job("sleep 3600", "completions: 2\nparallelism: 2\ncompletionMode: Indexed"),
			Patch("three indexes", jobs, "once", `{"spec":{"parallelism":3,"completions":3}}`),
			Patch("one index", jobs, "once", `{"spec":{"parallelism":1,"completions":1}}`),
		}},
	}
}

func cronJobScenarios() []Scenario {
	cron := func(script, more string) Step {
		return Apply("create", fmt.Sprintf(`
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "* * * * *"%s
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          terminationGracePeriodSeconds: 0
          containers: [{name: c, image: "busybox:1", command: [sh, -c, '%s']}]
`, indent(2, more), script))
	}
	return []Scenario{
		{Name: "cronjob-each-minute", Steps: []Step{cron("sleep 1", "").ForMinutes(2)}},
		{Name: "cronjob-suspended", Steps: []Step{cron("sleep 1", "suspend: true").For(5 * time.Second)}},
		{Name: "cronjob-forbids", Steps: []Step{cron("sleep 3600", "concurrencyPolicy: Forbid").ForMinutes(2), Delete("cronjob/tick")}},
		{Name: "cronjob-replaces", Steps: []Step{cron("sleep 3600", "concurrencyPolicy: Replace").ForMinutes(2)}},
		{Name: "cronjob-no-such-schedule", Steps: []Step{
			cron("sleep 1", "suspend: true"),
			Patch("a schedule that is none", cronJobs, "tick", `{"spec":{"schedule":"every minute"}}`),
			Patch("a time zone that is none", cronJobs, "tick", `{"spec":{"timeZone":"Nowhere/Atlantis"}}`),
		}},
	}
}
