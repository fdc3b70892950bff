// Package clustertest holds what tests of whole clusters share: manifests, a backend, and what they read from a log or through a
// clientset. It makes no cluster.
package clustertest
