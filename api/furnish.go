package api

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagesim/storagesim/api/address"
	"github.com/storagesim/storagesim/api/internal/call"
)

// furnisher is the actor that makes the objects of the server itself.
const furnisher = "kube-apiserver"

// Furnish makes the objects that kube-apiserver makes itself when it starts, and that people and programs look at: the service
// kubernetes, by which programs in pods find the API server and clients tell which family of addresses the cluster has, the two
// priority classes of the system, and the ConfigMap that says since when tokens of service accounts in Secrets are tracked. What
// is there already stays. If there is a certificate, by which programs in pods trust the server, each namespace gets it in a ConfigMap
// "kube-root-ca.crt", those that come later too. A cluster that is served has all of that; without it a run has fewer writes, and nothing
// else differs.
// Upstream: pkg/controlplane/controller/kubernetesservice CreateOrUpdateMasterServiceIfNeeded, pkg/registry/scheduling/rest
// AddSystemPriorityClasses and pkg/controlplane/controller/legacytokentracking, v1.37.2.
func (s *Server) Furnish(certificate []byte) error {
	s.writes.accounts.publish(string(certificate))
	classes := schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")
	policy := v1.PreemptLowerPriority
	for _, made := range []struct {
		resource  schema.GroupVersionResource
		namespace string
		obj       call.Object
	}{
		{v1.SchemeGroupVersion.WithResource("services"), metav1.NamespaceDefault, &v1.Service{
			ObjectMeta: metav1.ObjectMeta{
				Name: "kubernetes", Namespace: metav1.NamespaceDefault, Labels: map[string]string{"provider": "kubernetes", "component": "apiserver"},
			},
			Spec: v1.ServiceSpec{
				Type: v1.ServiceTypeClusterIP, ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"},
				IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, IPFamilyPolicy: new(v1.IPFamilyPolicySingleStack),
				Ports:           []v1.ServicePort{{Name: "https", Port: 443, Protocol: v1.ProtocolTCP, TargetPort: intstr.FromInt32(6443)}},
				SessionAffinity: v1.ServiceAffinityNone,
			},
		}},
		{classes, "", &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: "system-node-critical"}, Value: 2000001000, PreemptionPolicy: &policy,
			Description: "Used for system critical pods that must not be moved from their current node.",
		}},
		{classes, "", &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: "system-cluster-critical"}, Value: 2000000000, PreemptionPolicy: &policy,
			Description: "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
		}},
		{v1.SchemeGroupVersion.WithResource("configmaps"), metav1.NamespaceSystem, &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-legacy-service-account-token-tracking", Namespace: metav1.NamespaceSystem},
			Data:       map[string]string{"since": s.writes.clock.Now().UTC().Format(time.DateOnly)},
		}},
	} {
		k, ok := s.tables.registry.Lookup(made.resource)
		if !ok || s.tables.stored(address.Address{Kind: k, Namespace: made.namespace, Name: made.obj.GetName()}) != nil {
			continue
		}
		_, err := s.Do(context.Background(), Request{Actor: furnisher, Verb: "create", Resource: made.resource, Namespace: made.namespace, Object: made.obj})
		if err != nil {
			return fmt.Errorf("%s %s: %w", made.resource.Resource, made.obj.GetName(), err)
		}
	}
	return nil
}
