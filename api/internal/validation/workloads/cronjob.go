package workloads

import (
	"slices"
	"strings"

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
	policies := []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}
	if !slices.Contains(policies, spec.ConcurrencyPolicy) {
		p.Add(field.NotSupported(validation.SpecPath.Child("concurrencyPolicy"), spec.ConcurrencyPolicy, policies))
	}
	checkJobTemplate(p, &spec.JobTemplate.Spec, validation.SpecPath.Child("jobTemplate", "spec"))
	checkCount(p, spec.SuccessfulJobsHistoryLimit, "successfulJobsHistoryLimit")
	checkCount(p, spec.FailedJobsHistoryLimit, "failedJobsHistoryLimit")
	p.Need(validation.SpecPath, "schedule", spec.Schedule) // by a tag of its type, and so last
}

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
