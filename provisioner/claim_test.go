package provisioner

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// semantics 3 must 2: the name is pvc-<uid>; and what the library adds.
func TestAProvisionedVolumeIsStoredWithWhatTheLibraryKnows(t *testing.T) {
	p := &scripted{}
	ctrl, env := newTest(t, p, func(c *Config) { c.AddFinalizer = true })
	give(t, ctrl, env, claimOf("local", annotate(binding.AnnSelectedNode, "n")))
	var asked ProvisionOptions
	p.provision = func(options ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
		asked = options
		return volumeNamed(options.PVName), "", nil
	}

	require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))

	assert.Equal(t, "pvc-uid-1", asked.PVName)
	assert.Equal(t, "n", asked.SelectedNodeName)
	assert.Equal(t, "local", asked.StorageClass.Name)
	volume, err := env.client.CoreV1().PersistentVolumes().Get(context.Background(), "pvc-uid-1", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: "data", UID: "uid-1", ResourceVersion: "7"},
		volume.Spec.ClaimRef)
	assert.Equal(t, testName, volume.Annotations[binding.AnnDynamicallyProvisioned])
	assert.Equal(t, "local", volume.Spec.StorageClassName)
	assert.Equal(t, []string{binding.PVDeletionProtectionFinalizer}, volume.Finalizers)
	assert.Equal(t, []string{
		`Normal Provisioning: External provisioner is provisioning volume for claim "default/data"`,
		"Normal ProvisioningSucceeded: Successfully provisioned volume pvc-uid-1",
	}, env.recorded)
}

// semantics 3.2: selected-node, or else what it was called in alpha.
func TestTheSelectedNodeIsReadUnderBothNames(t *testing.T) {
	alpha := annotate(annAlphaSelectedNode, "old")
	for want, claim := range map[string]*v1.PersistentVolumeClaim{
		"":    claimOf("fast"),
		"old": claimOf("fast", alpha),
		"n":   claimOf("local", alpha, annotate(binding.AnnSelectedNode, "n")),
	} {
		var asked ProvisionOptions
		ctrl, env := newTest(t, &scripted{provision: func(options ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
			asked = options
			return volumeNamed(options.PVName), "", nil
		}})
		give(t, ctrl, env, claim)
		require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
		assert.Equal(t, want, asked.SelectedNodeName)
	}
}

// semantics 3 must 2: repeats do not provision a second time, whether the cache
// has the volume already or not.
func TestAClaimWhoseVolumeExistsIsFinishedSilently(t *testing.T) {
	for name, cached := range map[string]bool{"in the cache": true, "saved but not in the cache yet": false} {
		t.Run(name, func(t *testing.T) {
			p := &scripted{}
			ctrl, env := newTest(t, p)
			give(t, ctrl, env, claimOf("fast"))
			require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
			if cached {
				ctrl.volumes.Deliver(control.Change{Type: watch.Added, Item: control.ItemOf(volumeNamed("pvc-uid-1"))})
				assert.Empty(t, ctrl.saved)
			}
			require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
			assert.Equal(t, []string{"provision pvc-uid-1"}, p.calls)
			assert.Len(t, env.recorded, 2)
			deviates := strings.Contains(strings.Join(env.traced, "\n"), "deviates at pv pvc-uid-1: upstream looks in its cache alone")
			assert.Equal(t, !cached, deviates, env.traced)
		})
	}
	t.Run("but one that was saved and deleted again is made anew", func(t *testing.T) {
		p := &scripted{}
		ctrl, env := newTest(t, p)
		give(t, ctrl, env, claimOf("fast"))
		require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
		require.NoError(t, env.client.CoreV1().PersistentVolumes().Delete(context.Background(), "pvc-uid-1", metav1.DeleteOptions{}))
		require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
		assert.Len(t, p.calls, 2)
	})
}

