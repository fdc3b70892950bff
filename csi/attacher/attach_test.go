package attacher_test

import (
	"slices"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/csi/attacher"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/trace"
)

// As recorded: full/csi01_dynamic_immediate, steps 3 and 4.
func TestAVolumeIsAttachedAndDetachedInTheRecordedOrder(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.attach("pv-1")
	r.Settle()
	// The attacher's own write of the finalizer may make it publish again, as recorded, too.
	assert.Equal(t, []string{"patch persistentvolumes", "patch volumeattachments", "patch volumeattachments/status"}, slices.Compact(r.writes()))
	assert.Equal(t, []string{"kubernetes.io/pv-protection", finalizer}, r.pv("pv-1").Finalizers)
	va := r.va()
	assert.Equal(t, []string{finalizer}, va.Finalizers)
	assert.Equal(t, map[string]string{nodeIDKey: "id-node-1"}, va.Annotations)
	assert.Equal(t, storage.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: map[string]string{"device": "/dev/x"}}, va.Status)
	assert.Equal(t, "ControllerPublishVolume", r.driver.Methods()[0])
	want := &csi.ControllerPublishVolumeRequest{
		VolumeId: "h-1", NodeId: "id-node-1", VolumeContext: map[string]string{"made": "yes"},
		VolumeCapability: &csi.VolumeCapability{
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
			AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
		},
	}
	got := csitest.Last[*csi.ControllerPublishVolumeRequest](r.driver)
	assert.True(t, proto.Equal(want, got), got.String())

	before := len(r.writes())
	r.detach()
	r.Settle()
	assert.Nil(t, r.va())
	assert.Equal(t, []string{"patch volumeattachments", "patch volumeattachments/status 404"}, r.writes()[before:])
	assert.True(t, proto.Equal(&csi.ControllerUnpublishVolumeRequest{VolumeId: "h-1", NodeId: "id-node-1"},
		csitest.Last[*csi.ControllerUnpublishVolumeRequest](r.driver)))
	assert.Empty(t, r.driver.Published)
	assert.Equal(t, []string{"kubernetes.io/pv-protection", finalizer}, r.pv("pv-1").Finalizers, "until the volume is deleted")
}

// semantics: section 7 must 5, with crashes at every point of it in crash_test.go.
func TestControllerPublishNeverPrecedesTheFinalizer(t *testing.T) {
	enginetest.AtEverySeed(t, 20, func(t testing.TB, cfg engine.Config) {
		r := newRig(t, cfg)
		published := 0
		r.driver.OnCall = func(method string, _ proto.Message) {
			if method == "ControllerPublishVolume" {
				published++
				require.Contains(t, r.va().Finalizers, finalizer)
				require.Equal(t, "id-node-1", r.va().Annotations[nodeIDKey])
				require.Contains(t, r.pv("pv-1").Finalizers, finalizer)
			}
		}
		r.attach("pv-1")
		r.Settle()
		require.Positive(t, published)
	})
}

// As recorded: full/csi07i_attach_fails_pod_deleted.
func TestAFailedAttachIsInTheStatusWithItsCodeAndTriedAgainWithBackoff(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.driver.Fail(csitest.Failure{Method: "ControllerPublishVolume", Code: codes.Internal})
	r.attach("pv-1")
	start := r.Engine.Now()
	require.NoError(t, r.Engine.RunFor(40*time.Second))
	failure := r.va().Status.AttachError
	require.NotNil(t, failure)
	assert.Equal(t, "rpc error: code = Internal desc = injected Internal", failure.Message)
	require.NotNil(t, failure.ErrorCode)
	assert.Equal(t, int32(13), *failure.ErrorCode)
	assert.False(t, r.va().Status.Attached)
	var at []time.Duration
	for _, c := range r.driver.Calls {
		at = append(at, c.At.Sub(start).Round(time.Second))
	}
	// The second try follows at once from the attacher's own write of the finalizer.
	assert.Equal(t, []time.Duration{0, 0, time.Second, 5 * time.Second, 13 * time.Second, 29 * time.Second}, at)

	// semantics: section 7.2: ControllerUnpublishVolume is called whenever it may have succeeded.
	r.detach()
	require.NoError(t, r.Engine.RunFor(time.Second))
	assert.Equal(t, "ControllerUnpublishVolume", r.driver.Methods()[len(r.driver.Methods())-1])
	assert.Nil(t, r.va())
}

