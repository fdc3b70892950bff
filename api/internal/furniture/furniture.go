// Package furniture has the objects that a cluster has before a client writes one: those of the API server itself, and those of each
// namespace.
package furniture

import (
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagesim/storagesim/api/internal/call"
)

// Namespaces returns the names of those that are always there.
func Namespaces() []string {
	return []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, v1.NamespaceNodeLease}
}

// Namespace returns one of them.
func Namespace(name string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NamespaceSpec{Finalizers: []v1.FinalizerName{v1.FinalizerKubernetes}}}
}

// Account returns the service account of each namespace.
// Upstream: pkg/controller/serviceaccount DefaultServiceAccountsControllerOptions, v1.37.
func Account() *v1.ServiceAccount {
	return &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
}

// Certificate returns the ConfigMap of each namespace with the certificate of the server.
// Upstream: pkg/controller/certificates/rootcacertpublisher RootCACertConfigMapName, v1.37.
func Certificate(text string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": text}}
}

// Piece is an object of the server itself, with its resource.
type Piece struct {
	Resource schema.GroupVersionResource
	Object   call.Object
}

// Server returns what kube-apiserver makes when it starts at a time: the service kubernetes, the two priority classes of the system,
// and the ConfigMap that says since when tokens of service accounts in Secrets are tracked.
// Upstream: pkg/controlplane/controller/kubernetesservice CreateOrUpdateMasterServiceIfNeeded, pkg/apis/scheduling SystemPriorityClasses
// and pkg/controlplane/controller/legacytokentracking, v1.37.2.
func Server(now time.Time) []Piece {
	classes, policy := schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"), v1.PreemptLowerPriority
	return []Piece{
		{v1.SchemeGroupVersion.WithResource("services"), &v1.Service{
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
		{classes, &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: "system-node-critical"}, Value: 2000001000, PreemptionPolicy: &policy,
			Description: "Used for system critical pods that must not be moved from their current node.",
		}},
		{classes, &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: "system-cluster-critical"}, Value: 2000000000, PreemptionPolicy: &policy,
			Description: "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
		}},
		{v1.SchemeGroupVersion.WithResource("configmaps"), &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-legacy-service-account-token-tracking", Namespace: metav1.NamespaceSystem},
			Data:       map[string]string{"since": now.UTC().Format(time.DateOnly)},
		}},
	}
}
