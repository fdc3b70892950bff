package tables

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestCellsOverTheAPI(t *testing.T) {
	born := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	meta := metav1.ObjectMeta{Name: "x", CreationTimestamp: metav1.NewTime(born)}
	selector, template := map[string]string{"a": "b"}, v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i"}}},
	}
	core := func(kind string) schema.GroupKind { return schema.GroupKind{Kind: kind} }
	addresses := make([]v1.EndpointAddress, 4)
	for i := range addresses {
		addresses[i].IP = "10.0.0." + string(rune('1'+i))
	}
	last := metav1.NewTime(born.Add(30 * time.Second))
	owner := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", Controller: new(true)}}
	for name, c := range map[string]struct {
		kind schema.GroupKind
		obj  runtime.Object
		want []any
	}{
		"an address of a cluster": {core("Service"), &v1.Service{ObjectMeta: meta, Spec: v1.ServiceSpec{
			Type: "ClusterIP", ClusterIPs: []string{"10.96.0.7"}, Selector: selector,
			Ports: []v1.ServicePort{{Port: 80, Protocol: "TCP"}, {Port: 53, NodePort: 30053, Protocol: "UDP"}},
		}}, []any{"x", "ClusterIP", "10.96.0.7", "<none>", "80/TCP,53:30053/UDP", "60s", "a=b"}},
		"a load balancer": {core("Service"), &v1.Service{ObjectMeta: meta, Spec: v1.ServiceSpec{Type: "LoadBalancer"}},
			[]any{"x", "LoadBalancer", "<none>", "<pending>", "<none>", "60s", "<none>"}},
		"a name elsewhere": {core("Service"), &v1.Service{ObjectMeta: meta, Spec: v1.ServiceSpec{Type: "ExternalName", ExternalName: "a.example.com"}},
			[]any{"x", "ExternalName", "<none>", "a.example.com", "<none>", "60s", "<none>"}},
		"a controller of pods": {core("ReplicationController"),
			&v1.ReplicationController{ObjectMeta: meta, Spec: v1.ReplicationControllerSpec{Replicas: new(int32(3)), Selector: selector, Template: &template}},
			[]any{"x", int64(3), int64(0), int64(0), "60s", "c", "i", "a=b"}},
		"a template": {core("PodTemplate"), &v1.PodTemplate{ObjectMeta: meta, Template: template}, []any{"x", "c", "i", "a=b"}},
		"endpoints": {core("Endpoints"), &v1.Endpoints{ObjectMeta: meta, Subsets: []v1.EndpointSubset{{Addresses: addresses, Ports: []v1.EndpointPort{{Port: 80}}}}},
			[]any{"x", "10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 1 more...", "60s"}},
		"no endpoints": {core("Endpoints"), &v1.Endpoints{ObjectMeta: meta}, []any{"x", "<none>", "60s"}},
		"a slice": {schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}, &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: "IPv4",
			Ports: []discoveryv1.EndpointPort{{Port: new(int32(80))}, {}}}, []any{"x", "IPv4", "80,*", "<unset>", "60s"}},
		"a cron job": {schema.GroupKind{Group: "batch", Kind: "CronJob"},
			&batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{Schedule: "* * * * *", Suspend: new(false)},
				Status: batchv1.CronJobStatus{LastScheduleTime: &last}}, []any{"x", "* * * * *", "<none>", "False", int64(0), "30s", "60s", "", "", "<none>"}},
		"a revision": {schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}, &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: meta.CreationTimestamp, OwnerReferences: owner}, Revision: 2,
		}, []any{"x", "statefulset.apps/db", int64(2), "60s"}},
		"an ingress": {schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}, &networkingv1.Ingress{ObjectMeta: meta, Spec: networkingv1.IngressSpec{
			Rules: []networkingv1.IngressRule{{Host: "a"}, {Host: "b"}, {}, {Host: "c"}, {Host: "d"}}, TLS: []networkingv1.IngressTLS{{}},
		}}, []any{"x", "<none>", "a,b,c + 2 more...", "", "80, 443", "60s"}},
		"a binding of a role": {schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"},
			&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"},
				Subjects: []rbacv1.Subject{{Kind: "User", Name: "u"}, {Kind: "ServiceAccount", Namespace: "n", Name: "s"}}}, []any{"x", "Role/r", "60s", "u", "", "n/s"}},
		"a kind without a table": {core("LimitRange"), &v1.LimitRange{ObjectMeta: meta}, []any{"x", "2026-01-01T00:00:00Z"}},
		"an attachment": {schema.GroupKind{Group: "storage.k8s.io", Kind: "VolumeAttachment"},
			&storagev1.VolumeAttachment{ObjectMeta: meta, Spec: storagev1.VolumeAttachmentSpec{Attacher: "d", NodeName: "n"}},
			[]any{"x", "d", "", "n", false, "60s"}},
		"the CSI of a node": {schema.GroupKind{Group: "storage.k8s.io", Kind: "CSINode"}, &storagev1.CSINode{ObjectMeta: meta}, []any{"x", int64(0), "60s"}},
		"a driver": {schema.GroupKind{Group: "storage.k8s.io", Kind: "CSIDriver"},
			&storagev1.CSIDriver{ObjectMeta: meta, Spec: storagev1.CSIDriverSpec{VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{"Persistent"}}},
			[]any{"x", true, false, false, "<unset>", false, "Persistent", "60s"}},
	} {
		assert.Equal(t, c.want, Cells(c.kind, c.obj, born.Add(time.Minute)), name)
		require.Len(t, Columns(c.kind), len(c.want), name)
	}
}

func TestColumnsSayWhatTheirCellsAre(t *testing.T) {
	types := func(group, kind string) (list []string) {
		for _, c := range Columns(schema.GroupKind{Group: group, Kind: kind}) {
			list = append(list, c.Type+" "+c.Format)
		}
		return list
	}
	assert.Equal(t, []string{"string name", "string name", "string ", "string ", "boolean ", "string "}, types("storage.k8s.io", "VolumeAttachment"))
	assert.Equal(t, []string{"string name", "integer ", "string "}, types("storage.k8s.io", "CSINode"))
	assert.Equal(t, []string{"string name", "boolean ", "boolean ", "boolean ", "string ", "boolean ", "string ", "string "}, types("storage.k8s.io", "CSIDriver"))
	assert.Equal(t, []string{"string name", "date "}, types("", "LimitRange"))
}
