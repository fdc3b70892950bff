// Package cluster says what is wrong with the kinds that are neither storage nor pods nor workloads: nodes, namespaces,
// configuration, services, quotas, events and others with a few rules each.
package cluster
