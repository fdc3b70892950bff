package pvcontroller

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
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
	user := fake.New(e.Server(), "user").CoreV1().PersistentVolumes()
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
		if event, ok := entry.Record.(trace.Event); ok {
			require.Equal(t, "Warning VolumeUnknownReclaimPolicy", event.Type+" "+event.Reason)
			said++
		}
	}
	require.Equal(t, 1, said)
}

func TestAClaimWithAnInvalidSelectorIsAnErrorAndIsLeftAsItIs(t *testing.T) {
	e := newEngine(t)
	_, err := fake.New(e.Server(), "user").CoreV1().PersistentVolumes().Create(context.Background(), &v1.PersistentVolume{
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
		volume, err := c.volumes.FindBestMatchForClaim(claim, false, nil)
		require.NoError(t, err)
		require.Nil(t, volume)

		// Even where both name each other, the claim's status cannot be told.
		stored, _ := c.volumes.Get("pv")
		_, err = c.updateClaimStatus(ctx, claim, v1.ClaimBound, stored)
		require.ErrorContains(t, err, `PersistentVolume "pv" is without a storage capacity`)
	})
}

func TestTheClaimOfAReleasedVolumeIsNotAskedForAtTheServer(t *testing.T) { // semantics 1.5 step 2
	e := newEngine(t)
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1")}
	claim, err := fake.New(e.Server(), "user").CoreV1().PersistentVolumeClaims("default").Create(context.Background(), claim, metav1.CreateOptions{})
	require.NoError(t, err)
	handed(t, e, func(ctx context.Context, c *controller) {
		clear(c.claims.byKey)
		for phase, asked := range map[v1.PersistentVolumePhase]bool{
			v1.VolumePending: true, v1.VolumeAvailable: true, v1.VolumeBound: true, v1.VolumeReleased: false, v1.VolumeFailed: false,
		} {
			volume := &v1.PersistentVolume{Status: v1.PersistentVolumeStatus{Phase: phase}}
			volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data", UID: claim.UID}
			found, err := c.findClaimOfVolume(ctx, volume)
			require.NoError(t, err)
			require.Equal(t, asked, found != nil, phase)
		}
	})
}

func TestAVolumeIsReleasedOnceItsClaimIsGoneOrIsAnothers(t *testing.T) { // semantics 1.6: released check
	e := newEngine(t)
	handed(t, e, func(_ context.Context, c *controller) {
		for name, test := range map[string]struct {
			ref     *v1.ObjectReference
			bound   string // the cached claim's volumeName
			release bool
		}{
			"nobody's":           {nil, "", false},
			"reserved":           {&v1.ObjectReference{Namespace: "default", Name: "data"}, "", false},
			"claim not bound":    {&v1.ObjectReference{Namespace: "default", Name: "data", UID: "u"}, "", false},
			"claim bound to it":  {&v1.ObjectReference{Namespace: "default", Name: "data", UID: "u"}, "pv", false},
			"claim bound away":   {&v1.ObjectReference{Namespace: "default", Name: "data", UID: "u"}, "other", true},
			"claim of that name": {&v1.ObjectReference{Namespace: "default", Name: "data", UID: "earlier"}, "pv", true},
			"claim gone":         {&v1.ObjectReference{Namespace: "default", Name: "gone", UID: "u"}, "", true},
			"elsewhere":          {&v1.ObjectReference{Namespace: "other", Name: "data", UID: "u"}, "", true},
		} {
			claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "u"}}
			claim.Spec.VolumeName = test.bound
			c.claims.put(claim)
			volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: v1.PersistentVolumeSpec{ClaimRef: test.ref}}
			require.Equal(t, test.release, c.isVolumeReleased(volume), name)
		}
	})
}
