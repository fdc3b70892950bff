package siglib_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live"
	"github.com/storagesim/storagesim/live/siglib"
)

const manifests = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: my-nfs
provisioner: provisioner.test.com/nfs
reclaimPolicy: Delete
volumeBindingMode: Immediate
parameters:
  server: "192.168.203.110"
  path: /data/nfs
  readOnly: "false"
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: my-nfs-pvc
spec:
  storageClassName: my-nfs
  accessModes:
  - ReadWriteOnce
  resources:
    requests:
      storage: 1Gi
`

// start makes a cluster with the manifests, and runs the library's controller beside
// it. What it returns ends both.
func start(t *testing.T, p controller.Provisioner, options ...func(*controller.ProvisionController) error) (*storagesim.Cluster, func()) {
	t.Helper()
	cluster, err := storagesim.New(storagesim.Config{Start: time.Now(), Nodes: storagesim.Nodes("node-1")})
	require.NoError(t, err)
	require.NoError(t, cluster.Apply(manifests))
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
	pc := controller.NewProvisionController(ctx, cluster.Client(), provisionerName, p, options...)
	driver := live.Start(cluster.Engine())
	ran := make(chan error, 1)
	go func() { ran <- siglib.Run(ctx, pc) }()
	return cluster, func() {
		cancel()
		assert.NoError(t, <-ran)
		assert.NoError(t, driver.Stop())
		assert.NoError(t, cluster.Close())
	}
}

// waitForPhase waits until the claim has that phase.
func waitForPhase(t *testing.T, cluster *storagesim.Cluster, phase v1.PersistentVolumeClaimPhase) {
	t.Helper()
	claims := cluster.Client().CoreV1().PersistentVolumeClaims("default")
	w, err := claims.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	for {
		claim, err := claims.Get(t.Context(), "my-nfs-pvc", metav1.GetOptions{})
		require.NoError(t, err)
		if claim.Status.Phase == phase {
			return
		}
		select {
		case <-w.ResultChan():
		case <-time.After(10 * time.Minute):
			require.Fail(t, "the claim never becomes "+string(phase), cluster.Story())
		}
	}
}

func TestTheRealLibraryProvisionsInRealTime(t *testing.T) {
	cluster, stop := start(t, &nfsProvisioner{}, controller.LeaderElection(true), controller.LeaderElectionNamespace("default"))
	defer stop()
	waitForPhase(t, cluster, v1.ClaimBound)
}

func TestTheRealLibraryProvisionsInABubble(t *testing.T) {
	live.Bubble(t, func(t *testing.T) {
		cluster, stop := start(t, &nfsProvisioner{}, controller.LeaderElection(true), controller.LeaderElectionNamespace("default"))
		defer stop()
		waitForPhase(t, cluster, v1.ClaimBound)
		lease, err := cluster.Client().CoordinationV1().Leases("default").Get(t.Context(), "provisioner.test.com-nfs", metav1.GetOptions{})
		require.NoError(t, err)
		assert.NotEmpty(t, lease.Spec.HolderIdentity)
	}, siglib.LeftBehind()...)
}

// Four failures and their backoff: 15 s, 30 s, 60 s and 120 s.
func TestFourFailuresAndTheirBackoff(t *testing.T) {
	real := time.Now() // outside of the bubble: go test -v tells what it costs
	defer func() { t.Logf("%s of real time", time.Since(real).Round(100*time.Microsecond)) }()
	live.Bubble(t, func(t *testing.T) {
		began, calls := time.Now(), []time.Duration{}
		p := &nfsProvisioner{provision: func() (controller.ProvisioningState, error) {
			calls = append(calls, time.Since(began).Truncate(time.Second))
			if len(calls) <= 4 {
				return controller.ProvisioningFinished, errors.New("the array is busy")
			}
			return controller.ProvisioningFinished, nil
		}}
		cluster, stop := start(t, p, controller.LeaderElection(false))
		defer stop()
		waitForPhase(t, cluster, v1.ClaimBound)
		synctest.Wait()
		assert.Equal(t, []time.Duration{0, 15 * time.Second, 45 * time.Second, 105 * time.Second, 225 * time.Second}, calls)
	}, siglib.LeftBehind()...)
}

// A real program exits when another one has its lease.
func TestAControllerThatLosesItsLeaseEnds(t *testing.T) {
	live.Bubble(t, func(t *testing.T) {
		cluster, err := storagesim.New(storagesim.Config{Start: time.Now()})
		require.NoError(t, err)
		defer func() { assert.NoError(t, cluster.Close()) }()
		ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
		defer cancel()
		pc := controller.NewProvisionController(ctx, cluster.Client(), provisionerName, &nfsProvisioner{}, controller.LeaderElectionNamespace("default"))
		ran := make(chan error, 1)
		go func() { ran <- siglib.Run(ctx, pc) }()
		time.Sleep(time.Minute)
		leases := cluster.Client().CoordinationV1().Leases("default")
		other := "somebody else"
		require.NoError(t, retry.RetryOnConflict(retry.DefaultRetry, func() error { // the holder may be renewing it
			lease, err := leases.Get(ctx, "provisioner.test.com-nfs", metav1.GetOptions{})
			if err != nil {
				return err
			}
			lease.Spec.HolderIdentity = &other
			_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
			return err
		}))
		require.ErrorIs(t, <-ran, siglib.ErrLostLease)
	}, siglib.LeftBehind()...)
}

// The cluster's own actors can be crashed meanwhile.
func TestOurActorsCanCrashBesideTheRealLibrary(t *testing.T) {
	live.Bubble(t, func(t *testing.T) {
		cluster, err := storagesim.New(storagesim.Config{Start: time.Now()})
		require.NoError(t, err)
		defer func() { assert.NoError(t, cluster.Close()) }()
		require.NoError(t, cluster.Apply(manifests))
		ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
		pc := controller.NewProvisionController(ctx, cluster.Client(), provisionerName, &nfsProvisioner{}, controller.LeaderElection(false))
		driver := live.Start(cluster.Engine())
		require.True(t, driver.Do(func() { err = cluster.Crash(storagesim.PVController) }))
		require.NoError(t, err)
		ran := make(chan error, 1)
		go func() { ran <- siglib.Run(ctx, pc) }()
		waitForPhase(t, cluster, v1.ClaimBound)
		cancel()
		require.NoError(t, <-ran)
		require.NoError(t, driver.Stop())
		assert.False(t, driver.Do(func() {}), "the driver has stopped")
	}, siglib.LeftBehind()...)
}
