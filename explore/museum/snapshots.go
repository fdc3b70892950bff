package museum

import (
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	csiprovisioner "github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/csi/snapshotter"
	"github.com/storagesim/storagesim/explore"
)

// snapshotOf returns a snapshot of the claim data.
func snapshotOf(name, class string) string {
	return `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: ` + name + `}
spec:
  volumeSnapshotClassName: ` + class + `
  source: {persistentVolumeClaimName: data}
`
}

// restored returns the claim copy, which is filled from the snapshot s1.
func restored(class string) string {
	return strings.Replace(claims(class, "1Gi", "copy"), "\nspec:",
		"\nspec:\n  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s1}", 1)
}

// withSnapshots runs the reference driver with changed sidecars, and a claim that is bound.
func withSnapshots(c *explore.Cluster, sidecars csi.Sidecars) {
	d, err := driver.New(driver.Config{})
	c.Must(err)
	d.Sidecars = sidecars
	c.InstallCSIDriver(d)
	c.Apply(storageClass("csi", driver.Name, "Immediate"), storageClass("later", driver.Name, "WaitForFirstConsumer"), `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: snap}
driver: `+driver.Name+`
deletionPolicy: Delete
`)
	c.Apply(claims("csi", "1Gi", "data"))
	c.RunFor(5 * time.Second)
}

// snapshotActors run besides the controllers of volumes.
func snapshotActors() []string { return []string{storagesim.SnapshotController} }

// deletedWhileTaken deletes a snapshot while the driver takes it.
func deletedWhileTaken(c *explore.Cluster, wakes func(snapshotter.Change) bool) {
	withSnapshots(c, csi.Sidecars{Snapshotter: func(cfg *snapshotter.Config) { cfg.Wakes = wakes }})
	c.Inject(call.Fault{Method: "CreateSnapshot", Hang: true, Times: 1})
	c.Apply(snapshotOf("s1", "snap"))
	c.RunFor(10 * time.Second)
	c.Delete("volumesnapshot/s1")
	c.RunFor(10 * time.Minute)
}

func deletedSnapshotStays() Exhibit {
	return Exhibit{
		Number: 34, Name: "a snapshot that is deleted while it is taken stays",
		Mechanism: "The driver is slow to take a snapshot. The snapshot is deleted meanwhile, and its content waits until the driver has answered. " +
			"The answer makes the content ready, but the sidecar looks only at changes that are not its own, so that it does not look at the content again.",
		Upstream: "https://github.com/kubernetes-csi/external-snapshotter/issues/1388",
		Fix:      "snapshotter.Config.Wakes: a content that has become ready, or is not marked as being created any more, is looked at",
		Rule:     GoesWhenDeleted, Replay: "x1",
		except: []string{explore.NothingLeaks},
		actors: snapshotActors(),
		scenario: func(c *explore.Cluster, fixed bool) {
			deletedWhileTaken(c, func(change snapshotter.Change) bool { return change.Other || fixed && (change.Ready || change.Made) })
		},
	}
}

func deletedSnapshotStaysStill() Exhibit {
	return Exhibit{
		Number: 35, Name: "the fix of bug 34 is half of one", Open: true,
		Mechanism: "As in bug 34, with its fix: the content that has become ready is looked at. But at that moment it is still marked as being created, " +
			"so that it is not deleted. The sidecar then takes the mark away, which is a change of its own, and does not look again.",
		Upstream: "https://github.com/kubernetes-csi/external-snapshotter/pull/1392",
		Fix:      "snapshotter.Config.Wakes: a content that is being deleted is looked at, too, when it is not marked as being created any more",
		Rule:     GoesWhenDeleted, Replay: "x1;faults=2:csi-snapshotter/csi.storagesim.io:patch:volumesnapshotcontents/status:crash-after",
		except: []string{explore.NothingLeaks},
		actors: snapshotActors(),
		scenario: func(c *explore.Cluster, fixed bool) {
			deletedWhileTaken(c, func(change snapshotter.Change) bool { return change.Other || change.Ready || fixed && change.Made })
		},
	}
}

func halfRestored() Exhibit {
	return Exhibit{
		Number: 36, Name: "a snapshot deleted while a volume is made from it",
		Mechanism: "CreateVolume from a snapshot is not answered in time; the driver makes the volume all the same. The snapshot is deleted, " +
			"so that the provisioner refuses to ask again. Snapshot and claim then wait for each other; if the claim is deleted, too, no object leads to the volume.",
		Upstream: "https://github.com/kubernetes-csi/external-provisioner/pull/1448",
		Fix: "provisioner.Config.RestoresDeleted of the CSI provisioner: what was begun goes on, which a finalizer on the snapshot tells. Upstream's removes it " +
			"before the PersistentVolume is there, and a crash between the two brings the bug back: here it stays (KeepSnapshotFinalizer)",
		Rule: explore.NothingLeaks, Replay: "x1",
		actors: snapshotActors(),
		scenario: func(c *explore.Cluster, fixed bool) {
			withSnapshots(c, csi.Sidecars{Provisioner: func(cfg *csiprovisioner.Config) {
				cfg.KeepSnapshotFinalizer = fixed
				if !fixed {
					cfg.RestoresDeleted = func(*snapshotv1.VolumeSnapshot) bool { return false }
				}
			}})
			c.Apply(snapshotOf("s1", "snap"))
			c.RunFor(15 * time.Minute) // until it is ready in any trouble: of one that is deleted before that, no volume is begun
			c.Inject(call.Fault{Method: "CreateVolume", Hang: true, After: true, Times: 6})
			c.Apply(restored("csi"))
			c.RunFor(90 * time.Second) // until the volume is begun in any trouble, and not longer than the driver hangs
			c.Delete("volumesnapshot/s1")
			// Until the fix has made the volume in any trouble: when the claim is gone the snapshot's content goes, and upstream asks for no volume of it again.
			c.RunFor(10 * time.Minute)
			c.Delete("pvc/copy")
			c.RunFor(10 * time.Minute)
		},
	}
}

