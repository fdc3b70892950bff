package explain

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/storagesim/storagesim/controllers/cronjob"
)

// cronJob explains a CronJob: when it was scheduled last, what keeps it from making a Job, and what keeps its newest Job.
func (x *explainer) cronJob(ns, name string) error {
	cron, err := x.Client.BatchV1().CronJobs(ns).Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	newest, err := x.newestJob(ns, cron.UID)
	if err != nil {
		return err
	}
	ref := "cronjob/" + ns + "/" + name
	return x.within(ref, func() error {
		x.found.Objects = append(x.found.Objects, ref)
		last := "not yet due"
		if at := cron.Status.LastScheduleTime; at != nil {
			last = fmt.Sprintf("last due %s ago", duration.HumanDuration(x.Now.Sub(at.Time)))
		}
		suspended := cron.Spec.Suspend != nil && *cron.Spec.Suspend
		complete := newest == nil || jobCondition(newest, batchv1.JobComplete) != nil
		x.setState(complete && !suspended, "scheduled at %q, %s, with %d active Jobs", cron.Spec.Schedule, last, len(cron.Status.Active))
		x.say("cronjob %s/%s is scheduled at %q, %s; %d of its Jobs are active", ns, name, cron.Spec.Schedule, last, len(cron.Status.Active))
		x.events(ref, "CronJob", cron.UID, "")
		x.notModelled("CronJob", cron)
		if suspended {
			x.waits(Paused, "", "set spec.suspend to false", "it is suspended (spec.suspend)")
		} else {
			x.needs(cronjob.ActorName, "makes its Jobs")
		}
		if e, found := x.lastWarning("CronJob", cron.UID, "FailedCreate"); found && (newest == nil || e.Last.After(newest.CreationTimestamp.Time)) {
			x.ill(FailedCreate, "", mend(e.Message), "it cannot make a Job: %s", e.Message)
		}
		if complete {
			return nil
		}
		if len(cron.Status.Active) > 0 && cron.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent {
			x.say("  it makes no other Job before that one has ended (spec.concurrencyPolicy is Forbid)")
		}
		return x.job(ns, newest.Name)
	})
}

// newestJob returns the Job of an owner that was made last, nil if it has none.
func (x *explainer) newestJob(ns string, owner types.UID) (*batchv1.Job, error) {
	jobs, err := x.Client.BatchV1().Jobs(ns).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var newest *batchv1.Job
	for i := range jobs.Items {
		j := &jobs.Items[i]
		if isOwnedBy(j, owner) && (newest == nil || newest.CreationTimestamp.Before(&j.CreationTimestamp)) {
			newest = j
		}
	}
	return newest, nil
}
