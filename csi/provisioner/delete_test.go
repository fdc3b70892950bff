package provisioner_test

import (
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
)

func (r *rig) attach(volume string) {
	r.Helper()
	_, err := r.User.StorageV1().VolumeAttachments().Create(ctx, &storage.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "va-1"},
		Spec:       storage.VolumeAttachmentSpec{Attacher: csitest.Name, NodeName: "node-1", Source: storage.VolumeAttachmentSource{PersistentVolumeName: &volume}},
	}, metav1.CreateOptions{})
	require.NoError(r, err)
}

// semantics: section 7 must 4. Bug 9: kubernetes 84226, fixed in external-provisioner 438.
func TestAVolumeIsNotDeletedWhileAnAttachmentNamesIt(t *testing.T) {
	released := func(changes ...change) (*rig, string) {
		r := newRig(t, engine.Config{}, changes...)
		r.class(nil)
		r.claim("data")
		r.Settle()
		name := r.volume().Name
		r.attach(name)
		r.Settle()
		r.forget("data")
		r.release(name)
		require.NoError(t, r.Engine.RunFor(10*time.Second))
		return r, name
	}
	r, name := released()
	assert.Equal(t, []string{"CreateVolume"}, r.driver.Methods())
	assert.Contains(t, r.events(), "Normal VolumeDelete persistentvolume "+name+" is still attached to node node-1, waiting for detach")
	require.NoError(t, r.User.StorageV1().VolumeAttachments().Delete(ctx, "va-1", metav1.DeleteOptions{}))
	require.NoError(t, r.Engine.RunFor(10*time.Second))
	assert.Equal(t, []string{"CreateVolume", "DeleteVolume"}, r.driver.Methods())
	assert.Empty(t, r.volumes())

	r, _ = released(func(d *csitest.Driver, _ *provisioner.Config) { d.Controller = d.Controller[:1] })
	assert.Contains(t, r.driver.Methods(), "DeleteVolume", "a driver that attaches nothing")
}

func TestAFailedDeleteVolumeIsTriedAgain(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.class(nil)
	r.claim("data")
	r.Settle()
	r.driver.Fail(csitest.Failure{Method: "DeleteVolume", Code: codes.Internal, Times: 3})
	name := r.volume().Name
	r.forget("data")
	r.release(name)
	require.NoError(t, r.Engine.RunFor(10*time.Second))
	assert.Contains(t, r.events(), "Warning VolumeFailedDelete rpc error: code = Internal desc = injected Internal")
	assert.Equal(t, []string{"CreateVolume", "DeleteVolume Internal", "DeleteVolume Internal", "DeleteVolume Internal", "DeleteVolume"}, r.driver.Methods())
	assert.Empty(t, r.volumes())
}

func TestASecretThatIsGoneDoesNotKeepAVolume(t *testing.T) {
	for name, annotated := range map[string]bool{"by the annotations": true, "by the class": false} {
		t.Run(name, func(t *testing.T) {
			for _, there := range []bool{true, false} {
				r := newRig(t, engine.Config{})
				r.secret("p")
				r.class(secretsOf("provisioner-", "p", "${pvc.namespace}"))
				r.claim("data")
				r.Settle()
				pv := r.volume()
				if !annotated {
					delete(pv.Annotations, "volume.kubernetes.io/provisioner-deletion-secret-name")
					_, err := r.User.CoreV1().PersistentVolumes().Update(ctx, pv, metav1.UpdateOptions{})
					require.NoError(t, err)
				}
				want := map[string]string{"k": "p"}
				if !there {
					want = nil
					require.NoError(t, r.User.CoreV1().Secrets("default").Delete(ctx, "p", metav1.DeleteOptions{}))
				}
				r.forget("data")
				r.release(pv.Name)
				r.Settle()
				assert.Equal(t, want, csitest.Last[*csi.DeleteVolumeRequest](r.driver).GetSecrets())
				assert.Empty(t, r.volumes())
			}
		})
	}
}

func TestAVolumeThatIsNotCSIsIsNotDeleted(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.class(nil)
	r.claim("data")
	r.Settle()
	pv := r.volume()
	other := pv.DeepCopy()
	other.ObjectMeta = metav1.ObjectMeta{Name: "other", Annotations: pv.Annotations}
	other.Spec.ClaimRef = nil
	other.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "nas", Path: "/"}}
	_, err := r.User.CoreV1().PersistentVolumes().Create(ctx, other, metav1.CreateOptions{})
	require.NoError(t, err)
	r.release("other")
	require.NoError(t, r.Engine.RunFor(time.Second))
	assert.Contains(t, r.events(), "Warning VolumeFailedDelete invalid CSI PV")
}

func TestADriverThatIsNotThereIsWaitedFor(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Internal} {
		r := newRig(t, engine.Config{})
		r.driver.Fail(csitest.Failure{Method: "Probe", Code: code, Times: 3})
		r.class(nil)
		r.claim("data")
		r.Settle()
		assert.Empty(t, r.events(), "nothing is said of a claim before the driver is there")
		require.NoError(t, r.Engine.RunFor(time.Minute))
		assert.Len(t, r.volumes(), 1, code)
	}
}

func TestACrashAtAnyPointMakesOneVolumeAndDeletesIt(t *testing.T) {
	for _, phase := range []string{"provision", "delete"} {
		t.Run(phase, func(t *testing.T) {
			for points, more := 0, true; more; points++ {
				r := newRig(t, engine.Config{})
				r.class(nil)
				r.claim("data")
				done := func() bool { return len(r.volumes()) == 1 }
				if phase == "delete" {
					r.Settle()
					r.forget("data")
					r.Settle()
					r.release(r.volume().Name)
					done = func() bool { return len(r.volumes()) == 0 }
				}
				more = r.step(points, done)
				require.NoError(t, r.Engine.Crash(actor))
				require.NoError(t, r.Engine.RunFor(10*time.Second))
				require.True(t, done(), "after a crash at step %d", points)
				require.Equal(t, len(r.volumes()), len(r.driver.Volumes), "after a crash at step %d", points)
			}
		})
	}
}

// step takes n steps. It stops and returns false when done returns true.
func (r *rig) step(n int, done func() bool) (all bool) {
	r.Helper()
	for range n {
		if done() {
			return false
		}
		_, err := r.Engine.Step()
		require.NoError(r, err)
	}
	return true
}
