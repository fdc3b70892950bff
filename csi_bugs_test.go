package storagesim_test

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	csiprovisioner "github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// The bugs 1 to 4 with a CSI driver: what CreateVolume has made, and no object says so.

var csiActor = csi.ProvisionerActor(driver.Name)

// provisioning is a cluster without nodes, with the reference driver and its class. A rule
// of its provisioner can be changed.
func provisioning(t *testing.T, change func(*csiprovisioner.Rules)) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, NoNodes: true, Only: shelfConfig().Only})
	d, err := driver.New(driver.Config{})
	require.NoError(t, err)
	if change != nil {
		d.Sidecars.Provisioner = func(cfg *csiprovisioner.Config) { change(&cfg.Rules) }
	}
	c.InstallCSIDriver(d)
	c.Apply(strings.TrimSuffix(growingClass, "---\n"))
	c.Settle()
	return c
}

// madeAndDeleted are the calls of CreateVolume and DeleteVolume, with what the caller got
// for an answer.
func madeAndDeleted(c *storagesimtest.Cluster) (calls []string) {
	for _, entry := range c.Engine().Trace().Entries() {
		if rpc, ok := entry.Record.(trace.RPC); ok && slices.Contains([]string{"CreateVolume", "DeleteVolume"}, rpc.Method) {
			calls = append(calls, rpc.Method+" "+rpc.Code)
		}
	}
	return calls
}

// onlyHere is what a leak of the driver is called.
const onlyHere = "of driver csi.storagesim.io, for which there is no pv"

// tidyUp is what the author of a driver can run beside it: each ten minutes it has the
// driver delete the volumes that neither a PersistentVolume nor a claim stands for. The
// name of a volume, which the driver keeps, has the claim's UID.
func tidyUp(c *storagesimtest.Cluster) control.Factory {
	return func(env control.Env) error {
		d := spec.NewControllerClient(call.Dial(c.Sockets(), env, "host/"+driver.Name, csi.ControllerSocket))
		env.Every("tidy up", 10*time.Minute, func(ctx context.Context) {
			listed, err1 := d.ListVolumes(ctx, &spec.ListVolumesRequest{}) // before the objects, so that none is too new
			claims, err2 := env.Client().CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
			volumes, err3 := env.Client().CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
			if err1 != nil || err2 != nil || err3 != nil {
				return
			}
			for _, entry := range listed.Entries {
				id := entry.Volume.VolumeId
				name := nameOfVolume(c, id)
				claimed := slices.ContainsFunc(claims.Items, func(c v1.PersistentVolumeClaim) bool { return "pvc-"+string(c.UID) == name })
				saved := slices.ContainsFunc(volumes.Items, func(v v1.PersistentVolume) bool { return v.Name == name })
				if !claimed && !saved {
					_, _ = d.DeleteVolume(ctx, &spec.DeleteVolumeRequest{VolumeId: id}) // if it fails, the next round does it
				}
			}
		})
		return nil
	}
}

// nameOfVolume is the name that CreateVolume was given, as the driver wrote it down.
func nameOfVolume(c *storagesimtest.Cluster, id string) string {
	var v struct{ Name string }
	data, err := c.Cluster.ReadFile("host/"+driver.Name, path.Join("/volumes", id, "volume.json"))
	if err != nil || json.Unmarshal(data, &v) != nil {
		return ""
	}
	return v.Name
}

// Bug 1, external-provisioner 486, open: csi-provisioner has no rule that mends it. What
// the driver's author runs beside it does.
func TestBug1AVolumeIsLostBetweenCreateVolumeAndThePersistentVolume(t *testing.T) {
	for tidy, want := range map[bool]string{false: onlyHere, true: ""} {
		c := provisioning(t, nil)
		if tidy {
			require.NoError(t, c.Engine().Add("tidy-up", tidyUp(c)))
		}
		c.Inject(engine.Fault{Actor: csiActor, Verb: "create", Resource: "pv", Crash: true, Restart: time.Minute})
		c.Apply(growingClaim("1Gi"))
		c.RunFor(10 * time.Second)
		require.Equal(t, []string{"CreateVolume OK"}, madeAndDeleted(c))
		c.Delete("pvc/data")
		c.RunFor(time.Hour)
		require.Equal(t, []string{`Normal Provisioning: External provisioner is provisioning volume for claim "default/data"`},
			slices.DeleteFunc(saidOf(c, "pvc default/data"), func(said string) bool { return strings.Contains(said, "ExternalProvisioning") }))
		requireLeak(t, c.Cluster.RequireNoLeaks(), want)
	}
}

