// Package release says which release of Kubernetes is modelled.
package release

// Kubernetes is the release, as the API server and the kubelets say it.
const Kubernetes = "v1.37.2"
