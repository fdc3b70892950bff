package museum

import (
	"context"
	"errors"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/attacher"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/kubelet"
)

const (
	csiClaim = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: csi}
provisioner: csi.storagesim.io
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: csi
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`
	csiPod = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: node-1
  terminationGracePeriodSeconds: 1
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: data, mountPath: /data}]}]
`
)

// oneNode is a cluster with a node on which CSI volumes can be used.
func oneNode(bool) storagesim.Config {
	return storagesim.Config{Nodes: storagesim.Nodes("node-1")}
}

// withCSI runs the reference driver, changed, and has a pod on node-1 use a volume of it.
func withCSI(c *storagesim.Cluster, change func(*csi.Driver)) error {
	d, err := driver.New(driver.Config{})
	if err != nil {
		return err
	}
	change(&d)
	return errors.Join(c.InstallCSIDriver(d), c.RunFor(5*time.Second), c.Apply(csiClaim, csiPod))
}

// careless is a controller that deletes a volume whoever has it attached.
type careless struct{ spec.ControllerServer }

func (d careless) DeleteVolume(ctx context.Context, req *spec.DeleteVolumeRequest) (*spec.DeleteVolumeResponse, error) {
	if _, err := d.ControllerUnpublishVolume(ctx, &spec.ControllerUnpublishVolumeRequest{VolumeId: req.VolumeId}); err != nil {
		return nil, err
	}
	return d.ControllerServer.DeleteVolume(ctx, req)
}

func deletedAttached() Exhibit {
	return Exhibit{
		Number: 9, Name: "DeleteVolume while the volume is attached",
		Mechanism: "A pod and its claim are deleted. The volume is Released as soon as the claim is gone, and the provisioner deletes it before the attach/detach controller has had it detached. The driver does not look whether it is attached.",
		Upstream:  "https://github.com/kubernetes/kubernetes/issues/84226",
		Fix:       "csi/provisioner.Rules.CanDelete: while there is a VolumeAttachment the volume stays",
		Rule:      explore.CallOrder, Replay: "x1",
		actors: []string{storagesim.AttachDetach}, cluster: oneNode,
		scenario: func(c *storagesim.Cluster, fixed bool) error {
			return errors.Join(withCSI(c, func(d *csi.Driver) {
				makes := d.NewController
				d.NewController = func(h csi.Host) (spec.ControllerServer, error) {
					s, err := makes(h)
					return careless{s}, err
				}
				d.Sidecars.Provisioner = func(cfg *provisioner.Config) {
					if !fixed {
						cfg.Rules.CanDelete = func(*v1.PersistentVolume, []*storagev1.VolumeAttachment) error { return nil }
					}
				}
			}), c.RunFor(2*time.Minute), c.Delete("pod/web", "pvc/data"), c.RunFor(time.Minute))
		},
	}
}

func unpublishedTwice() Exhibit {
	return Exhibit{
		Number: 27, Name: "ControllerUnpublish is called twice",
		Mechanism: "The volume is detached, and the attacher clears the status of its VolumeAttachment, then it removes the finalizer. Its own write brings the object back to it, from a cache in which the finalizer is still there.",
		Upstream:  "https://github.com/kubernetes-csi/external-attacher/issues/587",
		Fix:       "csi/attacher.Rules.Detached: the finalizer is removed first",
		Rule:      UnpublishedOnce, Replay: "x1;choices=713:3",
		actors: []string{storagesim.AttachDetach}, cluster: oneNode,
		scenario: func(c *storagesim.Cluster, fixed bool) error {
			return errors.Join(withCSI(c, func(d *csi.Driver) {
				d.Sidecars.Attacher = func(cfg *attacher.Config) {
					if !fixed {
						cfg.Rules.Detached = statusFirst
					}
				}
			}), c.RunFor(time.Minute), c.Delete("pod/web"), c.RunFor(time.Minute))
		},
	}
}

// statusFirst is what the attacher did once.
func statusFirst(removeFinalizer, clearStatus func() error) error {
	if err := clearStatus(); err != nil {
		return err
	}
	return removeFinalizer()
}

func neverUnstaged() Exhibit {
	return Exhibit{
		Number: 28, Name: "staged, timed out, never unstaged",
		Mechanism: "The driver is slow: each NodeStageVolume times out and succeeds all the same. The pod is deleted. The kubelet takes the failure for final, thinks that nothing was mounted, and does not call NodeUnstageVolume.",
		Upstream:  "https://github.com/kubernetes/kubernetes/issues/82190",
		Fix:       "kubelet.Rules.Uncertain: a mount in doubt is taken away as if it had succeeded",
		Rule:      explore.NothingLeaks, Replay: "x1",
		actors: []string{storagesim.AttachDetach},
		cluster: func(fixed bool) storagesim.Config {
			cfg := oneNode(fixed)
			if !fixed {
				cfg.KubeletRules = kubelet.Rules{Uncertain: func(error) bool { return false }}
			}
			return cfg
		},
		scenario: func(c *storagesim.Cluster, _ bool) error {
			return errors.Join(c.InjectCSI(call.Fault{Method: "NodeStageVolume", Hang: true, After: true, Times: -1}),
				withCSI(c, func(*csi.Driver) {}), c.RunFor(time.Minute), c.Delete("pod/web"), c.RunFor(5*time.Minute))
		},
	}
}
