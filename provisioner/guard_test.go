package provisioner

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

func TestAMisbehavingProvisionerIsAnEventAndARetry(t *testing.T) {
	tests := map[string]struct {
		provision  func(ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error)
		want       string
		inProgress bool
	}{
		"panics": {func(ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) { panic("oh") },
			"provisioner example.com/test panicked in Provision: oh", true},
		"returns nothing": {func(ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
			return nil, ProvisioningFinished, nil
		},
			"provisioner example.com/test returned neither a volume nor an error", false},
		"returns another name": {func(ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
			return volumeNamed("yours"), ProvisioningFinished, nil
		}, `provisioner example.com/test returned a volume named "yours"; it must be named "pvc-uid-1"`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &scripted{provision: tt.provision}
			ctrl, env := newTest(t, p)
			give(t, ctrl, env, claimOf("fast"))
			require.ErrorContains(t, ctrl.syncClaimHandler(context.Background(), "uid-1"), tt.want)
			assert.Contains(t, env.recorded[1], "Warning ProvisioningFailed: failed to provision volume with StorageClass \"fast\": "+tt.want)
			assert.Equal(t, tt.inProgress, ctrl.claimsInProgress["uid-1"] != nil)
			assert.Empty(t, writes(env))
			assert.Len(t, p.calls, 1, "somebody else's volume must not be deleted")
		})
	}
	t.Run("changes what it is given", func(t *testing.T) {
		p := &scripted{provision: func(options ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
			options.PVC.Annotations["mine"] = "yes"
			options.StorageClass.Name = "mine"
			return volumeNamed(options.PVName), ProvisioningFinished, nil
		}}
		ctrl, env := newTest(t, p)
		claim := claimOf("fast")
		give(t, ctrl, env, claim)
		require.NoError(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
		assert.NotContains(t, claim.Annotations, "mine")
		_, err := ctrl.getStorageClass("fast")
		assert.NoError(t, err)
	})
}

// panicky panics wherever it is asked.
type panicky struct{ scripted }

func (panicky) ShouldProvision(context.Context, *v1.PersistentVolumeClaim) bool { panic("oh") }
func (panicky) ShouldDelete(context.Context, *v1.PersistentVolume) bool         { panic("oh") }

func TestAPanickingQualifierOrGuardIsAnError(t *testing.T) {
	ctrl, env := newTest(t, &panicky{})
	give(t, ctrl, env, claimOf("fast"))
	require.ErrorContains(t, ctrl.syncClaimHandler(context.Background(), "uid-1"), "panicked in ShouldProvision: oh")
	assert.Equal(t, []string{"Warning ProvisioningFailed: provisioner example.com/test panicked in ShouldProvision: oh"}, env.recorded)
	_, _, err := ctrl.shouldDelete(context.Background(), volumeNamed("pv"))
	assert.ErrorContains(t, err, "panicked in ShouldDelete: oh")
}

type fakeCrash struct{}

func (fakeCrash) Error() string { return "crash" }
func (fakeCrash) DriverCrash()  {}

func TestTheDriversCrashPassesThroughTheProvisioner(t *testing.T) {
	p := &scripted{
		provision: func(ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) { panic(fakeCrash{}) },
		delete:    func(*v1.PersistentVolume) error { panic(fakeCrash{}) },
	}
	ctrl, env := newTest(t, p)
	give(t, ctrl, env, claimOf("fast"))
	assert.PanicsWithValue(t, fakeCrash{}, func() { _ = ctrl.syncClaimHandler(context.Background(), "uid-1") })
	assert.PanicsWithValue(t, fakeCrash{}, func() { _ = ctrl.callDelete(context.Background(), volumeNamed("pv")) })
}
