package csi_test

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
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// The bugs 1 and 3 with a CSI driver: what CreateVolume has made, and no object says so.

var csiActor = csi.ProvisionerActor(driver.Name)

// provisioning returns a cluster without nodes, with the reference driver and its class.
func provisioning(t *testing.T) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, NoNodes: true,
		Only: []string{storagesim.PVController, storagesim.PVCProtection, storagesim.PVProtection}})
	d, err := driver.New(driver.Config{})
	require.NoError(t, err)
	c.InstallCSIDriver(d)
	c.Apply(strings.TrimSuffix(growingClass, "---\n"))
	c.Settle()
	return c
}

// madeAndDeleted returns the calls of CreateVolume and DeleteVolume, with what the caller got
// for an answer.
func madeAndDeleted(c *storagesimtest.Cluster) (calls []string) {
	for _, entry := range c.Engine().Trace().Entries() {
		if rpc, ok := entry.Record.(trace.RPC); ok && slices.Contains([]string{"CreateVolume", "DeleteVolume"}, rpc.Method) {
			calls = append(calls, rpc.Method+" "+rpc.Code)
		}
	}
	return calls
}

// onlyHere ends the line of a leak of the driver.
const onlyHere = "of driver csi.storagesim.io, for which there is no pv"

// tidyUp returns a controller that the author of a driver can run beside it: every ten minutes it
// asks the driver to delete the volumes that have neither a PersistentVolume nor a claim. The
// driver keeps the name of a volume, which contains the claim's UID.
func tidyUp(c *storagesimtest.Cluster) control.Factory {
	return func(env control.Env) error {
		d := spec.NewControllerClient(call.Dial(c.Lab().Sockets(), env, "host/"+driver.Name, csi.ControllerSocket))
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

// nameOfVolume returns the name that CreateVolume was given, as the driver wrote it down.
func nameOfVolume(c *storagesimtest.Cluster, id string) string {
	var v struct{ Name string }
	text, err := c.Cluster.Machine("host/" + driver.Name).ReadFile(path.Join("/volumes", id, "volume.json"))
	if err != nil || json.Unmarshal([]byte(text), &v) != nil {
		return ""
	}
	return v.Name
}

// Bug 1, external-provisioner 486, open: csi-provisioner has no rule that mends it. What
// the driver's author runs beside it does.
func TestBug1AVolumeIsLostBetweenCreateVolumeAndThePersistentVolume(t *testing.T) {
	for tidy, want := range map[bool]string{false: onlyHere, true: ""} {
		c := provisioning(t)
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

// Bug 3, external-provisioner 94, fixed in 216 and 251: a PersistentVolume that cannot be
// created does not have its volume deleted, and made again.
func TestBug3AVolumeIsNotDeletedBecauseItsObjectCannotBeCreated(t *testing.T) {
	c := provisioning(t)
	c.Inject(engine.Fault{Actor: csiActor, Verb: "create", Resource: "pv", Err: apierrors.NewInternalError(context.DeadlineExceeded), Times: 10})
	c.Apply(growingClaim("1Gi"))
	c.RunFor(20 * time.Minute)
	require.Equal(t, []string{"CreateVolume OK"}, madeAndDeleted(c))
	require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
	c.RequireNoLeaks()
}

// requireLeak checks that one thing leaked, or, if want is empty, nothing.
func requireLeak(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
		return
	}
	var found *storagesim.LeakError
	require.ErrorAs(t, err, &found)
	require.Len(t, found.Leaks, 1)
	require.ErrorContains(t, err, want)
}
