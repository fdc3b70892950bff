package pvcontroller

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
)

// These objects no API server lets in; one that is older, or newer, might have. The
// controller is handed them as if its caches held them.

// handed runs the controller and, once it has listed, do as one of its tasks.
func handed(t *testing.T, e *engine.Engine, do func(ctx context.Context, c *controller)) {
	t.Helper()
	done := false
	require.NoError(t, e.Add(ActorName, func(env control.Env) error {
		c, err := newController(Config{}, env)
		if err != nil {
			return err
		}
		env.Go("test", func(ctx context.Context) {
			do(ctx, c)
			done = true
		})
		return nil
	}))
	require.NoError(t, e.Settle())
	require.True(t, done)
}

func newEngine(t *testing.T) *engine.Engine {
	e := engine.New(engine.Config{})
	t.Cleanup(e.Close)
	return e
}

func TestAVolumeOfAnUnknownReclaimPolicyFailsAndSaysSoOnce(t *testing.T) { // semantics 1.6
	e := newEngine(t)
	user := e.Server().Client("user").CoreV1().PersistentVolumes()
	volume, err := user.Create(context.Background(), &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/tmp/x"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	handed(t, e, func(ctx context.Context, c *controller) {
		for range 3 {
			stored, found := c.volumes.Get(volume.Name)
			require.True(t, found)
			shredded := stored.DeepCopy()
			shredded.Spec.PersistentVolumeReclaimPolicy = "Shred"
			require.NoError(t, c.reclaimVolume(ctx, shredded))
			stored, _ = c.volumes.Get(volume.Name)
			require.Equal(t, v1.VolumeFailed, stored.Status.Phase)
			require.Equal(t, "Volume has unrecognized PersistentVolumeReclaimPolicy", stored.Status.Message)
		}
	})
	said := 0
	for _, entry := range e.Trace().Entries() {
		if event, ok := entry.Record.(engine.Event); ok {
			require.Equal(t, "Warning VolumeUnknownReclaimPolicy", event.Type+" "+event.Reason)
			said++
		}
	}
	require.Equal(t, 1, said)
}

func TestAClaimWithAnInvalidSelectorIsAnErrorAndIsLeftAsItIs(t *testing.T) {
	e := newEngine(t)
	_, err := e.Server().Client("user").CoreV1().PersistentVolumes().Create(context.Background(), &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/tmp/x"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	handed(t, e, func(ctx context.Context, c *controller) {
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "u", ResourceVersion: "1"}}
		claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
		claim.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
		err := c.syncClaim(ctx, claim)
		require.ErrorContains(t, err, `error finding PV for claim "default/data"`)
		require.ErrorContains(t, err, "Near")
	})
}

func TestAVolumeWithoutCapacityIsNeverGivenToAClaim(t *testing.T) {
	e := newEngine(t)
	handed(t, e, func(ctx context.Context, c *controller) {
		c.volumes.put(&v1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pv", ResourceVersion: "1"},
			Spec:       v1.PersistentVolumeSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}},
			Status:     v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
		})
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "u"}}
		claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
		claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1")}
		volume, err := c.volumes.FindBestMatchForClaim(claim, false)
		require.NoError(t, err)
		require.Nil(t, volume)

		// Even where both name each other, the claim's status cannot be told.
		stored, _ := c.volumes.Get("pv")
		_, err = c.updateClaimStatus(ctx, claim, v1.ClaimBound, stored)
		require.ErrorContains(t, err, `PersistentVolume "pv" is without a storage capacity`)
	})
}
