package provisioner

import (
	"context"
	"errors"
	"strings"
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
			assert.Contains(t, env.recorded[1], "Warning ProvisioningFailed: "+tt.want)
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

func TestAnUnknownStateIsNamedAndCountsAsNoChange(t *testing.T) {
	for state, want := range map[ProvisioningState]string{
		"": "",
		"Rescheduled": `pvc default/data: Provision returned the unknown state "Rescheduled", which counts as NoChange; it must be one of [Finished Background ` +
			`NoChange Reschedule]`,
	} {
		p := &scripted{provision: func(ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
			return nil, state, errors.New("boom")
		}}
		ctrl, env := newTest(t, p)
		claim := claimOf("fast")
		give(t, ctrl, env, claim)
		ctrl.claimsInProgress["uid-1"] = claim
		require.Error(t, ctrl.syncClaimHandler(context.Background(), "uid-1"))
		assert.Equal(t, "Warning ProvisioningFailed: boom", env.recorded[1])
		assert.Equal(t, want, strings.Join(env.traced, "\n"))
		assert.Contains(t, ctrl.claimsInProgress, "uid-1")
		require.Len(t, env.called, 1)
		assert.Equal(t, "NoChange", env.called[0].Class)
	}
}

func TestABadVolumeNameIsAnEventBeforeAnythingIsMade(t *testing.T) {
	for want, volumeName := range map[string]func(*v1.PersistentVolumeClaim) string{
		`Config.VolumeName of provisioner example.com/test returned "": a lowercase RFC 1123`:           func(*v1.PersistentVolumeClaim) string { return "" },
		`Config.VolumeName of provisioner example.com/test returned "default/data": a lowercase RFC 11`: claimToClaimKey,
	} {
		p := &scripted{}
		ctrl, env := newTest(t, p, func(c *Config) { c.VolumeName = volumeName })
		give(t, ctrl, env, claimOf("fast"))
		require.ErrorContains(t, ctrl.syncClaimHandler(context.Background(), "uid-1"), want)
		require.Len(t, env.recorded, 1)
		assert.Contains(t, env.recorded[0], "Warning ProvisioningFailed: "+want)
		assert.Empty(t, p.calls)
	}
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
