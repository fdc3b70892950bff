package serve

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// publish makes the service kubernetes of the namespace default, by which programs in pods
// find the API server, and clients tell which family of addresses the cluster has.
// Upstream: pkg/controlplane/controller/kubernetesservice CreateOrUpdateMasterServiceIfNeeded,
// v1.37.
func publish(server api.Handler) error {
	client := fake.NewWithoutActions(server, "kube-apiserver")
	_, err := client.CoreV1().Services(metav1.NamespaceDefault).Create(context.Background(), &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "kubernetes", Labels: map[string]string{"provider": "kubernetes", "component": "apiserver"}},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeClusterIP, ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"},
			IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, IPFamilyPolicy: new(v1.IPFamilyPolicySingleStack),
			Ports:           []v1.ServicePort{{Name: "https", Port: 443, Protocol: v1.ProtocolTCP, TargetPort: intstr.FromInt32(6443)}},
			SessionAffinity: v1.ServiceAffinityNone,
		},
	}, metav1.CreateOptions{})
	return unlessThere(err)
}