// As recorded: full/csi20_read_only_claim_volume.
func TestWhatFailsBeforeTheCallLeavesNoFinalizerOnTheAttachment(t *testing.T) {
	tests := map[string]struct {
		change func(r *rig, va *storage.VolumeAttachment)
		want   string
	}{
		"access modes that CSI has no word for": {
			func(r *rig, va *storage.VolumeAttachment) {
				r.volume("pv-2", func(pv *v1.PersistentVolume) {
					pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadOnlyMany}
				})
				va.Spec.Source.PersistentVolumeName = ptr("pv-2")
			},
			"CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume",
		},
		"no such volume": {
			func(_ *rig, va *storage.VolumeAttachment) { va.Spec.Source.PersistentVolumeName = ptr("pv-9") },
			`persistentvolume "pv-9" not found`,
		},
		"a volume of no driver": {
			func(r *rig, va *storage.VolumeAttachment) {
				r.volume("pv-2", func(pv *v1.PersistentVolume) {
					pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "nas", Path: "/"}}
				})
				va.Spec.Source.PersistentVolumeName = ptr("pv-2")
			},
			"pv spec contained non-csi source that was not migrated",
		},
		"a volume that is being deleted": {
			func(r *rig, va *storage.VolumeAttachment) {
				require.NoError(r, r.User.CoreV1().PersistentVolumes().Delete(ctx, "pv-1", metav1.DeleteOptions{}))
			},
			`PersistentVolume "pv-1" is marked for deletion`,
		},
		"no such node": {
			func(_ *rig, va *storage.VolumeAttachment) { va.Spec.NodeName = "node-9" },
			`csinode.storage.k8s.io "node-9" not found`,
		},
		"a node without the driver": {
			func(r *rig, va *storage.VolumeAttachment) {
				node, err := r.User.StorageV1().CSINodes().Get(ctx, "node-1", metav1.GetOptions{})
				require.NoError(r, err)
				node.Spec.Drivers = nil
				_, err = r.User.StorageV1().CSINodes().Update(ctx, node, metav1.UpdateOptions{})
				require.NoError(r, err)
			},
			"CSINode node-1 does not contain driver " + csitest.Name,
		},
		"no such secret": {
			func(r *rig, va *storage.VolumeAttachment) {
				r.volume("pv-2", func(pv *v1.PersistentVolume) {
					pv.Spec.CSI.ControllerPublishSecretRef = &v1.SecretReference{Namespace: "default", Name: "s"}
				})
				va.Spec.Source.PersistentVolumeName = ptr("pv-2")
			},
			`failed to load secret "default/s": secrets "s" not found`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, engine.Config{})
			r.attach("pv-1", func(va *storage.VolumeAttachment) { tt.change(r, va) })
			require.NoError(t, r.Engine.RunFor(5*time.Second))
			va := r.va()
			require.NotNil(t, va.Status.AttachError)
			assert.Equal(t, tt.want, va.Status.AttachError.Message)
			assert.Nil(t, va.Status.AttachError.ErrorCode, "it is no gRPC error")
			assert.Empty(t, va.Finalizers)
			assert.Empty(t, r.driver.Calls)
			r.detach()
			require.NoError(t, r.Engine.RunFor(5*time.Second))
			assert.Nil(t, r.va())
			assert.Empty(t, r.driver.Calls, "nothing was published")
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestTheRequestSaysHowTheVolumeIsUsed(t *testing.T) {
	tests := map[string]struct {
		driver []csi.ControllerServiceCapability_RPC_Type
		change func(*v1.PersistentVolume)
		want   func(*csi.ControllerPublishVolumeRequest)
	}{
		"a raw block device for writers on many nodes": {
			nil,
			func(pv *v1.PersistentVolume) {
				pv.Spec.VolumeMode = ptr(v1.PersistentVolumeBlock)
				pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteMany, v1.ReadWriteOnce}
			},
			func(req *csi.ControllerPublishVolumeRequest) {
				req.VolumeCapability.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
				req.VolumeCapability.AccessMode.Mode = csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
			},
		},
		"a file system with options": {
			nil,
			func(pv *v1.PersistentVolume) { pv.Spec.CSI.FSType = "ext4"; pv.Spec.MountOptions = []string{"noatime"} },
			func(req *csi.ControllerPublishVolumeRequest) {
				req.VolumeCapability.GetMount().FsType, req.VolumeCapability.GetMount().MountFlags = "ext4", []string{"noatime"}
			},
		},
		"read-only, for a driver that cannot": {
			nil, func(pv *v1.PersistentVolume) { pv.Spec.CSI.ReadOnly = true }, func(*csi.ControllerPublishVolumeRequest) {},
		},
		"read-only, for a driver that can": {
			[]csi.ControllerServiceCapability_RPC_Type{csi.ControllerServiceCapability_RPC_PUBLISH_READONLY},
			func(pv *v1.PersistentVolume) { pv.Spec.CSI.ReadOnly = true },
			func(req *csi.ControllerPublishVolumeRequest) { req.Readonly = true },
		},
		"a single pod, for a driver that can tell": {
			[]csi.ControllerServiceCapability_RPC_Type{csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER},
			func(pv *v1.PersistentVolume) {
				pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
			},
			func(req *csi.ControllerPublishVolumeRequest) {
				req.VolumeCapability.AccessMode.Mode = csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
			},
		},
		"a secret": {
			nil,
			func(pv *v1.PersistentVolume) {
				pv.Spec.CSI.ControllerPublishSecretRef = &v1.SecretReference{Namespace: "default", Name: "s"}
			},
			func(req *csi.ControllerPublishVolumeRequest) { req.Secrets = map[string]string{"k": "v"} },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, engine.Config{}, func(d *csitest.Driver, _ *attacher.Config) {
				d.Controller = append(d.Controller, tt.driver...)
			})
			_, err := r.User.CoreV1().Secrets("default").Create(ctx, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"k": []byte("v")}},
				metav1.CreateOptions{})
			require.NoError(t, err)
			r.volume("pv-2", tt.change)
			r.attach("pv-2")
			r.Settle()
			want := &csi.ControllerPublishVolumeRequest{
				VolumeId: "h-1", NodeId: "id-node-1", VolumeContext: map[string]string{"made": "yes"},
				VolumeCapability: &csi.VolumeCapability{
					AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
					AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
				},
			}
			tt.want(want)
			got := csitest.Last[*csi.ControllerPublishVolumeRequest](r.driver)
			assert.True(t, proto.Equal(want, got), got.String())
		})
	}
}

