package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/workload"
)

// unknownIndex is the index of a pod that has none.
const unknownIndex = -1

// maxGenerateName is the number of characters of a generated name before the random ones.
// Upstream: apiserver storage/names MaxGeneratedNameLength, v1.37.
const maxGenerateName = 58

func isIndexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// completions returns the number of indexes of a Job that is Indexed.
func completions(job *batchv1.Job) int {
	if job.Spec.Completions == nil {
		return 0
	}
	return int(*job.Spec.Completions)
}

// isIndex reports whether the Job has that index.
func (l *look) isIndex(index int) bool { return index >= 0 && index < completions(l.job) }

// indexOf returns the completion index of a pod, or unknownIndex.
// Upstream: indexed_job_utils.go getCompletionIndex, v1.37.
func indexOf(pod *v1.Pod) int {
	n, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || n < 0 {
		return unknownIndex
	}
	return n
}

// setIndex gives a new pod its index: in a label, an annotation, its names and the variable JOB_COMPLETION_INDEX of its containers.
// Upstream: job_controller.go manageJob, indexed_job_utils.go addCompletionIndexEnvVariable, podGenerateNameWithIndex, v1.37.
func setIndex(pod *v1.Pod, job string, index int) {
	number := strconv.Itoa(index)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, number)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, number)
	pod.Spec.Hostname = job + "-" + number
	suffix := "-" + number + "-"
	pod.GenerateName = job[:min(len(job), maxGenerateName-len(suffix))] + suffix
	const name = "JOB_COMPLETION_INDEX"
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if slices.ContainsFunc(list[i].Env, func(v v1.EnvVar) bool { return v.Name == name }) {
				continue
			}
			from := &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: fmt.Sprintf("metadata.labels['%s']", batchv1.JobCompletionIndexAnnotation)}}
			list[i].Env = append(list[i].Env, v1.EnvVar{Name: name, ValueFrom: from})
		}
	}
}

// succeededIndexes returns the indexes of the pods that have just succeeded, in order.
// Upstream: indexed_job_utils.go calculateSucceededIndexes, v1.37.
func (l *look) succeededIndexes() (indexes []int) {
	for _, pod := range l.pods {
		if index := indexOf(pod); pod.Status.Phase == v1.PodSucceeded && l.isIndex(index) && isTracked(pod) {
			indexes = append(indexes, index)
		}
	}
	slices.Sort(indexes)
	return slices.Compact(indexes)
}

// pendingIndexes returns the first n indexes that have not failed and for which no pod has succeeded or runs.
// Upstream: indexed_job_utils.go firstPendingIndexes, v1.37.
func (l *look) pendingIndexes(n int) (pending []int) {
	taken := map[int]bool{}
	for _, pod := range l.active {
		taken[indexOf(pod)] = true
	}
	for _, pod := range l.pods {
		if onlyReplacesFailed(l.job) && workload.IsTerminating(pod) {
			taken[indexOf(pod)] = true
		}
	}
	for index := 0; index < completions(l.job) && len(pending) < n; index++ {
		if !taken[index] && !l.indexes.has(index) && !l.failedIndexes.has(index) {
			pending = append(pending, index)
		}
	}
	return pending
}

// interval holds the numbers from first to last. first <= last.
type interval struct{ first, last int }

// intervals is a set of numbers, in order. No two of them touch.
type intervals []interval

// with returns the set with more numbers, which are in order.
// Upstream: indexed_job_utils.go withOrderedIndexes, v1.37.
func (set intervals) with(more []int) (all intervals) {
	add := func(next interval) {
		if n := len(all); n > 0 && next.first <= all[n-1].last+1 {
			all[n-1].last = max(all[n-1].last, next.last)
		} else {
			all = append(all, next)
		}
	}
	rest := set
	for _, n := range more {
		for len(rest) > 0 && rest[0].first <= n {
			add(rest[0])
			rest = rest[1:]
		}
		add(interval{n, n})
	}
	for _, next := range rest {
		add(next)
	}
	return all
}

// total returns how many numbers there are.
func (set intervals) total() (n int) {
	for _, i := range set {
		n += i.last - i.first + 1
	}
	return n
}

// has reports whether the number is in the set.
func (set intervals) has(n int) bool {
	at, found := slices.BinarySearchFunc(set, n, func(i interval, n int) int { return i.first - n })
	return found || at > 0 && set[at-1].last >= n
}

// String returns the set as the status has it: "0-2,4,6,7". Two neighbours are not written as a range.
func (set intervals) String() string {
	var parts []string
	for _, i := range set {
		switch i.last - i.first {
		case 0:
			parts = append(parts, strconv.Itoa(i.first))
		case 1:
			parts = append(parts, strconv.Itoa(i.first), strconv.Itoa(i.last))
		default:
			parts = append(parts, strconv.Itoa(i.first)+"-"+strconv.Itoa(i.last))
		}
	}
	return strings.Join(parts, ",")
}

// parseIndexes returns the set that String returned, up to a number that is not in it. What is no number is left out.
// Upstream: indexed_job_utils.go parseIndexesFromString, v1.37.
func parseIndexes(text string, end int) (set intervals) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, badLast := strconv.Atoi(last)
		switch {
		case err != nil || badLast != nil:
			continue
		case from >= end:
			return set
		}
		to = min(to, end-1)
		if n := len(set); n > 0 && set[n-1].last == from-1 {
			set[n-1].last = to
		} else {
			set = append(set, interval{from, to})
		}
	}
	return set
}
