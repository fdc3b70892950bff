package csi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/storagesimtest"
)

func TestExplainSaysWhatASnapshotWaitsFor(t *testing.T) {
	claim := growingClass + growingClaim("1Gi") + "---"
	for name, tt := range map[string]struct {
		manifest string
		trouble  func(c *storagesimtest.Cluster)
		says     []string
	}{
		"all is well": {claim + snapClass + snapOf("data"), nil, []string{
			"volumesnapshot default/s1 is ready to use\n", "  volumesnapshotcontent CONTENT is ready to use, snapshot HANDLE of the driver\n",
		}},
		"no claim": {growingClass + snapClass + snapOf("nothing"), nil, []string{
			"volumesnapshot default/s1 is not ready to use\n", "  it is to be taken of pvc default/nothing, which does not exist\n",
			`snapshot-controller said Warning SnapshotContentCreationFailed`,
		}},
		"the claim waits": {strings.Replace(claim, "storageClassName: csi", "storageClassName: none", 1) + snapClass + snapOf("data"), nil, []string{
			"  it is to be taken of pvc default/data, which is Pending and must be Bound: its class \"none\" does not exist, " +
				"and there is no free volume of class none\n",
		}},
		"no class": {claim + snapOf("data"), nil, []string{"  its class snap does not exist\n"}},
		"the driver refuses": {claim + snapClass + snapOf("data"), func(c *storagesimtest.Cluster) {
			c.Inject(socket.Fault{Method: "CreateSnapshot", Code: codes.ResourceExhausted, Message: "the pool is full", Times: -1})
		}, []string{
			"  its class snap is of driver csi.storagesim.io\n", "  volumesnapshotcontent CONTENT is not ready to use\n", "the pool is full",
		}},
		"of a driver that is not there": {strings.ReplaceAll(preprovisioned, "csi.storagesim.io", "other.example.com"), nil, []string{
			"  volumesnapshotcontent mine is not ready to use\n",
			"  the csi-snapshotter of driver other.example.com should work on it, and does not run in this cluster\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := growing(t, 1)
			c.Delete("pvc/data")
			c.Must(c.Lab().InstallSnapshots())
			c.RunFor(time.Minute)
			if tt.trouble != nil {
				tt.trouble(c)
			}
			c.Apply(tt.manifest)
			c.RunFor(20 * time.Second)
			content, handle := handleOf(c)
			why := c.Explain("volumesnapshot/s1")
			for _, line := range tt.says {
				require.Contains(t, why, strings.NewReplacer("CONTENT", content, "HANDLE", handle).Replace(line))
			}
		})
	}
}

// The two wait for each other for ever; explain does not call that a design.
func TestExplainSaysThatADeletedSnapshotAndTheClaimThatIsToBeRestoredFromItWaitForEachOther(t *testing.T) {
	c := growing(t, 1)
	c.Apply(snapClass)
	c.Inject(socket.Fault{Method: "CreateSnapshot", Hang: true})
	c.Apply(snapOf("data") + copyOf("VolumeSnapshot s1"))
	c.RunFor(5 * time.Second)
	c.Delete("volumesnapshot/s1")
	c.RunFor(20 * time.Minute)
	require.Contains(t, c.Explain("volumesnapshot/s1"),
		"volumesnapshot default/s1 is being deleted: it waits for pvc default/copy, whose volume is to be made of it, "+
			"and no volume is made of a snapshot that is being deleted: pvc default/copy waits, too. To do: delete that claim.\n")
	require.Contains(t, c.Explain("pvc/copy"), "pvc default/copy is Pending: its volume is to be a copy of volumesnapshot default/s1, which is being deleted: "+
		"no volume is made of it any more, and it waits for this claim. To do: delete the claim, so that the snapshot can go, and make it anew from another "+
		"snapshot or without.\n")
	c.Delete("pvc/copy")
	c.RunFor(10 * time.Minute)
	_, err := c.Cluster.Explain("volumesnapshot/s1")
	require.ErrorContains(t, err, "not found")
}

func TestExplainSaysWhatASnapshotsContentIs(t *testing.T) {
	c := growing(t, 1)
	c.Apply(snapClass + snapOf("data"))
	c.RunFor(20 * time.Second)
	content, _ := handleOf(c)
	require.Contains(t, c.Explain("volumesnapshotcontent/"+content), "  it belongs to volumesnapshot default/s1; its deletion policy is Delete\n")
	_, err := c.Cluster.Explain("volumesnapshot/other")
	require.ErrorContains(t, err, `"other" not found`)
}

// A cluster whose Config.Only leaves the snapshot controller out says so.
func TestExplainSaysThatNoSnapshotControllerRuns(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Only: []string{storagesim.PVController}})
	c.Must(c.Lab().InstallSnapshots())
	c.Apply(snapClass + snapOf("data"))
	c.RunFor(time.Second)
	require.Contains(t, c.Explain("volumesnapshot/s1"), "  no snapshot controller runs here\n")
}

func TestExplainSaysWhatAGroupSnapshotWaitsFor(t *testing.T) {
	c := database(t, driver.Config{})
	applyGroups(t, c)
	c.Apply(strings.Replace(groupOfApp, "app: db", "app: none", 1))
	c.RunFor(10 * time.Second)
	why := c.Explain("volumegroupsnapshot/monday")
	require.Contains(t, why, "volumegroupsnapshot default/monday is not ready to use\n  no claim in default has the labels app=none\n")
	require.Contains(t, why, "label selector app=none for group snapshot not applied to any PVC")
	c.Delete("volumegroupsnapshot/monday")
	c.RunFor(10 * time.Second)
	c.Apply(groupOfApp)
	c.RunFor(10 * time.Second)
	require.Contains(t, c.Explain("volumegroupsnapshot/monday"),
		"volumegroupsnapshot default/monday is ready to use\n  volumegroupsnapshotcontent groupsnapcontent-")
	require.Contains(t, c.Explain("volumesnapshot/"+members(t, c)["log"].GetName()),
		"  it is part of volumegroupsnapshot default/monday, and is deleted with that\n")
}