// Bug 2, external-provisioner 131 and 311, fixed in 312: the driver goes on with a
// CreateVolume that has timed out, and the claim is deleted meanwhile.
func TestBug2CreateVolumeTimedOutAndFinishedLater(t *testing.T) {
	final := func(rules *csiprovisioner.Rules) {
		rules.State = func(error, bool) provisioner.ProvisioningState { return provisioner.ProvisioningFinished }
	}
	for want, rule := range map[string]func(*csiprovisioner.Rules){onlyHere: final, "": nil} {
		c := provisioning(t, rule)
		c.InjectCSI(call.Fault{Method: "CreateVolume", Hang: true, After: true})
		c.Apply(growingClaim("1Gi"))
		c.RunUntil(func() bool { return len(madeAndDeleted(c)) == 1 })
		c.Delete("pvc/data")
		c.RunFor(time.Hour)
		require.Contains(t, saidOf(c, "pvc default/data"), "Warning ProvisioningFailed: rpc error: code = DeadlineExceeded desc = context deadline exceeded")
		calls := []string{"CreateVolume DeadlineExceeded"}
		if rule == nil {
			calls = append(calls, "CreateVolume OK", "DeleteVolume OK")
		}
		require.Equal(t, calls, madeAndDeleted(c))
		requireLeak(t, c.Cluster.RequireNoLeaks(), want)
	}
}

// Bug 3, external-provisioner 94, fixed in 216 and 251: a PersistentVolume that cannot be
// created has its volume deleted, and made again, round after round.
func TestBug3AVolumeIsNotDeletedBecauseItsObjectCannotBeCreated(t *testing.T) {
	rounds := func(rules *csiprovisioner.Rules) {
		rules.Store = func(library *provisioner.Config) { library.CreateProvisionedPVRetryCount = 5 }
	}
	for fixed, want := range map[bool][]string{
		false: {"CreateVolume OK", "DeleteVolume OK", "CreateVolume OK", "DeleteVolume OK", "CreateVolume OK"},
		true:  {"CreateVolume OK"},
	} {
		rule := rounds
		if fixed {
			rule = nil
		}
		c := provisioning(t, rule)
		c.Inject(engine.Fault{Actor: csiActor, Verb: "create", Resource: "pv", Err: apierrors.NewInternalError(context.DeadlineExceeded), Times: 10})
		c.Apply(growingClaim("1Gi"))
		c.RunFor(20 * time.Minute)
		require.Equal(t, want, madeAndDeleted(c))
		require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
		said := slices.ContainsFunc(saidOf(c, "pvc default/data"), func(said string) bool {
			return strings.HasPrefix(said, "Warning ProvisioningFailed: Error creating provisioned PV object for claim default/data: ") &&
				strings.HasSuffix(said, ". Deleting the volume.")
		})
		require.Equal(t, !fixed, said)
		c.RequireNoLeaks()
	}
}

// Bug 4, external-provisioner 1469, open: the claim changes while its volume is made, and
// the provisioner's caches are behind. It makes the volume again. That call takes so long
// that the driver gets it after DeleteVolume, and before the PersistentVolume is gone.
// Ours reads the PersistentVolume first if it has created it.
func TestBug4AStaleClaimMakesItsVolumeAgain(t *testing.T) {
	upstream := func(rules *csiprovisioner.Rules) { rules.Library.LookUp = func(bool) bool { return false } }
	for want, rule := range map[string]func(*csiprovisioner.Rules){onlyHere: upstream, "": nil} {
		c := provisioning(t, rule)
		c.InjectCSI(call.Fault{Method: "CreateVolume", Delay: 3 * time.Second})
		c.InjectCSI(call.Fault{Method: "CreateVolume", Delay: 9 * time.Second})
		c.Inject(engine.Fault{Actor: csiActor, Verb: "delete", Resource: "pv", Delay: 20 * time.Second})
		c.Apply(growingClaim("1Gi"))
		c.RunFor(time.Second)
		_, err := c.Client().CoreV1().PersistentVolumeClaims("default").Patch(t.Context(), "data", "application/merge-patch+json",
			[]byte(`{"metadata":{"labels":{"app":"web"}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		c.RunFor(time.Second)
		for _, cache := range []string{"persistentvolumeclaims", "persistentvolumes"} {
			c.Hold(csiActor, cache)
		}
		c.RunFor(2 * time.Second) // the first call ends, and the second begins
		require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
		for _, cache := range []string{"persistentvolumeclaims", "persistentvolumes"} {
			c.Release(csiActor, cache)
		}
		c.Delete("pvc/data")
		c.RunFor(time.Hour)
		calls := []string{"CreateVolume OK", "DeleteVolume OK"}
		if rule != nil {
			calls = append(calls, "CreateVolume OK")
		}
		require.Equal(t, calls, madeAndDeleted(c), c.Story())
		requireLeak(t, c.Cluster.RequireNoLeaks(), want)
	}
}
