package tables

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// workloadTables returns the tables of the kinds that make pods.
// Upstream: pkg/printers/internalversion/printers.go, v1.37.
func workloadTables() map[schema.GroupKind]table {
	apps := func(kind string) schema.GroupKind { return schema.GroupKind{Group: appsv1.GroupName, Kind: kind} }
	return map[schema.GroupKind]table{
		apps("StatefulSet"): listing(columns("Name", "Ready", "Age", "*Containers", "*Images"), func(s *appsv1.StatefulSet, now time.Time) []string {
			names, images := containers(s.Spec.Template.Spec)
			return []string{s.Name, fmt.Sprintf("%d/%s", s.Status.ReadyReplicas, text(s.Spec.Replicas, "1")), age(s, now), names, images}
		}),
		apps("Deployment"): listing(columns("Name", "Ready", "#Up-to-date", "#Available", "Age", "*Containers", "*Images", "*Selector"),
			func(d *appsv1.Deployment, now time.Time) []string {
				names, images := containers(d.Spec.Template.Spec)
				return []string{
					d.Name, fmt.Sprintf("%d/%s", d.Status.ReadyReplicas, text(d.Spec.Replicas, "1")), fmt.Sprint(d.Status.UpdatedReplicas),
					fmt.Sprint(d.Status.AvailableReplicas), age(d, now), names, images, metav1.FormatLabelSelector(d.Spec.Selector),
				}
			}),
		apps("ReplicaSet"): listing(columns("Name", "##Desired", "##Current", "##Ready", "Age", "*Containers", "*Images", "*Selector"),
			func(r *appsv1.ReplicaSet, now time.Time) []string {
				names, images := containers(r.Spec.Template.Spec)
				return []string{
					r.Name, text(r.Spec.Replicas, "1"), fmt.Sprint(r.Status.Replicas), fmt.Sprint(r.Status.ReadyReplicas), age(r, now),
					names, images, metav1.FormatLabelSelector(r.Spec.Selector),
				}
			}),
		apps("DaemonSet"): listing(columns("Name", "##Desired", "##Current", "##Ready", "##Up-to-date", "##Available", "Node Selector", "Age",
			"*Containers", "*Images", "*Selector"), func(d *appsv1.DaemonSet, now time.Time) []string {
			names, images := containers(d.Spec.Template.Spec)
			return []string{
				d.Name, fmt.Sprint(d.Status.DesiredNumberScheduled), fmt.Sprint(d.Status.CurrentNumberScheduled), fmt.Sprint(d.Status.NumberReady),
				fmt.Sprint(d.Status.UpdatedNumberScheduled), fmt.Sprint(d.Status.NumberAvailable), labels.FormatLabels(d.Spec.Template.Spec.NodeSelector),
				age(d, now), names, images, metav1.FormatLabelSelector(d.Spec.Selector),
			}
		}),
		{Group: batchv1.GroupName, Kind: "Job"}: listing(columns("Name", "Status", "Completions", "Duration", "Age", "*Containers", "*Images", "*Selector"), job),
	}
}

func job(j *batchv1.Job, now time.Time) []string {
	names, images := containers(j.Spec.Template.Spec)
	took := ""
	if start := j.Status.StartTime; start != nil {
		end := now
		if j.Status.CompletionTime != nil {
			end = j.Status.CompletionTime.Time
		}
		took = duration.HumanDuration(end.Sub(start.Time))
	}
	return []string{
		j.Name, jobStatus(j), completions(j), took, age(j, now),
		names, images, metav1.FormatLabelSelector(j.Spec.Selector),
	}
}

// jobStatus returns the first of its states that a Job has, in upstream's order: a condition that tells what will come
// is passed over when it has come.
// Upstream: pkg/printers/internalversion printJob, v1.37.
func jobStatus(j *batchv1.Job) string {
	has := func(condition batchv1.JobConditionType) bool {
		return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == condition && c.Status == v1.ConditionTrue })
	}
	switch {
	case has(batchv1.JobComplete):
		return string(batchv1.JobComplete)
	case has(batchv1.JobFailed):
		return string(batchv1.JobFailed)
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case has(batchv1.JobSuspended):
		return string(batchv1.JobSuspended)
	case has(batchv1.JobFailureTarget):
		return string(batchv1.JobFailureTarget)
	}
	return "Running"
}

// completions returns how many of a Job's pods have succeeded, and how many must. Without a number one must, of all
// that run at once.
func completions(j *batchv1.Job) string {
	switch {
	case j.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	case j.Spec.Parallelism != nil && *j.Spec.Parallelism > 1:
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, *j.Spec.Parallelism)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

// containers returns the names and the images of a pod's containers.
func containers(spec v1.PodSpec) (names, images string) {
	var n, i []string
	for _, c := range spec.Containers {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}
