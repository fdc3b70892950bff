// Package clustertest holds what tests of whole clusters share: manifests, a backend, the main
// story, and what they require of a cluster.
package clustertest
