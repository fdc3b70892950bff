package explore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// shelf is a provisioner of volumes that are names in a map. Its mistakes are chosen.
type shelf struct {
	holds map[string]bool
	made  int
	// forgetful makes another volume when it is asked again for the same claim.
	forgetful bool
}

func (s *shelf) Provision(_ context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	asset := o.PVName
	if s.forgetful {
		s.made++
		asset = fmt.Sprintf("disk-%d", s.made)
	}
	s.holds[asset] = true
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName, Annotations: map[string]string{"asset": asset}},
		Spec: v1.PersistentVolumeSpec{
			Capacity: o.PVC.Spec.Resources.Requests, AccessModes: o.PVC.Spec.AccessModes, PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/shelf/" + asset}},
		},
	}, provisioner.ProvisioningFinished, nil
}

func (s *shelf) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	delete(s.holds, volume.Annotations["asset"])
	return nil
}

const shelfClaim = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: shelf}
provisioner: example.com/shelf
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: shelf, resources: {requests: {storage: 1Gi}}}
`

// comesAndGoes creates a claim and deletes it. At the end the shelf must be empty.
func comesAndGoes(forgetful bool) func(c *storagesim.Cluster) error {
	return explore.Scenario(func(c *explore.Cluster) {
		s := &shelf{holds: map[string]bool{}, forgetful: forgetful}
		c.AddProvisioner("example.com/shelf", s)
		c.Apply(shelfClaim)
		c.Settle()
		c.Delete("pvc/data")
		c.Settle()
		c.RunFor(20 * time.Second) // a volume whose claim goes before it is bound is released in a resync
		if len(s.holds) > 0 {
			c.T.Fatalf("left on the shelf: %v", slices.Sorted(maps.Keys(s.holds)))
		}
	})
}

// bindsOneVolume creates claims that one volume can serve.
func bindsOneVolume(c *explore.Cluster) {
	c.Apply(oneVolume)
	c.Settle()
}

func TestAProvisionerThatForgetsIsFoundByOneFault(t *testing.T) {
	_, err := explore.Run(t.Context(), explore.Config{}, comesAndGoes(true))
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.ErrorContains(t, err, "left on the shelf: [disk-1")
	require.Len(t, f.Plan.Faults, 1, "%s", f.Plan)
	require.Equal(t, 1, f.Plan.Size(), "%s", f.Plan)

	report, err := explore.Run(t.Context(), explore.Config{Runs: 150}, comesAndGoes(false))
	require.NoError(t, err)
	require.Equal(t, 150, report.Runs)
}

func TestEachStrategyMakesItsPlansAndTheSystematicOnesEnd(t *testing.T) {
	for _, name := range explore.Strategies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := explore.Run(t.Context(), explore.Config{Runs: 40, Strategies: []string{name}}, comesAndGoes(false))
			require.NoError(t, err)
			if name != explore.Crashes && name != explore.Faults && name != explore.Outages { // which have fewer for so small a scenario
				require.Equal(t, 40, report.Runs)
			}
			if name == explore.Crashes || name == explore.Faults {
				require.Greater(t, report.Coverage.Tried, 8)
				require.Zero(t, report.Coverage.Missed)
			} else {
				require.Zero(t, report.Coverage.Tried, "it has more than one fault in order")
			}
			require.Equal(t, report.Coverage.Tried, report.Coverage.Recovered)
		})
	}
	report, err := explore.Run(t.Context(), explore.Config{Runs: 100_000, Expect: threeWait, Strategies: []string{explore.Crashes, explore.Faults}},
		explore.Scenario(bindsOneVolume))
	require.NoError(t, err)
	require.Less(t, report.Runs, 1000, "all there are")
	require.Equal(t, report.Coverage.Places, report.Coverage.Recovered, report.Coverage.String())
	require.Equal(t, report.Coverage.Places+1, report.Runs, "and the plain run")
	require.Contains(t, report.Coverage.String(), fmt.Sprintf("%d of %[1]d places recover", report.Coverage.Places))
}

// Single faults come before all else, those at the first call of each kind first; then all strategies take turns.
func TestSingleFaultsComeFirst(t *testing.T) {
	report, err := explore.Run(t.Context(), explore.Config{Runs: 300}, comesAndGoes(false))
	require.NoError(t, err)
	places := report.Coverage.Places
	require.Less(t, places, 150)
	require.Equal(t, places, report.Coverage.Recovered, report.Coverage.String())
	report, err = explore.Run(t.Context(), explore.Config{Runs: places + 1}, comesAndGoes(false))
	require.NoError(t, err)
	require.Less(t, report.Coverage.Recovered, places, "half of the runs are for other strategies")
	require.Greater(t, report.Coverage.Recovered, places/2)
	require.Contains(t, report.Coverage.String(), "were not tried")
}

// There may be any number of runs: they are not planned before.
func TestAnyNumberOfRunsCanBeAskedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := explore.Config{Runs: math.MaxInt, Shard: 2, Shards: 3, Progress: func(run int) {
		if run > 100 {
			cancel()
		}
	}}
	report, err := explore.Run(ctx, cfg, comesAndGoes(false))
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, report.Runs, 100)
}

func TestAUsersRuleIsLookedAtWithEachWriteAndEndsTheRun(t *testing.T) {
	rule := explore.Rule{Name: "d waits", Begin: func(*storagesim.Cluster) explore.Check {
		return explore.Check{Write: func(w trace.Write) error {
			if claim, ok := w.New.(*v1.PersistentVolumeClaim); ok && claim.Name == "d" && claim.Spec.VolumeName != "" {
				return errors.New("d has a volume")
			}
			return nil
		}}
	}}
	_, err := explore.Run(t.Context(), explore.Config{Rules: []explore.Rule{rule}, Expect: threeWait}, explore.Scenario(bindsOneVolume))
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "d waits", f.Rule())
	require.ErrorContains(t, err, "d waits: d has a volume")
	require.NotContains(t, f.Story, "updates pvc default/d status", "the run ended before")

	rest := explore.Rule{Name: "quiet", Begin: func(*storagesim.Cluster) explore.Check {
		return explore.Check{Rest: func() error { panic("no") }}
	}}
	_, err = explore.Run(t.Context(), explore.Config{Rules: []explore.Rule{rest}}, func(c *storagesim.Cluster) error { return c.Settle() })
	require.ErrorContains(t, err, "run 1 (in order): quiet: panic: no")
}
