package explain

import (
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/controllers/job"
	"github.com/storagesim/storagesim/internal/podstatus"
)

// job explains a Job: how many of its pods have succeeded, why it has failed, and what keeps the others.
func (x *explainer) job(ns, name string) error {
	j, err := x.Client.BatchV1().Jobs(ns).Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	ref := "job/" + ns + "/" + name
	return x.within(ref, func() error {
		x.found.Objects = append(x.found.Objects, ref)
		want := int32(1) // success of any pod
		if j.Spec.Completions != nil {
			want = *j.Spec.Completions
		}
		failed := jobCondition(j, batchv1.JobFailed)
		complete := jobCondition(j, batchv1.JobComplete) != nil
		x.setState(complete, "%d of %d complete", j.Status.Succeeded, want)
		x.say("job %s/%s: %d of %d pods have succeeded, %d have failed, %d are active", ns, name, j.Status.Succeeded, want, j.Status.Failed, j.Status.Active)
		x.events(ref, "Job", j.UID, "")
		x.notModelled("Job", j)
		switch {
		case complete:
			return nil
		case failed != nil:
			x.ill(JobFailed, "", "mend what its pods do, delete it and create it again", "it has failed: %s (%s)", failed.Message, failed.Reason)
			return x.firstOfJob(ns, j, func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
		case jobCondition(j, batchv1.JobFailureTarget) != nil:
			target := jobCondition(j, batchv1.JobFailureTarget)
			x.ill(JobFailed, "", "mend what its pods do, delete it and create it again", "it fails when its pods have ended: %s (%s)", target.Message, target.Reason)
			return x.firstOfJob(ns, j, func(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil })
		case jobCondition(j, batchv1.JobSuccessCriteriaMet) != nil:
			x.underWay(JobRuns, "", "it has succeeded, and waits until its other pods have ended")
			return x.firstOfJob(ns, j, func(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil })
		case j.Spec.Suspend != nil && *j.Spec.Suspend:
			x.waits(Paused, "", "set spec.suspend to false", "it is suspended (spec.suspend)")
			return nil
		case j.Spec.ManagedBy != nil && *j.Spec.ManagedBy != batchv1.JobControllerName:
			x.waits(ActorMissing, "actor/"+*j.Spec.ManagedBy, "run that controller", "%s is to run it (spec.managedBy)", *j.Spec.ManagedBy)
			return nil
		}
		return x.whyNotComplete(ns, j)
	})
}

// whyNotComplete blames what keeps a Job that may still succeed.
func (x *explainer) whyNotComplete(ns string, j *batchv1.Job) error {
	x.needs(job.ActorName, "makes its pods")
	if e, found := x.lastWarning("Job", j.UID, "FailedCreate"); found && j.Status.Active == 0 {
		x.ill(FailedCreate, "", mend(e.Message), "it cannot make a pod: %s", e.Message)
	}
	if j.Status.Active == 0 && j.Status.Failed > 0 {
		x.underWay(JobBackoff, "", "%d of its pods have failed, of which spec.backoffLimit allows %d; the next pod waits 10 s after the first failure, "+
			"and twice as long after each other one", j.Status.Failed, *j.Spec.BackoffLimit)
		return x.firstOfJob(ns, j, func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
	}
	if j.Status.Active > 0 && j.Status.Ready != nil && *j.Status.Ready == j.Status.Active {
		x.underWay(JobRuns, "", "its pods run and have not ended")
		return nil
	}
	return x.firstOfJob(ns, j, func(pod *v1.Pod) bool { return pod.Status.Phase != v1.PodSucceeded && !podstatus.IsReady(pod) })
}

// firstOfJob explains the first pod of a Job of which has holds.
func (x *explainer) firstOfJob(ns string, j *batchv1.Job, has func(*v1.Pod) bool) error {
	pods, err := x.Client.CoreV1().Pods(ns).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !isOwnedBy(pod, j.UID) || !has(pod) {
			continue
		}
		x.silently(func() { x.underWay(PodNotReady, podRef(pod), "its pod %s is %s", pod.Name, pod.Status.Phase) })
		return x.pod(ns, pod.Name)
	}
	return nil
}

// jobCondition returns a condition of a Job that is True, nil if there is none.
func jobCondition(j *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range j.Status.Conditions {
		if c := &j.Status.Conditions[i]; c.Type == kind && c.Status == v1.ConditionTrue {
			return c
		}
	}
	return nil
}
