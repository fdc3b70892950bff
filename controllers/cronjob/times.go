package cronjob

import (
	"errors"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/cron"
)

// nextScheduleDelta is added to each wait, as clocks may differ.
// Upstream: cronjob_controllerv2.go nextScheduleDelta, v1.37.
const nextScheduleDelta = 100 * time.Millisecond

// manyMissed is the number of missed times beyond which there is a warning.
// Upstream: cronjob/utils.go mostRecentScheduleTime, v1.37.
const manyMissed = 100

func zoneOf(cron *batchv1.CronJob) string {
	if cron.Spec.TimeZone == nil {
		return ""
	}
	return *cron.Spec.TimeZone
}

// scheduleOf reads the schedule. With a recorder it tells of a zone in the schedule itself.
// Upstream: cronjob_controllerv2.go formatSchedule, v1.37.
func (c *controller) scheduleOf(job *batchv1.CronJob, recorder control.Recorder) (cron.Schedule, error) {
	text := job.Spec.Schedule
	if strings.Contains(text, "TZ") {
		if recorder != nil {
			recorder.Eventf(job, v1.EventTypeWarning, "UnsupportedSchedule",
				"CRON_TZ or TZ used in schedule %q is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
				text)
		}
		return cron.Parse(text)
	}
	if zone := zoneOf(job); zone != "" {
		if _, err := time.LoadLocation(zone); err == nil {
			text = "TZ=" + zone + " " + text
		}
	}
	return cron.Parse(text)
}

// mostRecent returns the time from which missed times count, the most recent time at which a Job should have been made (the zero
// time for none), and how many were missed, roughly.
// Upstream: cronjob/utils.go mostRecentScheduleTime, v1.37.
func mostRecent(job *batchv1.CronJob, now time.Time, schedule cron.Schedule, deadline bool) (earliest, recent time.Time, missed int64, err error) {
	earliest = job.CreationTimestamp.UTC()
	if job.Status.LastScheduleTime != nil {
		earliest = job.Status.LastScheduleTime.UTC()
	}
	if s := job.Spec.StartingDeadlineSeconds; deadline && s != nil {
		if since := now.Add(-time.Duration(*s) * time.Second); since.After(earliest) {
			earliest = since
		}
	}
	first := schedule.Next(earliest)
	second := schedule.Next(first)
	switch {
	case now.Before(first):
		return earliest, time.Time{}, 0, nil
	case now.Before(second):
		return earliest, first, 0, nil
	}
	between := int64(second.Sub(first).Round(time.Second).Seconds())
	if between < 1 {
		return earliest, time.Time{}, 0, errors.New("time difference between two schedules is less than 1 second")
	}
	missed = int64(now.Sub(first).Seconds())/between + 1
	for t := schedule.Next(first.Add(time.Duration((missed-2)*between) * time.Second)); !t.After(now); t = schedule.Next(t) {
		recent = t
	}
	return earliest, recent, missed, nil
}

// nextScheduleTimeDuration returns the time until the next look at a CronJob.
// Upstream: cronjob/utils.go nextScheduleTimeDuration, v1.37.
func nextScheduleTimeDuration(job *batchv1.CronJob, now time.Time, schedule cron.Schedule) time.Duration {
	earliest, recent, missed, err := mostRecent(job, now, schedule, false)
	switch {
	case err != nil:
		recent = now
	case recent.IsZero() && missed == 0:
		recent = earliest
	case recent.IsZero():
		recent = now
	}
	return schedule.Next(recent).Add(nextScheduleDelta).Sub(now)
}
