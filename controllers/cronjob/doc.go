// Package cronjob is the controller of CronJobs: it makes a Job each time the schedule is due. Begin with sync in controller.go,
// which deletes old Jobs (history.go), brings the status up to date with the Jobs, and starts the next one if it is due
// (start.go). times.go says when that is.
//
// Upstream: pkg/controller/cronjob, v1.37.
//
// # Deviations from upstream
//
//   - Caches and queues begin with the first CronJob of the cluster, so that a cluster without any is as if there were no such controller.
//   - There is one worker instead of five. A look that is due later is scheduled once for each CronJob, and Settle does not wait for it.
//   - Schedules are in UTC unless they name a zone; upstream's are in the zone of its machine.
package cronjob