// semantics 3 must 3, 4, 5 and 6.
func TestWhatEachAnswerOfProvisionDoes(t *testing.T) {
	boom := errors.New("boom")
	node := annotate(binding.AnnSelectedNode, "n")
	tests := map[string]struct {
		state      ProvisioningState
		err        error
		claim      *v1.PersistentVolumeClaim
		inProgress bool // before
		wantErr    bool // so that the queue tries again
		want       bool // in progress afterwards
		events     int
		writes     []string
	}{
		"Finished is tried again":            {ProvisioningFinished, boom, claimOf("fast"), false, true, false, 2, nil},
		"Finished ends what was in progress": {ProvisioningFinished, boom, claimOf("fast"), true, true, false, 2, nil},
		"Background is in progress":          {ProvisioningInBackground, boom, claimOf("fast"), false, true, true, 2, nil},
		"NoChange does not begin it":         {ProvisioningNoChange, boom, claimOf("fast"), false, true, false, 2, nil},
		"NoChange does not end it":           {ProvisioningNoChange, boom, claimOf("fast"), true, true, true, 2, nil},
		"Reschedule removes the node and stops": {ProvisioningReschedule, boom, claimOf("local", node), true, false, false, 2,
			[]string{"update persistentvolumeclaims"}},
		"Reschedule without a node is Finished": {ProvisioningReschedule, boom, claimOf("fast"), true, true, false, 2, nil},
		"IgnoredError: no event, no retry":      {ProvisioningFinished, &IgnoredError{"not mine"}, claimOf("fast"), true, false, false, 1, nil},
		"IgnoredError counts only as such, not wrapped": {ProvisioningFinished, fmt.Errorf("x: %w", &IgnoredError{"not mine"}), claimOf("fast"), false, true,
			false, 2, nil},
		"success ends it": {ProvisioningFinished, nil, claimOf("fast"), true, false, false, 2, []string{"create persistentvolumes"}},
		"success ends it, whatever the state": {ProvisioningInBackground, nil, claimOf("fast"), true, false, false, 2,
			[]string{"create persistentvolumes"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &scripted{provision: func(options ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
				if tt.err != nil {
					return nil, tt.state, tt.err
				}
				return volumeNamed(options.PVName), tt.state, nil
			}}
			ctrl, env := newTest(t, p)
			give(t, ctrl, env, tt.claim)
			if tt.inProgress {
				ctrl.claimsInProgress["uid-1"] = tt.claim
			}
			err := ctrl.syncClaimHandler(context.Background(), "uid-1")
			assert.Equal(t, tt.wantErr, err != nil, "error %v", err)
			assert.Equal(t, tt.want, ctrl.claimsInProgress["uid-1"] != nil)
			assert.Len(t, env.recorded, tt.events)
			assert.Equal(t, tt.writes, writes(env))
			if tt.wantErr {
				assert.Equal(t, "Warning ProvisioningFailed: "+err.Error(), env.recorded[1])
			}
		})
	}
}

