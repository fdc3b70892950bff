package tables

import (
	"fmt"
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

// workloadTables returns those of the kinds that make pods.
// Upstream: pkg/printers/internalversion/printers.go, v1.36.
func workloadTables() map[schema.GroupKind]table {
	apps := func(kind string) schema.GroupKind { return schema.GroupKind{Group: appsv1.GroupName, Kind: kind} }
	return map[schema.GroupKind]table{
		apps("StatefulSet"): listing(columns("Name", "Ready", "Age", "*Containers", "*Images"), func(s *appsv1.StatefulSet, now time.Time) []string {
			names, images := containers(s.Spec.Template.Spec)
			return []string{s.Name, fmt.Sprintf("%d/%s", s.Status.ReadyReplicas, text(s.Spec.Replicas, "1")), age(s, now), names, images}
		}),
		apps("Deployment"): listing(columns("Name", "Ready", "#Up-to-date", "#Available", "Age", "*Containers", "*Images", "*Selector"), func(d *appsv1.Deployment, now time.Time) []string {
			names, images := containers(d.Spec.Template.Spec)
			return []string{
				d.Name, fmt.Sprintf("%d/%s", d.Status.ReadyReplicas, text(d.Spec.Replicas, "1")), fmt.Sprint(d.Status.UpdatedReplicas),
				fmt.Sprint(d.Status.AvailableReplicas), age(d, now), names, images, metav1.FormatLabelSelector(d.Spec.Selector),
			}
		}),
		apps("ReplicaSet"): listing(columns("Name", "##Desired", "##Current", "##Ready", "Age", "*Containers", "*Images", "*Selector"), func(r *appsv1.ReplicaSet, now time.Time) []string {
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
		j.Name, jobStatus(j), fmt.Sprintf("%d/%s", j.Status.Succeeded, text(j.Spec.Completions, "1")), took, age(j, now),
		names, images, metav1.FormatLabelSelector(j.Spec.Selector),
	}
}

func jobStatus(j *batchv1.Job) string {
	for _, c := range j.Status.Conditions {
		if c.Status == v1.ConditionTrue {
			return string(c.Type)
		}
	}
	if j.DeletionTimestamp != nil {
		return "Terminating"
	}
	return "Running"
}

// containers returns the names and the images of a pod's containers.
func containers(spec v1.PodSpec) (names, images string) {
	var n, i []string
	for _, c := range spec.Containers {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}