func finalizerStays() Exhibit {
	return Exhibit{
		Number: 37, Name: "the finalizer of a fix stays",
		Mechanism: "So that bug 36 cannot happen, the provisioner puts a finalizer on the snapshot while it makes a volume from it. Its process ends before it " +
			"takes the finalizer away, or the request to take it away fails, and nothing comes back to it. The snapshot can never be deleted.",
		Upstream: "https://github.com/kubernetes-csi/external-provisioner/issues/1507",
		Fix:      "provisioner.Config.SnapshotOrphanSweepInterval of the CSI provisioner: all snapshots are looked at when it starts, and every five minutes",
		Rule:     GoesWhenDeleted, Replay: "x1;faults=2:csi-provisioner/csi.storagesim.io:update:volumesnapshots:refused",
		except: []string{explore.NothingLeaks, explore.Liveness},
		actors: snapshotActors(),
		scenario: func(c *explore.Cluster, fixed bool) {
			var sidecars csi.Sidecars
			if !fixed {
				sidecars.Provisioner = func(cfg *csiprovisioner.Config) { cfg.SnapshotOrphanSweepInterval = -1 }
			}
			withSnapshots(c, sidecars)
			c.Apply(snapshotOf("s1", "snap"))
			c.RunFor(10 * time.Second)
			c.Apply(restored("csi"))
			c.RunFor(time.Minute)
			c.Delete("volumesnapshot/s1")
			c.RunFor(10 * time.Minute)
		},
	}
}

func deletionNotTriedAgain() Exhibit {
	return Exhibit{
		Number: 38, Name: "the deletion of a snapshot is not tried again",
		Mechanism: "A snapshot is deleted while a claim is restored from it. The controller emits an event and leaves it at that. When the claim is gone, " +
			"nothing happens to the snapshot, and it stays until the next resync.",
		Upstream: "https://github.com/kubernetes-csi/external-snapshotter/pull/1394",
		Fix:      "snapshotcontroller.Config.DropBusy: the deletion is tried again, with backoff",
		Rule:     GoesWhenDeleted, Replay: "x1",
		except:    []string{explore.NothingLeaks},
		actors:    snapshotActors(),
		configure: unfixed(func(cfg *storagesim.Config) { cfg.SnapshotController.DropBusy = true }),
		scenario: func(c *explore.Cluster, _ bool) {
			withSnapshots(c, csi.Sidecars{})
			c.Apply(snapshotOf("s1", "snap"))
			c.RunFor(10 * time.Second)
			c.Apply(restored("later"))
			c.RunFor(5 * time.Second)
			c.Delete("volumesnapshot/s1")
			c.RunFor(5 * time.Second)
			c.Delete("pvc/copy")
			c.RunFor(10 * time.Minute)
		},
	}
}

func brokenSnapshotKeepsClaim() Exhibit {
	return Exhibit{
		Number: 39, Name: "a broken snapshot keeps a claim", Open: true,
		Mechanism: "A snapshot names a class that does not exist, and is never taken. Another snapshot of the same claim is taken, and puts a finalizer on the " +
			"claim. The finalizer stays as long as any snapshot of the claim is not ready, and the broken one never is. The claim cannot be deleted.",
		Upstream: "https://github.com/kubernetes-csi/external-snapshotter/issues/1305",
		Fix:      "snapshotcontroller.Config.Keeps: a snapshot that has failed and has no content does not keep the claim",
		Rule:     GoesWhenDeleted, Replay: "x1",
		except: []string{explore.NothingLeaks},
		actors: snapshotActors(),
		configure: func(cfg *storagesim.Config, fixed bool) {
			if fixed {
				cfg.SnapshotController.Keeps = func(s *snapshotv1.VolumeSnapshot) bool {
					return s.Status == nil || s.Status.Error == nil || s.Status.BoundVolumeSnapshotContentName != nil
				}
			}
		},
		scenario: func(c *explore.Cluster, _ bool) {
			withSnapshots(c, csi.Sidecars{})
			c.Apply(snapshotOf("broken", "none"))
			c.RunFor(10 * time.Second)
			c.Apply(snapshotOf("s1", "snap"))
			// Upstream drops the error of a request for the claim that fails, too, so that the finalizer stays until a resync; of five, one goes well.
			c.RunFor(80 * time.Minute)
			c.Delete("pvc/data")
			c.RunFor(10 * time.Minute)
		},
	}
}
