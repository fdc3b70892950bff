package museum

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/attacher"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/resizer"
	"github.com/storagesim/storagesim/explore"
)

const attributesClasses = `
{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: silver}, driverName: csi.storagesim.io, parameters: {iops: "100"}}
---
{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: wrong}, driverName: csi.storagesim.io, parameters: {colour: blue}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: csi}, provisioner: csi.storagesim.io, allowVolumeExpansion: true}
`

// ofClass returns the claim data with a VolumeAttributesClass.
func ofClass(class string) string {
	return strings.Replace(claims("csi", "1Gi", "data"), "storageClassName: csi", "storageClassName: csi\n  volumeAttributesClassName: "+class, 1)
}

func classNotTakenBack() Exhibit {
	return Exhibit{
		Number: 40, Name: "a wrong class cannot be taken back",
		Mechanism: "A claim requests a VolumeAttributesClass that the driver refuses. The user takes it back and requests the class that the volume has. " +
			"The resizer sees that the volume has it, and does nothing: the status says for ever that the change to the wrong class is infeasible.",
		Upstream: "https://github.com/kubernetes-csi/external-resizer/issues/482",
		Fix:      "resizer.Config.Settled: it looks whether a change is recorded, too",
		Rule:     ClassSettles, Replay: "x1",
		scenario: func(c *explore.Cluster, fixed bool) {
			d, err := driver.New(driver.Config{AttributesClasses: true})
			c.Must(err)
			if !fixed {
				d.Sidecars.Resizer = func(cfg *resizer.Config) { cfg.Settled = hasClass }
			}
			c.InstallCSIDriver(d)
			c.Apply(attributesClasses, ofClass("silver"))
			c.RunFor(10 * time.Minute) // until the claim is bound in any trouble: the class of another cannot be changed
			c.Apply(ofClass("wrong"))
			c.RunFor(time.Minute)
			c.Apply(ofClass("silver"))
			c.RunFor(10 * time.Minute)
		},
	}
}

// hasClass reports whether the volume has the class that its claim requests. Before v2.0 the resizer asked no more.
func hasClass(claim *v1.PersistentVolumeClaim) bool {
	asked, is := claim.Spec.VolumeAttributesClassName, claim.Status.CurrentVolumeAttributesClassName
	return asked == nil || *asked == "" || is != nil && *is == *asked
}

func growthForgotten() Exhibit {
	return Exhibit{
		Number: 41, Name: "a growth is forgotten",
		Mechanism: "A claim is made larger as soon as it is bound. The resizer has the claim in its cache, but not yet the volume, and leaves the claim. " +
			"The volume comes, and no change of a volume makes the resizer look at a claim: it stays as it is until the next resync.",
		Upstream: "https://github.com/kubernetes-csi/external-resizer/pull/521",
		Fix:      "resizer.Config.DropMissing: the claim is tried again, with backoff",
		Rule:     Grows, Replay: "x1",
		scenario: func(c *explore.Cluster, fixed bool) {
			d, err := driver.New(driver.Config{})
			c.Must(err)
			d.Sidecars.Resizer = func(cfg *resizer.Config) { cfg.DropMissing = !fixed }
			c.InstallCSIDriver(d)
			c.RunFor(10*time.Minute + 30*time.Second) // until the resizer has caches in any trouble, and its next resync is far away
			c.Hold(csi.ResizerActor(driver.Name), "persistentvolumes")
			c.Apply(attributesClasses, claims("csi", "1Gi", "data"))
			c.RunFor(2 * time.Minute) // until the claim is bound in any trouble
			c.Apply(claims("csi", "2Gi", "data"))
			c.RunFor(5 * time.Second)
			c.Release(csi.ResizerActor(driver.Name), "persistentvolumes")
			c.RunFor(8 * time.Minute)
		},
		except: []string{explore.Liveness},
		nodes:  []string{"node-1"},
	}
}

func attachStarves() Exhibit {
	return Exhibit{
		Number: 42, Name: "detaches starve an attach", Open: true,
		Mechanism: "The backend is slow to detach. Attaches and detaches share one queue and its workers, so that an attach to another node, " +
			"for which the backend would have time, waits until all detaches that came before it have been tried.",
		Upstream: "https://github.com/kubernetes-csi/external-attacher/issues/761",
		Fix:      "attacher.Config.DetachThreads: workers of their own for detaches",
		Rule:     AttachesSoon, Replay: "x1",
		except: []string{explore.Liveness, explore.NothingLeaks},
		actors: []string{storagesim.AttachDetach}, nodes: []string{"node-1", "node-2"},
		scenario: func(c *explore.Cluster, fixed bool) {
			d, err := driver.New(driver.Config{})
			c.Must(err)
			d.Sidecars.Attacher = func(cfg *attacher.Config) {
				cfg.WorkerThreads, cfg.Timeout = 1, 2*time.Minute
				if fixed {
					cfg.DetachThreads = 1
				}
			}
			c.InstallCSIDriver(d)
			c.RunFor(5 * time.Second)
			var old []string
			for i := range 5 {
				old = append(old, fmt.Sprintf("old-%d", i))
			}
			c.Apply(storageClass("csi", driver.Name, "Immediate"), claims("csi", "1Gi", append(old, "data")...))
			c.Apply(pod("old", "nodeName: node-1", old...))
			c.RunFor(time.Minute)
			c.Inject(call.Fault{Method: "ControllerUnpublishVolume", Hang: true, Times: len(old)})
			c.Delete("pod/old")
			c.RunFor(time.Minute)
			c.Apply(pod("web", "nodeName: node-2", "data"))
			c.RunFor(15 * time.Minute)
		},
	}
}

func namedAndLeft() Exhibit {
	return Exhibit{
		Number: 43, Name: "a claim and a volume that name each other wait for a resync",
		Mechanism: "A volume names its claim, and the claim the volume. The controller works on both, and both write the volume's status: " +
			"one of the writes is refused, as the object has changed. The work is not tried again before the next resync.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/135127",
		Fix:      "pvcontroller.Config.DropFailed: what failed is tried again, with backoff",
		Rule:     BindsWhatIsNamed, Replay: "x1;seed=1;order=pct2",
		configure: func(cfg *storagesim.Config, fixed bool) {
			cfg.PVController.DropFailed = !fixed
			cfg.PVController.ResyncPeriod = 10 * time.Minute // so that this wait is longer than those of other faults
		},
		scenario: func(c *explore.Cluster, _ bool) {
			c.Apply(volume("disk", "manual", "1Gi", "hostPath: {path: /data}\n  claimRef: {namespace: default, name: data}"))
			c.RunFor(2 * time.Minute) // a claim that comes before its volume waits for a resync, too
			c.Apply(strings.Replace(claims("manual", "1Gi", "data"), "storageClassName: manual", "storageClassName: manual\n  volumeName: disk", 1))
			c.RunFor(8 * time.Minute)
		},
	}
}
