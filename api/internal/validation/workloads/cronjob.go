package workloads

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/internal/cron"
)

// CronJobs returns the validation of cronjobs.
// Upstream: pkg/apis/batch/validation ValidateCronJobCreate and ValidateCronJobUpdate, v1.37.
func CronJobs() validation.Kind {
	return validation.Typed[*batchv1.CronJob]{
		Create: func(p *validation.Problems, job *batchv1.CronJob) {
			checkCronJob(p, &job.Spec, nil)
			const most = 52 // a Job's name has eleven more
			if len(job.Name) > most {
				p.Invalid(validation.MetadataPath.Child("name"), job.Name, "must be no more than 52 characters")
			}
		},
		Update: func(p *validation.Problems, job, old *batchv1.CronJob) { checkCronJob(p, &job.Spec, &old.Spec) },
	}.Kind()
}

func checkCronJob(p *validation.Problems, spec, old *batchv1.CronJobSpec) {
	at := validation.SpecPath.Child("schedule")
	zoned := old != nil && strings.Contains(old.Schedule, "TZ")
	if spec.Schedule != "" {
		if _, err := cron.Parse(spec.Schedule); err != nil {
			p.Invalid(at, spec.Schedule, err.Error())
		}
		switch {
		case !strings.Contains(spec.Schedule, "TZ"):
		case !zoned:
			p.Invalid(at, spec.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
		case spec.TimeZone != nil:
			p.Invalid(at, spec.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")
		}
	}
	if s := spec.StartingDeadlineSeconds; s != nil {
		p.NotNegative(*s, validation.SpecPath, "startingDeadlineSeconds")
	}
	if zone := spec.TimeZone; zone != nil && (old == nil || !validation.SamePtr(zone, old.TimeZone)) {
		checkTimeZone(p, *zone)
	}
	policies := []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}
	if !slices.Contains(policies, spec.ConcurrencyPolicy) {
		p.Add(field.NotSupported(validation.SpecPath.Child("concurrencyPolicy"), spec.ConcurrencyPolicy, policies))
	}
	checkJobTemplate(p, &spec.JobTemplate.Spec, validation.SpecPath.Child("jobTemplate", "spec"))
	checkCount(p, spec.SuccessfulJobsHistoryLimit, "successfulJobsHistoryLimit")
	checkCount(p, spec.FailedJobsHistoryLimit, "failedJobsHistoryLimit")
	p.Need(validation.SpecPath, "schedule", spec.Schedule) // by a tag of its type, and so last
}

// checkTimeZone validates the name of a time zone. Package cron has the database of zones.
// Upstream: batch/validation validateTimeZone, v1.37.2.
func checkTimeZone(p *validation.Problems, zone string) {
	at := validation.SpecPath.Child("timeZone")
	if zone == "" {
		p.Invalid(at, zone, "timeZone must be nil or non-empty string")
		return
	}
	for part := range strings.SplitSeq(zone, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || part == "" || len(part) > 14 || strings.Trim(part, zoneLetters) != "" {
			p.Invalid(at, zone, "unknown time zone "+zone)
			return
		}
	}
	if strings.EqualFold(zone, "Local") {
		p.Invalid(at, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
	}
	if _, err := time.LoadLocation(zone); err != nil {
		p.Invalid(at, zone, err.Error())
	}
}

// zoneLetters may be in the parts of the name of a time zone.
const zoneLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_+"

// checkJobTemplate validates the Jobs that a CronJob makes, whose selectors the server will write.
// Upstream: batch/validation ValidateJobTemplateSpec, v1.37.2.
func checkJobTemplate(p *validation.Problems, spec *batchv1.JobSpec, at *field.Path) {
	checkJobFields(p, spec, at)
	if spec.Selector != nil {
		p.Invalid(at.Child("selector"), spec.Selector, "`selector` will be auto-generated")
	}
	if spec.ManualSelector != nil && *spec.ManualSelector {
		p.Add(field.NotSupported(at.Child("manualSelector"), spec.ManualSelector, []string{"nil", "false"}))
	}
}
