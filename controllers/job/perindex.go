package job

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file counts the failures of each index by itself (spec.backoffLimitPerIndex) and asks the success policy.

// hasLimitPerIndex reports whether the failures of each index count by themselves.
// Upstream: indexed_job_utils.go hasBackoffLimitPerIndex, v1.37.2.
func hasLimitPerIndex(job *batchv1.Job) bool { return job.Spec.BackoffLimitPerIndex != nil }

// countIndexes finds the indexes that have failed, and the failed pods that wait for their successors.
// Upstream: indexed_job_utils.go calculateFailedIndexes, getPodsWithDelayedDeletionPerIndex, v1.37.2.
func (l *look) countIndexes() {
	if !hasLimitPerIndex(l.job) {
		return
	}
	if was := l.job.Status.FailedIndexes; was != nil {
		l.failedIndexes = parseIndexes(*was, completions(l.job))
	}
	var failed []int
	for _, pod := range l.pods {
		if index := indexOf(pod); l.isIndex(index) && isTracked(pod) && l.failsIndex(pod) {
			failed = append(failed, index)
		}
	}
	slices.Sort(failed)
	l.failedIndexes = l.failedIndexes.with(slices.Compact(failed))
	l.delayed = map[int]*v1.Pod{}
	runs := map[int]bool{}
	for _, pod := range l.active {
		runs[indexOf(pod)] = true
	}
	for _, pod := range l.newlyEnded(nil, l.hasFailed) {
		index := indexOf(pod)
		if l.indexes.has(index) || l.failedIndexes.has(index) || runs[index] {
			continue
		}
		if last := l.delayed[index]; last == nil || allFailures(last) <= allFailures(pod) && !endOf(pod).Before(endOf(last)) {
			l.delayed[index] = pod
		}
	}
}

// failsIndex reports whether with this pod its index has failed: it was the last try, or a rule says so.
// Upstream: indexed_job_utils.go isIndexFailed, v1.37.2.
func (l *look) failsIndex(pod *v1.Pod) bool {
	if !l.hasFailed(pod) {
		return false
	}
	switch l.actionOf(pod) {
	case batchv1.PodFailurePolicyActionFailIndex:
		return true
	case batchv1.PodFailurePolicyActionIgnore:
		return false
	}
	return failures(pod, batchv1.JobIndexFailureCountAnnotation) >= int(*l.job.Spec.BackoffLimitPerIndex)
}

// failures returns how many pods of its index had failed before this one, as an annotation says: those that count, or those that are ignored.
// Upstream: indexed_job_utils.go parseIndexFailureCountAnnotation, parseIndexFailureIgnoreCountAnnotation, v1.37.2.
func failures(pod *v1.Pod, annotation string) int {
	n, err := strconv.Atoi(pod.Annotations[annotation])
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return n
}

// allFailures returns how many pods of its index had failed before this one.
// Upstream: indexed_job_utils.go getIndexAbsoluteFailureCount, v1.37.2.
func allFailures(pod *v1.Pod) int {
	return failures(pod, batchv1.JobIndexFailureCountAnnotation) + failures(pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
}

// setFailures writes into a new pod how many pods of its index have failed. last is the one that it replaces, nil if it is the first.
// Upstream: indexed_job_utils.go addIndexFailureCountAnnotation, getNewIndexFailureCounts, v1.37.2.
func (l *look) setFailures(pod, last *v1.Pod) {
	counted, ignored := 0, 0
	if last != nil {
		counted, ignored = failures(last, batchv1.JobIndexFailureCountAnnotation), failures(last, batchv1.JobIndexIgnoredFailureCountAnnotation)
		if l.counts(last) {
			counted++
		} else {
			ignored++
		}
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobIndexFailureCountAnnotation, strconv.Itoa(counted))
	if ignored > 0 {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobIndexIgnoredFailureCountAnnotation, strconv.Itoa(ignored))
	}
}

// dueIndexes returns the indexes whose wait after a failure is over, or, if there are none, how long the shortest wait still takes.
// Upstream: job_controller.go getPodCreationInfoForIndependentIndexes, backoff_utils.go getRemainingTimePerIndex, v1.37.2.
func (l *look) dueIndexes(indexes []int) (due []int, wait time.Duration) {
	for _, index := range indexes {
		left := time.Duration(0)
		if last := l.delayed[index]; last != nil {
			left = backoff{failures: allFailures(last) + 1, last: endOf(last)}.remaining(l.env.Now())
		}
		switch {
		case left == 0:
			due = append(due, index)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	if len(due) > 0 {
		return due, 0
	}
	return nil, wait
}

// successPolicyMet says which rule of spec.successPolicy the indexes that have succeeded fulfil: "Matched rules at index 0"; "" if none.
// Upstream: success_policy.go matchSuccessPolicy, matchSucceededIndexesRule, v1.37.2.
func (l *look) successPolicyMet() string {
	policy := l.job.Spec.SuccessPolicy
	if policy == nil || len(l.indexes) == 0 {
		return ""
	}
	for i, rule := range policy.Rules {
		least, done := 0, l.indexes.total()
		if rule.SucceededIndexes != nil {
			wanted := parseIndexes(*rule.SucceededIndexes, completions(l.job))
			if len(wanted) == 0 {
				continue
			}
			least, done = wanted.total(), wanted.shared(l.indexes)
		}
		if rule.SucceededCount != nil {
			least = int(*rule.SucceededCount)
		}
		if (rule.SucceededIndexes != nil || rule.SucceededCount != nil) && done >= least {
			return fmt.Sprintf("Matched rules at index %d", i)
		}
	}
	return ""
}

// shared returns how many numbers both sets have.
func (set intervals) shared(other intervals) (n int) {
	for len(set) > 0 && len(other) > 0 {
		a, b := set[0], other[0]
		n += max(min(a.last, b.last)-max(a.first, b.first)+1, 0)
		if a.last < b.last {
			set = set[1:]
		} else {
			other = other[1:]
		}
	}
	return n
}
