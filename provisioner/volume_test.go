package provisioner

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// released returns a volume of ours that is to be deleted.
func released(change ...func(*v1.PersistentVolume)) *v1.PersistentVolume {
	volume := volumeNamed("pv")
	volume.Annotations = map[string]string{binding.AnnDynamicallyProvisioned: testName}
	volume.Spec.PersistentVolumeReclaimPolicy = v1.PersistentVolumeReclaimDelete
	volume.Status.Phase = v1.VolumeReleased
	for _, f := range change {
		f(volume)
	}
	return volume
}

func deleting(volume *v1.PersistentVolume) { volume.DeletionTimestamp = &metav1.Time{} }
func retained(volume *v1.PersistentVolume) {
	volume.Spec.PersistentVolumeReclaimPolicy = v1.PersistentVolumeReclaimRetain
}
func finalized(volume *v1.PersistentVolume) {
	volume.Finalizers = []string{binding.PVProtectionFinalizer, binding.PVDeletionProtectionFinalizer}
}
func phase(phase v1.PersistentVolumePhase) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) { volume.Status.Phase = phase }
}
func madeBy(provisioner string) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) { volume.Annotations[binding.AnnDynamicallyProvisioned] = provisioner }
}

// guarded is a provisioner with a DeletionGuard that refuses.
type guarded struct{ scripted }

func (*guarded) ShouldDelete(context.Context, *v1.PersistentVolume) bool { return false }

func TestShouldDeleteSaysWhyNot(t *testing.T) {
	tests := map[string]struct {
		volume       *v1.PersistentVolume
		addFinalizer bool
		reason       string // "" means it should
	}{
		"a released volume":                        {released(), false, ""},
		"with the finalizer":                       {released(finalized), true, ""},
		"deleted early, with the finalizer":        {released(finalized, deleting), true, ""},
		"deleted here already":                     {released(deleting), false, "it is being deleted"},
		"deleted, its asset gone":                  {released(deleting), true, "it is being deleted and its finalizer is gone: its asset was deleted"},
		"bound":                                    {released(phase(v1.VolumeBound)), false, "its phase is Bound, not Released"},
		"deleted early but still bound":            {released(finalized, deleting, phase(v1.VolumeBound)), true, "its phase is Bound, not Released"},
		"failed volumes are not deleted (a quirk)": {released(phase(v1.VolumeFailed)), false, "its phase is Failed, not Released"},
		"retained":                                 {released(retained), false, "its reclaim policy is Retain"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ctrl, _ := newTest(t, &scripted{}, func(c *Config) { c.AddFinalizer = tt.addFinalizer })
			should, reason := ctrl.shouldDelete(context.Background(), tt.volume)
			assert.Equal(t, tt.reason == "", should)
			assert.Equal(t, tt.reason, reason)
		})
	}
	t.Run("the guard refuses", func(t *testing.T) {
		ctrl, _ := newTest(t, &guarded{})
		should, reason := ctrl.shouldDelete(context.Background(), released())
		assert.False(t, should)
		assert.Equal(t, "the provisioner's guard refuses", reason)
	})
}

// semantics 3 must 11 and 12.
func TestOnlyReleasedVolumesOfOursReachDelete(t *testing.T) {
	csi := func(volume *v1.PersistentVolume) {
		volume.Annotations = nil
		volume.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: testName}
	}
	migrated := func(volume *v1.PersistentVolume) { volume.Annotations[binding.AnnMigratedTo] = testName }
	tests := map[string]struct {
		volume *v1.PersistentVolume
		want   []string
	}{
		"ours":                     {released(), []string{"delete pv"}},
		"under an additional name": {released(madeBy("example.com/other")), []string{"delete pv"}},
		"migrated to us":           {released(madeBy("kubernetes.io/x"), migrated), []string{"delete pv"}},
		"static, of our driver":    {released(csi), []string{"delete pv"}},
		"static, migrated to us": {released(func(v *v1.PersistentVolume) { v.Annotations = map[string]string{binding.AnnMigratedTo: testName} }),
			[]string{"delete pv"}},
		"somebody else's": {released(madeBy("example.com/foreign")), nil},
		"nobody's":        {released(func(v *v1.PersistentVolume) { v.Annotations = nil }), nil},
		"retained":        {released(retained), nil},
		"bound":           {released(phase(v1.VolumeBound)), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &scripted{}
			ctrl, env := newTest(t, p)
			syncVolume(t, ctrl, env, tt.volume)
			assert.Equal(t, tt.want, p.calls)
		})
	}
}

