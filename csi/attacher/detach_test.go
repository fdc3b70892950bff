package attacher_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/csi/attacher"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
)

// As recorded: full/csi07e_teardown_fails.
// semantics: section 7 must 6.
func TestAnAttachmentGoesOnlyAfterItWasUnpublished(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.attach("pv-1")
	r.Settle()
	r.driver.Fail(csitest.Failure{Method: "ControllerUnpublishVolume", Code: codes.Internal, Times: 2})
	before := len(r.writes())
	r.detach()
	require.NoError(t, r.Engine.RunFor(500*time.Millisecond))
	va := r.va()
	require.NotNil(t, va)
	assert.Equal(t, "rpc error: code = Internal desc = injected Internal", va.Status.DetachError.Message)
	assert.Nil(t, va.Status.DetachError.ErrorCode)
	assert.True(t, va.Status.Attached)
	require.NoError(t, r.Engine.RunFor(time.Second))
	require.NotNil(t, r.va(), "after 1 s it failed again")
	require.NoError(t, r.Engine.RunFor(2*time.Second))
	assert.Nil(t, r.va())
	assert.Equal(t, []string{
		"patch volumeattachments/status", "patch volumeattachments/status", "patch volumeattachments", "patch volumeattachments/status 404",
	}, r.writes()[before:])
}

func TestTheNodesIDIsRememberedWhenTheNodeIsGone(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.attach("pv-1")
	r.Settle()
	require.NoError(t, r.User.StorageV1().CSINodes().Delete(ctx, "node-1", metav1.DeleteOptions{}))
	r.detach()
	r.Settle()
	assert.Nil(t, r.va())
	assert.True(t, proto.Equal(&csi.ControllerUnpublishVolumeRequest{VolumeId: "h-1", NodeId: "id-node-1"},
		csitest.Last[*csi.ControllerUnpublishVolumeRequest](r.driver)))
}

// semantics: section 7.2: a PV deleted while attached.
func TestAVolumeDeletedWhileAttachedGoesAfterItsAttachment(t *testing.T) {
	enginetest.AtEverySeed(t, 20, func(t testing.TB, cfg engine.Config) {
		r := newRig(t, cfg)
		r.attach("pv-1")
		r.Settle()
		require.NoError(t, r.User.CoreV1().PersistentVolumes().Delete(ctx, "pv-1", metav1.DeleteOptions{}))
		r.Settle()
		r.unprotect("pv-1")
		r.Settle()
		require.Equal(t, []string{finalizer}, r.pv("pv-1").Finalizers)
		r.detach()
		r.Settle()
		require.Nil(t, r.va())
		require.Nil(t, r.pv("pv-1"))
		require.Empty(t, r.driver.Published)
	})
}

// As recorded: full/csi01_dynamic_immediate, step 5: a patch that finds the list changed is
// refused, and tried again.
func TestTheFinalizerOfAVolumeIsTakenOffWhereItStands(t *testing.T) {
	refused := 0
	for steps := range 12 {
		r := newRig(t, engine.Config{})
		r.attach("pv-1")
		r.Settle()
		r.detach()
		r.Settle()
		require.NoError(t, r.User.CoreV1().PersistentVolumes().Delete(ctx, "pv-1", metav1.DeleteOptions{}))
		r.step(t, steps, func() bool { return len(r.pv("pv-1").Finalizers) == 1 })
		r.unprotect("pv-1")
		require.NoError(t, r.Engine.RunFor(2*time.Second))
		require.Nil(t, r.pv("pv-1"))
		if slices.Contains(r.writes(), "patch persistentvolumes 422") {
			refused++
		}
	}
	assert.Positive(t, refused)
}

// Bug 27: kubernetes-csi/external-attacher 587, fixed in 624.
func TestAVolumeIsUnpublishedOnce(t *testing.T) {
	for seed := range uint64(40) {
		r := newRig(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed})
		r.attach("pv-1")
		r.Settle()
		r.detach()
		r.Settle()
		require.Nil(t, r.va())
		unpublished := slices.DeleteFunc(r.driver.Methods(), func(m string) bool { return m != "ControllerUnpublishVolume" })
		require.Len(t, unpublished, 1, "seed %d", seed)
	}
}

func TestADriverThatListsItsVolumesIsBelievedMoreThanTheStatus(t *testing.T) {
	r := newRig(t, engine.Config{}, func(d *csitest.Driver, _ *attacher.Config) {
		d.Controller = append(d.Controller, csi.ControllerServiceCapability_RPC_LIST_VOLUMES, csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES)
		d.Volumes["h-0"], d.Volumes["h-2"] = "a", "b"
	})
	r.attach("pv-1")
	r.Settle()
	require.NoError(t, r.Engine.RunFor(2*time.Minute))
	published := func() (n int) {
		for _, m := range r.driver.Methods() {
			if m == "ControllerPublishVolume" {
				n++
			}
		}
		return n
	}
	once := published()
	delete(r.driver.Published, "h-1") // behind the attacher's back
	require.NoError(t, r.Engine.RunFor(time.Minute))
	assert.Equal(t, once+1, published())
	assert.Equal(t, []string{"id-node-1"}, r.driver.Published["h-1"])
	r.driver.Fail(csitest.Failure{Method: "ListVolumes", Code: codes.Internal})
	require.NoError(t, r.Engine.RunFor(time.Minute))
	assert.Equal(t, once+1, published())
}

func TestADriverThatListsVolumesForEverIsNotReadForEver(t *testing.T) {
	r := newRig(t, engine.Config{}, func(d *csitest.Driver, c *attacher.Config) {
		d.Controller = append(d.Controller, csi.ControllerServiceCapability_RPC_LIST_VOLUMES, csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES)
		d.EndlessPage = strings.Repeat("h", 1<<20)
	})
	r.attach("pv-1")
	r.Settle()
	require.NoError(t, r.Engine.RunFor(2*time.Minute))
	assert.Contains(t, r.Engine.Trace().Story(engine.Start()), "failed to ListVolumes: 64 pages with ")
	assert.Contains(t, r.Engine.Trace().Story(engine.Start()), " bytes of volumes are not all of them")
	assert.True(t, r.va().Status.Attached, "the attacher goes on")
}

func TestADriverThatIgnoresTheTokenIsNotReadForEver(t *testing.T) {
	r := newRig(t, engine.Config{}, func(d *csitest.Driver, c *attacher.Config) {
		d.Controller = append(d.Controller, csi.ControllerServiceCapability_RPC_LIST_VOLUMES, csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES)
		d.SamePage = "next"
	})
	r.attach("pv-1")
	r.Settle()
	require.NoError(t, r.Engine.RunFor(2*time.Minute))
	assert.Contains(t, r.Engine.Trace().Story(engine.Start()), `failed to ListVolumes: next_token "next" comes again, and page 2 has no other volumes`)
	assert.True(t, r.va().Status.Attached, "the attacher goes on")
}
