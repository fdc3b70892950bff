package storagesim

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// collected are the kinds that the garbage collector looks at: those that a manifest for
// the storage plane has. Their order is that in which they are listed, and so a part of
// what a seed means.
func (c *Cluster) collected() []metav1.APIResource {
	const names = "pods persistentvolumeclaims configmaps secrets services endpoints serviceaccounts replicationcontrollers podtemplates " +
		"resourcequotas limitranges persistentvolumes nodes namespaces " +
		"statefulsets deployments replicasets daemonsets controllerrevisions jobs cronjobs horizontalpodautoscalers poddisruptionbudgets " +
		"storageclasses csidrivers csinodes csistoragecapacities volumeattachments volumeattributesclasses " +
		"roles rolebindings clusterroles clusterrolebindings ingresses networkpolicies endpointslices leases priorityclasses runtimeclasses"
	var kinds []metav1.APIResource
	for _, name := range strings.Fields(names) {
		if kind, err := c.Server().Registry().Find(name); err == nil { // a server may lack some
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
