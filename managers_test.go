package storagesim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim"
)

// Who owns which field, as a cluster says it: the program, and not one of its controllers.
func TestFieldsBelongToTheProgramThatAnActorIsAPartOf(t *testing.T) {
	c, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	client, err := kubernetes.NewForConfig(c.RESTConfig("kubectl"))
	require.NoError(t, err)
	core, none := client.CoreV1(), ""
	require.NoError(t, c.Apply(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /disk}}
`))
	_, err = core.PersistentVolumeClaims("default").Create(t.Context(), &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: &none, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = core.Pods("default").Create(t.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{
			NodeSelector: map[string]string{"no": "node"}, Containers: []v1.Container{{Name: "web", Image: "busybox"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = core.Pods("default").Create(t.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "runs"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "web", Image: "busybox"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Settle())

	managers := func(obj metav1.Object) (names []string) {
		for _, entry := range obj.GetManagedFields() {
			names = append(names, entry.Manager+" "+entry.Subresource)
		}
		return names
	}
	claim, err := core.PersistentVolumeClaims("default").Get(t.Context(), "data", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, v1.ClaimBound, claim.Status.Phase)
	require.Equal(t, []string{"kube-controller-manager ", "kube-controller-manager status", "kubectl "}, managers(claim))
	for name, want := range map[string][]string{"web": {"kube-scheduler status", "kubectl "}, "runs": {"kubectl ", "kubelet status"}} {
		pod, err := core.Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, want, managers(pod), name)
	}
}
