package managers

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/conformance/internal/managers"
)

// There is no controller of EndpointSlices here. Upstream's works with this API server and these kubelets.
func TestUpstreamsEndpointSlicesFollowThePods(t *testing.T) {
	t.Parallel()
	w := start(t, managers.Scenario{})
	const service = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: ` + pod + `}
`
	w.do(func() { require.NoError(t, w.cluster.Apply(service)) })
	w.until("the two pods are endpoints", func() bool { return len(w.endpoints()) == 2 && slices.Equal(w.endpoints(), w.addresses()) })
	w.do(func() {
		_, err := w.cluster.Client().AppsV1().Deployments("default").Patch(context.Background(), "web", "application/merge-patch+json",
			[]byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	})
	w.until("the pod that is left is the only endpoint", func() bool { return len(w.endpoints()) == 1 && slices.Equal(w.endpoints(), w.addresses()) })
}

// endpoints returns the addresses of the ready endpoints of all slices but the API server's own, sorted.
func (w *world) endpoints() (list []string) {
	all, err := w.cluster.Client().DiscoveryV1().EndpointSlices("default").List(context.Background(),
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=web"})
	require.NoError(w, err)
	for _, slice := range all.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready != nil && *e.Conditions.Ready {
				list = append(list, e.Addresses...)
			}
		}
	}
	slices.Sort(list)
	return list
}

// addresses returns the addresses of the pods, sorted.
func (w *world) addresses() (list []string) {
	pods, err := w.cluster.Client().CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(w, err)
	for _, p := range pods.Items {
		list = append(list, p.Status.PodIP)
	}
	slices.Sort(list)
	return list
}