// semantics 3 must 4.
func TestADeletedClaimIsTriedOnlyWhileInProgress(t *testing.T) {
	for state, want := range map[ProvisioningState]int{ProvisioningInBackground: 2, ProvisioningFinished: 1} {
		p := &scripted{provision: func(ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
			return nil, state, errors.New("boom")
		}}
		ctrl, env := newTest(t, p)
		claim := claimOf("fast")
		give(t, ctrl, env, claim)
		require.Error(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
		ctrl.claims.Deliver(control.Change{Type: watch.Deleted, Item: control.ItemOf(claim)})
		_ = ctrl.syncClaimHandler(context.Background(), "uid-1")
		assert.Len(t, p.calls, want, state)
	}
}

// semantics 3 must 6.
func TestAfterARescheduleLaterSyncsDoNothingUntilTheNodeIsSetAgain(t *testing.T) {
	p := &scripted{provision: func(ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
		return nil, ProvisioningReschedule, errors.New("full")
	}}
	ctrl, env := newTest(t, p)
	give(t, ctrl, env, claimOf("local", annotate(binding.AnnSelectedNode, "n")))
	for range 3 { // the cache still shows the node
		require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
	}
	assert.Equal(t, []string{"provision pvc-uid-1"}, p.calls)
	assert.Equal(t, []string{"update persistentvolumeclaims"}, writes(env))

	newVersion := func(c *v1.PersistentVolumeClaim) { c.ResourceVersion = "8" }
	ctrl.claims.Deliver(control.Change{Type: watch.Modified, Item: control.ItemOf(claimOf("local", newVersion))})
	require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
	assert.Len(t, p.calls, 1)

	newVersion = func(c *v1.PersistentVolumeClaim) { c.ResourceVersion = "9" }
	ctrl.claims.Deliver(control.Change{Type: watch.Modified, Item: control.ItemOf(claimOf("local", newVersion, annotate(binding.AnnSelectedNode, "n2")))})
	require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
	assert.Len(t, p.calls, 2)
	assert.Equal(t, []string{"update persistentvolumeclaims"}, writes(env), "read afresh, the claim has no node")
}

func TestARescheduleThatIsRefusedIsTriedAgain(t *testing.T) {
	for refused, tries := range map[int]int{1: 1, 3: 1, 4: 2} { // the last one is left to the queue
		p := &scripted{provision: func(ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
			return nil, ProvisioningReschedule, errors.New("full")
		}}
		ctrl, env := newTest(t, p)
		give(t, ctrl, env, claimOf("local", annotate(binding.AnnSelectedNode, "n")))
		conflict := apierrors.NewConflict(schema.GroupResource{Resource: "persistentvolumeclaims"}, "data", errors.New("changed"))
		refuse(env, "update", "persistentvolumeclaims", refused, conflict)
		if tries == 2 {
			require.ErrorIs(t, ctrl.syncClaimHandler(context.Background(), "uid-1"), conflict)
		}
		require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
		assert.Len(t, p.calls, tries, refused)
	}
}

// semantics 3 must 7.
func TestGivingUpEndsWhatWasInProgress(t *testing.T) {
	p := &scripted{provision: func(ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
		return nil, ProvisioningInBackground, errors.New("boom")
	}}
	ctrl, env := newTest(t, p)
	give(t, ctrl, env, claimOf("fast"))
	env.queues["claims"].failures["uid-1"] = 14
	require.Error(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
	assert.Contains(t, ctrl.claimsInProgress, "uid-1")
	env.queues["claims"].failures["uid-1"] = 15
	require.Error(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
	assert.NotContains(t, ctrl.claimsInProgress, "uid-1")
}

func TestBlockModeNeedsABlockProvisioner(t *testing.T) {
	block := v1.PersistentVolumeBlock
	p := &scripted{}
	ctrl, env := newTest(t, p)
	give(t, ctrl, env, claimOf("fast", func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeMode = &block }))
	require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
	assert.Empty(t, p.calls)
	assert.Equal(t, []string{"Warning ProvisioningFailed: example.com/test does not support block volume provisioning"}, env.recorded)
}

// doc.go: a quirk of upstream.
func TestAClassOfAnotherProvisionerThatIsKnownTooIsServed(t *testing.T) {
	ctrl, env := newTest(t, &scripted{})
	give(t, ctrl, env, claimOf("fast", annotate(binding.AnnStorageProvisioner, "example.com/other")))
	require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
	volume, err := env.client.CoreV1().PersistentVolumes().Get(context.Background(), "pvc-uid-1", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, testName, volume.Annotations[binding.AnnDynamicallyProvisioned], "the class's, not the claim's")
}

func TestAClassOfAnotherProvisionerStops(t *testing.T) {
	p := &scripted{}
	ctrl, env := newTest(t, p)
	give(t, ctrl, env, claimOf("foreign"))
	require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
	assert.Empty(t, p.calls)
	assert.Empty(t, env.recorded)
	assert.Equal(t, []string{`pvc default/data: does not provision: class foreign is of provisioner "example.com/foreign"`}, env.traced)
}