func syncVolume(t *testing.T, ctrl *provisionController, env *fakeEnv, volume *v1.PersistentVolume) {
	t.Helper()
	require.NoError(t, trySyncVolume(t, ctrl, env, volume))
}

func trySyncVolume(t *testing.T, ctrl *provisionController, env *fakeEnv, volume *v1.PersistentVolume) error {
	t.Helper()
	require.NoError(t, env.client.Tracker().Add(volume.DeepCopy()))
	ctrl.volumes.Deliver(control.Change{Type: watch.Added, Item: control.ItemOf(volume)})
	return ctrl.syncVolumeHandler(context.Background(), volume.Name)
}

// semantics 3 must 10.
func TestTheObjectGoesAfterTheAssetAndTheFinalizerLast(t *testing.T) {
	p := &scripted{}
	ctrl, env := newTest(t, p, func(c *Config) { c.AddFinalizer = true })
	p.delete = func(*v1.PersistentVolume) error {
		assert.Empty(t, writes(env))
		return nil
	}
	syncVolume(t, ctrl, env, released(finalized))
	assert.Equal(t, []string{"delete persistentvolumes", "patch persistentvolumes"}, writes(env))
}

// semantics 3.4: the finalizer is removed using the cached copy; absent or
// NotFound is fine.
func TestAVolumeGoneBeforeItsFinalizerIsTakenOffIsDeleted(t *testing.T) {
	for name, prepare := range map[string]func(*provisionController, *fakeEnv, *v1.PersistentVolume){
		"from the cache": func(ctrl *provisionController, _ *fakeEnv, volume *v1.PersistentVolume) {
			ctrl.volumes.Deliver(control.Change{Type: watch.Deleted, Item: control.ItemOf(volume)})
		},
		"from the API": func(_ *provisionController, env *fakeEnv, _ *v1.PersistentVolume) {
			refuse(env, "patch", "persistentvolumes", -1, apierrors.NewNotFound(schema.GroupResource{Resource: "persistentvolumes"}, "pv"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &scripted{}
			ctrl, env := newTest(t, p, func(c *Config) { c.AddFinalizer = true })
			p.delete = func(volume *v1.PersistentVolume) error { prepare(ctrl, env, volume); return nil }
			syncVolume(t, ctrl, env, released(finalized))
			assert.Contains(t, writes(env), "delete persistentvolumes")
			assert.Equal(t, name == "from the API", slices.Contains(writes(env), "patch persistentvolumes"))
			assert.Empty(t, env.recorded)
		})
	}
	ctrl, env := newTest(t, &scripted{}, func(c *Config) { c.AddFinalizer = true })
	refuse(env, "patch", "persistentvolumes", -1, errors.New("etcd is down"))
	require.ErrorContains(t, trySyncVolume(t, ctrl, env, released(finalized)), "etcd is down", "anything else is tried again")
}

func TestAFailedDeleteIsAnEventAndARetry(t *testing.T) {
	p := &scripted{delete: func(*v1.PersistentVolume) error { return errors.New("busy") }}
	ctrl, env := newTest(t, p)
	require.EqualError(t, trySyncVolume(t, ctrl, env, released()), "busy")
	assert.Equal(t, []string{"Warning VolumeFailedDelete: busy"}, env.recorded)
	assert.Empty(t, writes(env))
}

func TestAnIgnoredDeleteLeavesTheVolumeAlone(t *testing.T) {
	p := &scripted{delete: func(*v1.PersistentVolume) error { return &IgnoredError{"not mine"} }}
	ctrl, env := newTest(t, p)
	syncVolume(t, ctrl, env, released())
	assert.Empty(t, env.recorded)
	assert.Empty(t, writes(env))
}

func TestARefusedDeletionOfTheObjectIsRetriedAndAMissingOneIsDone(t *testing.T) {
	resource := schema.GroupResource{Resource: "persistentvolumes"}
	for want, err := range map[bool]error{
		true:  apierrors.NewInternalError(errors.New("etcd")),
		false: apierrors.NewNotFound(resource, "pv"),
	} {
		ctrl, env := newTest(t, &scripted{})
		refuse(env, "delete", "persistentvolumes", -1, err)
		assert.Equal(t, want, trySyncVolume(t, ctrl, env, released()) != nil)
	}
}

// What others do to the finalizers meanwhile is kept, as upstream, unless ours
// was the last one known.
func TestAFinalizerPatchNamesOnlyOurFinalizer(t *testing.T) {
	for what, tt := range map[string]struct{ known, there, want []string }{
		"one was added": {[]string{"a/b", binding.PVDeletionProtectionFinalizer}, []string{"a/b", "c/d", binding.PVDeletionProtectionFinalizer},
			[]string{"a/b", "c/d"}},
		"one was taken": {[]string{"a/b", binding.PVDeletionProtectionFinalizer}, []string{binding.PVDeletionProtectionFinalizer}, nil},
		"a quirk":       {[]string{binding.PVDeletionProtectionFinalizer}, []string{"c/d", binding.PVDeletionProtectionFinalizer}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			ctrl, env := newTest(t, &scripted{})
			known := released(phase(v1.VolumeBound))
			there := known.DeepCopy()
			known.Finalizers, there.Finalizers = tt.known, tt.there
			require.NoError(t, env.client.Tracker().Add(there))
			got, err := ctrl.handleProtectionFinalizer(t.Context(), known)
			require.NoError(t, err)
			assert.ElementsMatch(t, tt.want, got.Finalizers)
		})
	}
}

