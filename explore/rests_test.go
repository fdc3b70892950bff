package explore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explore"
)

// onlyOnce has a process work in its first life only: one that has ended does nothing when it is started again.
func onlyOnce(actor string) func(string, control.Factory) control.Factory {
	return func(name string, f control.Factory) control.Factory {
		if name != actor {
			return f
		}
		started := false
		return func(env control.Env) error {
			if started {
				return nil
			}
			started = true
			return f(env)
		}
	}
}

// The claim hangs, and the scenario deletes it: at the end nothing is to be seen of it. The user's deletion may go
// through Cluster.Delete or a client.
func TestAClaimThatHangsAndIsThenDeletedIsAFailure(t *testing.T) {
	for name, deletes := range map[string]func(c *explore.Cluster){
		"Delete": func(c *explore.Cluster) { c.Delete("pvc/data") },
		"a client": func(c *explore.Cluster) {
			c.Must(c.Client().CoreV1().PersistentVolumeClaims("default").Delete(c.T.Context(), "data", metav1.DeleteOptions{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := explore.Config{Cluster: storagesim.Config{Wrap: onlyOnce("example.com/shelf")}}
			scenario := explore.Scenario(func(c *explore.Cluster) {
				c.AddProvisioner("example.com/shelf", &shelf{holds: map[string]bool{}})
				c.Apply(shelfClaim)
				c.Settle()
				deletes(c)
				c.Settle()
			})
			const line = "x1;faults=2:crash" // before it creates the volume
			f, ok := errors.AsType[*explore.Failure](explore.Replay(cfg, line, scenario))
			require.True(t, ok)
			require.Equal(t, explore.Reason{Rule: explore.Liveness, Object: "pvc/default/data"}, f.Reason())
			require.ErrorContains(t, f, "when the user acts next, 20 minutes after all trouble: PersistentVolumeClaim: 0 are as they should be, in order 1 were\n"+
				"pvc default/data is Pending")
			require.Contains(t, f.Story, "example.com/shelf         crashes before: create persistentvolumes")
			require.NotContains(t, f.Story, "deletes pvc default/data")

			cfg.Cluster.Wrap = nil
			require.NoError(t, explore.Replay(cfg, line, scenario))
			cfg.Cluster.Wrap, cfg.Except = onlyOnce("example.com/shelf"), []string{explore.Liveness}
			require.NoError(t, explore.Replay(cfg, line, scenario))
		})
	}
}

// What is late, and not lost, is no failure: neither if the user does not wait for it.
func TestWhatIsBehindAndCatchesUpIsNoFailure(t *testing.T) {
	report, err := explore.Run(t.Context(), explore.Config{Runs: 60}, explore.Scenario(func(c *explore.Cluster) {
		c.AddProvisioner("example.com/shelf", &shelf{holds: map[string]bool{}})
		c.Apply(shelfClaim)
		c.RunFor(time.Second)
		c.Delete("pvc/data")
		c.RunFor(time.Second)
		c.Apply(shelfClaim)
		c.RunFor(time.Second)
	}))
	require.NoError(t, err)
	require.Equal(t, 60, report.Runs)
}

const lateClass = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disks}, provisioner: csi.storagesim.io, allowVolumeExpansion: true, " +
	"volumeBindingMode: WaitForFirstConsumer}"

// lateClaim returns a claim of that size, and latePod the pod that uses it.
func lateClaim(size string) string {
	return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: disks, " +
		"resources: {requests: {storage: " + size + "}}}}"
}

const latePod = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: busybox, command: [sleep, '100000'], " +
	"volumeMounts: [{name: data, mountPath: /data}]}], volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}}"

// The pod is gone when the claim comes to need it: the resizer, or the scheduler, was late. The claim then waits by design for the next pod.
func TestAClaimThatIsLateAndWaitsForAPodThatTheScenarioDeletedIsNotBehind(t *testing.T) {
	for name, run := range map[string]struct {
		line string
		acts []string // between the creation of the pod and its deletion
	}{
		"the rest of an expansion": {"x1;faults=1..5:csi-resizer/csi.storagesim.io:GetPluginInfo:csi-unavailable", []string{lateClaim("2Gi")}},
		"the first pod":            {"x1;holds=1:1m:kube-scheduler:pods", nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, explore.Replay(explore.Config{}, run.line, explore.Scenario(func(c *explore.Cluster) {
				c.InstallCSIDriver(driver.Config{})
				c.RunFor(10 * time.Second)
				c.Apply(lateClass, lateClaim("1Gi"), latePod)
				c.RunFor(15 * time.Second)
				for _, act := range run.acts {
					c.Apply(act)
					c.Settle()
				}
				c.Delete("pod/web")
				c.Settle()
				c.Delete("pvc/data")
				c.Settle()
			})))
		})
	}
}

// A program that deletes a claim with its data, and creates it anew, is behind, though the new claim waits by design.
func TestAClaimThatAProgramMadeAnewIsBehindAlsoIfItWaitsForAPod(t *testing.T) {
	scenario := explore.Scenario(func(c *explore.Cluster) {
		c.InstallCSIDriver(driver.Config{})
		c.RunFor(10 * time.Second)
		c.Apply(lateClass, lateClaim("1Gi"), latePod)
		c.Settle()
		c.RequireBound("data")
		c.Delete("pod/web")
		c.Settle()
		c.Must(c.Engine().Add("operator", func(env control.Env) error {
			env.Go("data", func(ctx context.Context) {
				_, failed := env.Client().CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
				claims := env.Client().CoreV1().PersistentVolumeClaims("default")
				if claim, err := claims.Get(ctx, "data", metav1.GetOptions{}); failed != nil && err == nil {
					again := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claim.Spec}
					again.Spec.VolumeName = ""
					_ = claims.Delete(ctx, "data", metav1.DeleteOptions{})
					env.Sleep(ctx, time.Minute)
					_, _ = claims.Create(ctx, again, metav1.CreateOptions{})
				}
			})
			return nil
		}))
		c.Settle()
	})
	err := explore.Replay(explore.Config{}, "x1;faults=1:operator:list:configmaps:refused", scenario)
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, explore.Reason{Rule: explore.Liveness, Object: "pvc/default/data"}, f.Reason())
	require.ErrorContains(t, f, "it waits for the first pod that uses it")
}

// A right program is late in a run with trouble, and the scenario does not wait for it. The failure says how it would.
func TestAnActThatComesTooEarlyForALateClaimSaysHowToWait(t *testing.T) {
	scenario := explore.Scenario(func(c *explore.Cluster) {
		c.InstallCSIDriver(driver.Config{})
		c.RunFor(10 * time.Second)
		c.Apply(lateClass, lateClaim("1Gi"), latePod)
		c.Settle()
		c.Apply(lateClaim("2Gi"))
		c.Settle()
	})
	err := explore.Replay(explore.Config{}, "x1;faults=1..5:csi-provisioner/csi.storagesim.io:GetPluginInfo:csi-unavailable", scenario)
	require.ErrorContains(t, err, "spec is immutable after creation")
	require.ErrorContains(t, err, `let the scenario wait before this act: RequireBound("default/data") waits up to 20m0s`)
}
