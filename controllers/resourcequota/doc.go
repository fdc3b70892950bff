// Package resourcequota is the controller of ResourceQuotas. Begin with syncResourceQuota in controller.go: it counts what the
// objects of a namespace take, and writes status.hard and status.used. The API server refuses what would go beyond
// status.hard, and adds what it lets through to status.used itself; this controller takes away what is gone.
//
// monitor.go follows the resources that quotas count, and says when a quota is to be counted again: when an object is deleted,
// when a pod has ended, whenever a claim has changed. All quotas are counted every 5 minutes, too.
//
// Upstream: pkg/controller/resourcequota, v1.37.
//
// # Deviations from upstream
//
//   - Caches, the queue and the round of 5 minutes begin with the first quota of the cluster, so that a cluster without any is as if
//     there were no such controller. Only those resources are followed that a quota counts.
//   - There is one queue with one worker, instead of two with five each: one for quotas without a status, one for the others.
//   - A resource that discovery does not have is looked for whenever a quota that counts it is counted, not every 30 s.
package resourcequota