func TestADriverThatAttachesNothingIsMarkedAttachedAndNeverCalled(t *testing.T) {
	for name, change := range map[string]func(*csitest.Driver){
		"without the capability":       func(d *csitest.Driver) { d.Controller = d.Controller[:1] },
		"without a controller service": func(d *csitest.Driver) { d.Services = nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, engine.Config{}, func(d *csitest.Driver, _ *attacher.Config) { change(d) })
			r.attach("pv-1")
			r.Settle()
			assert.Equal(t, []string{"patch volumeattachments/status"}, r.writes())
			assert.True(t, r.va().Status.Attached)
			assert.Empty(t, r.va().Finalizers)
			r.detach()
			r.Settle()
			assert.Nil(t, r.va(), "it is gone at once")
			assert.Empty(t, r.driver.Calls)
		})
	}
}

func TestAttachmentsOfOtherDriversAreLeftAlone(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.attach("pv-1", func(va *storage.VolumeAttachment) { va.Spec.Attacher = "other.csi.example.com" })
	r.Settle()
	assert.Empty(t, r.writes())
	assert.Empty(t, r.driver.Calls)
}

func TestNothingIsAttachedBeforeTheDriverIsReady(t *testing.T) {
	r := newRig(t, engine.Config{}, func(d *csitest.Driver, _ *attacher.Config) { d.NotReady = true })
	r.attach("pv-1")
	require.NoError(t, r.Engine.RunFor(time.Minute))
	assert.Empty(t, r.writes())
	r.driver.NotReady = false
	require.NoError(t, r.Engine.RunFor(2*time.Second))
	assert.True(t, r.va().Status.Attached)
}

func TestADriverOfAnotherNameIsNotServed(t *testing.T) {
	r := newRig(t, engine.Config{}, func(d *csitest.Driver, _ *attacher.Config) { d.Name = "other.csi.example.com" })
	r.attach("pv-1")
	require.NoError(t, r.Engine.RunFor(time.Minute))
	assert.Empty(t, r.writes())
	assert.Contains(t, r.Engine.Trace().Story(engine.Start()),
		`the driver says that its name is "other.csi.example.com"; it was installed as "plain.csi.example.com"`)
}

func TestSeveralAttachmentsAreWorkedOnAtOnce(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.driver.Fail(csitest.Failure{Method: "ControllerPublishVolume", Takes: 10 * time.Second})
	for _, name := range []string{"va-1", "va-2", "va-3"} {
		r.attach("pv-1", func(va *storage.VolumeAttachment) { va.Name = name })
	}
	require.NoError(t, r.Engine.RunFor(11*time.Second))
	assert.True(t, r.va().Status.Attached)
	at := slices.MaxFunc(r.driver.Calls, func(a, b csitest.Call) int { return a.At.Compare(b.At) }).At
	assert.Less(t, at.Sub(r.driver.Calls[0].At), 11*time.Second)
}

// Upstream: controller.go syncVA: a VolumeAttachment that is not there any more is not forgotten. Its name is that of the next one of its volume and node.
func TestTheBackoffGoesOnWithTheNextAttachmentOfTheSameName(t *testing.T) {
	r := newRig(t, engine.Config{})
	secret := func(pv *v1.PersistentVolume) {
		pv.Spec.CSI.VolumeHandle, pv.Spec.CSI.ControllerPublishSecretRef = "h-2", &v1.SecretReference{Namespace: "default", Name: "missing"}
	}
	r.volume("pv-2", secret)
	r.attach("pv-2")
	require.NoError(t, r.Engine.RunFor(8*time.Second)) // at 0, 1, 3 and 7 s
	r.detach()
	require.NoError(t, r.Engine.RunFor(time.Minute))
	r.attach("pv-2")
	began := r.Engine.Now()
	require.NoError(t, r.Engine.RunFor(20*time.Second))
	var delays []time.Duration
	for _, entry := range r.Engine.Trace().Entries() {
		if retry, ok := entry.Record.(trace.Retry); ok && !entry.Time.Before(began) {
			delays = append(delays, retry.Delay)
		}
	}
	require.Equal(t, []time.Duration{16 * time.Second, 32 * time.Second}, delays)
}
