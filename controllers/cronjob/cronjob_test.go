package cronjob_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// cron returns a CronJob whose pods run for so many seconds; more is added to its spec.
func cron(schedule, seconds, more string) string {
	return `apiVersion: batch/v1
kind: CronJob
metadata: {name: often}
spec:
  schedule: "` + schedule + `"
` + more + `  jobTemplate:
    metadata: {labels: {app: often}, annotations: {a: b}}
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [sleep, "` + seconds + `"]}]}
`
}

// newCluster begins at 12:00:30.
func newCluster(t *testing.T) *storagesimtest.Cluster {
	return storagesimtest.New(t, storagesim.Config{Start: time.Date(2026, 3, 2, 12, 0, 30, 0, time.UTC)})
}

func jobsOf(t *testing.T, c *storagesimtest.Cluster) map[string]*batchv1.Job {
	t.Helper()
	list, err := c.Client().BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	jobs := map[string]*batchv1.Job{}
	for i := range list.Items {
		jobs[list.Items[i].Name] = &list.Items[i]
	}
	return jobs
}

func often(t *testing.T, c *storagesimtest.Cluster) *batchv1.CronJob {
	t.Helper()
	job, err := c.Client().BatchV1().CronJobs("default").Get(t.Context(), "often", metav1.GetOptions{})
	require.NoError(t, err)
	return job
}

// told returns the story as one line.
func told(c *storagesimtest.Cluster) string { return strings.Join(strings.Fields(c.Story()), " ") }

func TestACronJobMakesAJobWhenItsScheduleIsDue(t *testing.T) {
	c := newCluster(t)
	c.Apply(cron("* * * * *", "5", ""))
	c.Settle()
	require.Empty(t, jobsOf(t, c), "Settle does not wait for the schedule")
	c.RunFor(40 * time.Second)
	jobs := jobsOf(t, c)
	require.Len(t, jobs, 1)
	at := time.Date(2026, 3, 2, 12, 1, 0, 0, time.UTC)
	job := jobs["often-29540881"]
	require.NotNil(t, job, "%v", jobs)
	require.Equal(t, at.Unix()/60, int64(29540881))
	require.Equal(t, map[string]string{"a": "b", batchv1.CronJobScheduledTimestampAnnotation: "2026-03-02T12:01:00Z"}, job.Annotations)
	require.True(t, metav1.IsControlledBy(job, often(t, c)))
	require.Equal(t, "often", job.Labels["app"])

	c.RunFor(5 * time.Minute)
	require.Len(t, jobsOf(t, c), 3, "the history keeps three that succeeded")
	status := often(t, c).Status
	require.Empty(t, status.Active)
	require.True(t, status.LastScheduleTime.Time.Equal(at.Add(5*time.Minute)))
	require.True(t, status.LastSuccessfulTime.After(status.LastScheduleTime.Time))
	for _, says := range []string{
		"Normal SuccessfulCreate: Created job often-29540881", "Normal SawCompletedJob: Saw completed job: often-29540881, condition: Complete",
		"Normal SuccessfulDelete: Deleted job often-29540881",
	} {
		require.Contains(t, told(c), says)
	}
}

func TestTheHistoryKeepsOneJobThatFailed(t *testing.T) {
	c := newCluster(t)
	c.Apply(strings.NewReplacer("command: [sleep", `command: [sh, -c, "exit 1`, `, "5"]`, `"]`, "      template:",
		"      backoffLimit: 0\n      template:").Replace(cron("* * * * *", "5", "")))
	c.RunFor(4*time.Minute + 40*time.Second)
	jobs := jobsOf(t, c)
	require.Len(t, jobs, 1)
	require.NotNil(t, jobs["often-29540885"], "%v", jobs)
	require.Nil(t, often(t, c).Status.LastSuccessfulTime)
}

func TestJobsThatOverlap(t *testing.T) {
	for policy, want := range map[string]struct {
		active int
		says   string
	}{
		"Allow":   {3, "Created job often-29540883"},
		"Forbid":  {1, "Normal JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid"},
		"Replace": {1, "Normal SuccessfulDelete: Deleted job often-29540882"},
	} {
		t.Run(policy, func(t *testing.T) {
			c := newCluster(t)
			c.Apply(cron("* * * * *", "100000", "  concurrencyPolicy: "+policy+"\n"))
			c.RunFor(3 * time.Minute)
			require.Len(t, often(t, c).Status.Active, want.active)
			require.Contains(t, told(c), want.says)
		})
	}
}

func TestASuspendedCronJobThatIsResumedIsTooLate(t *testing.T) {
	c := newCluster(t)
	c.Apply(cron("0 * * * *", "5", "  suspend: true\n  startingDeadlineSeconds: 100\n"))
	c.RunFor(90 * time.Minute)
	require.Empty(t, jobsOf(t, c))
	c.Apply(cron("0 * * * *", "5", "  suspend: false\n  startingDeadlineSeconds: 100\n"))
	c.RunFor(20 * time.Minute)
	require.Empty(t, jobsOf(t, c), "the time of 13:00 is past its deadline")
	c.RunFor(20 * time.Minute)
	require.Len(t, jobsOf(t, c), 1)
}

func TestAScheduleOfAZoneAndOneThatChanges(t *testing.T) {
	c := newCluster(t)
	c.Apply(cron("30 20 * * *", "5", "  timeZone: Asia/Shanghai\n")) // 12:30 in UTC
	c.RunFor(20 * time.Minute)
	require.Empty(t, jobsOf(t, c))
	c.RunFor(12 * time.Minute)
	jobs := jobsOf(t, c)
	require.Len(t, jobs, 1)
	for _, job := range jobs {
		require.Equal(t, "2026-03-02T20:30:00+08:00", job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	}
	c.Apply(cron("*/10 * * * *", "5", "  timeZone: Asia/Shanghai\n"))
	c.RunFor(10 * time.Minute)
	require.Len(t, jobsOf(t, c), 2)
	require.NotContains(t, c.Story(), "UnexpectedJob")
}

func TestAControllerThatCrashesMakesNoJobTwice(t *testing.T) {
	c := newCluster(t)
	c.Apply(cron("* * * * *", "5", ""))
	c.RunFor(32 * time.Second)
	require.Len(t, jobsOf(t, c), 1)
	c.Crash(storagesim.CronJobs)
	c.RunFor(25 * time.Second)
	require.Len(t, jobsOf(t, c), 1)
}

// A server refuses both today, but has what an older one stored, and the zones that it knows may be fewer than before.
func TestAStoredCronJobWhoseTimesCannotBeReadSaysSo(t *testing.T) {
	for reason, test := range map[string]struct {
		spec batchv1.CronJobSpec
		want string
	}{
		"UnknownTimeZone": {
			batchv1.CronJobSpec{Schedule: "* * * * *", TimeZone: new("Asia/Shanghia")},
			`invalid timeZone: "Asia/Shanghia": unknown time zone Asia/Shanghia`,
		},
		"UnparseableSchedule": {
			batchv1.CronJobSpec{Schedule: "every minute"},
			`unparseable schedule: "every minute" : expected exactly 5 fields, found 2: [every minute]`,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			c := newCluster(t)
			require.NoError(t, c.Engine().Server().Seed(&batchv1.CronJob{
				ObjectMeta: metav1.ObjectMeta{Name: "often", Namespace: "default", UID: "1", CreationTimestamp: metav1.NewTime(c.Now())}, Spec: test.spec,
			}))
			c.RunFor(2 * time.Minute)
			require.Empty(t, jobsOf(t, c))
			require.Contains(t, told(c), reason)
			require.Contains(t, told(c), test.want)
		})
	}
}
