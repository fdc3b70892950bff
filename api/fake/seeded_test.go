package fake_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgo "k8s.io/client-go/kubernetes/fake"

	"github.com/storagesim/storagesim/api/fake"
)

func TestAClientsetHasTheObjectsThatItIsMadeWith(t *testing.T) {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "nginx"}}},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}
	list := &v1.ConfigMapList{Items: []v1.ConfigMap{*configMap("a"), *configMap("b")}}
	for name, made := range map[string]kubernetes.Interface{
		"client-go": clientgo.NewClientset(pod, list), "ours": fake.NewClientset(pod, list), "simple": fake.NewSimpleClientset(pod, list),
		"unchecked": fake.NewClientsetUnchecked(pod, list),
	} {
		got, err := made.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err, name)
		require.Equal(t, v1.PodRunning, got.Status.Phase, name)
		maps, err := made.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, name)
		require.Len(t, maps.Items, 2, name)
	}
}

func TestObjectsThatAClusterRefusesAreInAnUncheckedClientsetOnly(t *testing.T) {
	bad := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "Local PV"}, Status: v1.PersistentVolumeStatus{Phase: v1.VolumeReleased}}
	func() {
		defer func() {
			require.Contains(t, recover(), `fake: *v1.PersistentVolume cannot be added: PersistentVolume "Local PV" is invalid: [metadata.name: Invalid value:`)
		}()
		fake.NewClientset(bad)
	}()
	c := fake.NewClientsetUnchecked(bad)
	got, err := c.CoreV1().PersistentVolumes().Get(t.Context(), "Local PV", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, bad.Status, got.Status)
	require.Empty(t, got.UID)
	require.NotEmpty(t, got.ResourceVersion)
	require.Empty(t, bad.ResourceVersion, "the caller's own object stays as it is")
	got.Labels = map[string]string{"a": "b"}
	_, err = c.CoreV1().PersistentVolumes().Update(t.Context(), got, metav1.UpdateOptions{})
	require.Error(t, err, "what is written afterwards is judged")
	require.NoError(t, c.CoreV1().PersistentVolumes().Delete(t.Context(), "Local PV", metav1.DeleteOptions{}))
	require.Panics(t, func() { fake.NewClientsetUnchecked(&metav1.Status{}) })
}

// An attacher of that name is refused when an attachment is made; later only its change would be. What the server reads has its defaults,
// so that the spec is the same before and after a patch of the finalizers.
func TestAnUncheckedAttachmentIsPatchedThoughItsAttacherCouldNotBeANewOnes(t *testing.T) {
	attachment := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "va"},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: "csi/test", NodeName: "node-1",
			Source: storagev1.VolumeAttachmentSource{InlineVolumeSpec: &v1.PersistentVolumeSpec{
				AccessModes:            []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
				PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "test", VolumeHandle: "h"}},
			}}},
	}
	attachments := fake.NewClientsetUnchecked(attachment).StorageV1().VolumeAttachments()
	_, err := attachments.Patch(t.Context(), "va", types.MergePatchType, []byte(`{"metadata":{"finalizers":["external-attacher/test"]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = attachments.Patch(t.Context(), "va", types.MergePatchType, []byte(`{"status":{"attached":true}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	_, err = attachments.Patch(t.Context(), "va", types.MergePatchType, []byte(`{"spec":{"attacher":"csi/other"}}`), metav1.PatchOptions{})
	require.ErrorContains(t, err, `spec.attacher: Invalid value: "csi/other"`)
	require.ErrorContains(t, err, "spec: Invalid value: null: field is immutable")
}