func TestTheFinalizerIsKeptAsConfigured(t *testing.T) {
	tests := map[string]struct {
		volume       *v1.PersistentVolume
		addFinalizer bool
		want         []string
		writes       int
	}{
		"added to a bound volume": {released(phase(v1.VolumeBound)), true, []string{binding.PVDeletionProtectionFinalizer}, 1},
		"there already": {released(phase(v1.VolumeBound), finalized), true,
			[]string{binding.PVProtectionFinalizer, binding.PVDeletionProtectionFinalizer}, 0},
		"not added before it is bound":        {released(phase(v1.VolumeAvailable)), true, nil, 0},
		"not added to a volume being deleted": {released(phase(v1.VolumeBound), deleting), true, nil, 0},
		"not added to a retained volume":      {released(phase(v1.VolumeBound), retained), true, nil, 0},
		"removed from a retained volume":      {released(phase(v1.VolumeBound), retained, finalized), true, []string{binding.PVProtectionFinalizer}, 1},
		"removed when no longer asked for":    {released(phase(v1.VolumeBound), finalized), false, []string{binding.PVProtectionFinalizer}, 1},
		"nothing to do for somebody else's one": {released(phase(v1.VolumeBound), madeBy("x/y"), finalized), false,
			[]string{binding.PVProtectionFinalizer, binding.PVDeletionProtectionFinalizer}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ctrl, env := newTest(t, &scripted{}, func(c *Config) { c.AddFinalizer = tt.addFinalizer })
			syncVolume(t, ctrl, env, tt.volume)
			got, err := env.client.CoreV1().PersistentVolumes().Get(context.Background(), "pv", metav1.GetOptions{})
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.Finalizers)
			assert.Len(t, writes(env), tt.writes)
		})
	}
}
