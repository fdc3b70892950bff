package registry

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtinKinds returns the kinds of Kubernetes, in the order in which a real server tells of
// their groups. What has moved from one group to another comes last in the old one.
// Upstream: controlplane/apiserver/aggregator.go DefaultGenericAPIServicePriorities, v1.37.
func builtinKinds() []Kind {
	return slices.Concat(
		coreKinds(), appsKinds(), workloadKinds(), networkKinds(), storageKinds(), policyKinds(), otherKinds(), eventKinds(),
	)
}

// in puts kinds into a group and version.
func in(gv schema.GroupVersion, kinds ...Kind) []Kind {
	for i := range kinds {
		kinds[i].Group, kinds[i].Version = gv.Group, gv.Version
	}
	return kinds
}

// names returns a list of short names, or versions.
func names(list ...string) []string { return list }

// inAll returns the categories of what `kubectl get all` prints.
func inAll() []string { return []string{"all"} }

// The resources of namespaces, nodes and events.
var (
	Namespaces = v1.SchemeGroupVersion.WithResource("namespaces")
	Nodes      = v1.SchemeGroupVersion.WithResource("nodes")
)
