package museum

import (
	"context"
	"strings"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	storagev1client "k8s.io/client-go/kubernetes/typed/storage/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/kubelet"
)

// withCSI runs the reference driver, changed, and a pod on node-1 that uses a volume of it.
func withCSI(c *explore.Cluster, change func(*csi.Driver)) {
	d, err := driver.New(driver.Config{})
	c.Must(err)
	change(&d)
	c.InstallCSIDriver(d)
	c.RunFor(5 * time.Second)
	c.Apply(storageClass("csi", driver.Name, "Immediate"), claims("csi", "1Gi", "data"), pod("web", "nodeName: node-1", "data"))
}

// careless is a controller that deletes a volume even if it is attached.
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
		Mechanism: "A pod and its claim are deleted. The volume is Released as soon as the claim is gone, and the provisioner deletes it before the attach/detach " +
			"controller has had it detached. The driver does not look whether it is attached.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/84226",
		Fix:      "while there is a VolumeAttachment the volume stays",
		Rule:     explore.CallOrder, Replay: "x1",
		actors: []string{storagesim.AttachDetach}, nodes: []string{"node-1"},
		configure: without(csi.ProvisionerActor(driver.Name), func(e *env) { e.show = noAttachments }),
		scenario: func(c *explore.Cluster, _ bool) {
			withCSI(c, func(d *csi.Driver) {
				makes := d.NewController
				d.NewController = func(h csi.Host) (spec.ControllerServer, error) {
					s, err := makes(h)
					return careless{s}, err
				}
			})
			c.RunFor(2 * time.Minute)
			c.Delete("pod/web", "pvc/data")
			c.RunFor(time.Minute)
		},
	}
}

// noAttachments hides VolumeAttachments.
func noAttachments(obj control.Object) control.Object {
	if _, ok := obj.(*storagev1.VolumeAttachment); ok {
		return nil
	}
	return obj
}

func unpublishedTwice() Exhibit {
	return Exhibit{
		Number: 27, Name: "ControllerUnpublish is called twice",
		Mechanism: "The volume is detached, and the attacher clears the status of its VolumeAttachment, then it removes the finalizer. " +
			"Its own write brings the object back to it, from a cache in which the finalizer is still there.",
		Upstream: "https://github.com/kubernetes-csi/external-attacher/issues/587",
		Fix:      "the finalizer is removed first",
		Rule:     UnpublishedOnce, Replay: "x1;choices=273:1",
		actors: []string{storagesim.AttachDetach}, nodes: []string{"node-1"},
		configure: without(csi.AttacherActor(driver.Name), func(e *env) {
			e.attachments = func(c storagev1client.VolumeAttachmentInterface) storagev1client.VolumeAttachmentInterface {
				return statusFirst{c}
			}
		}),
		scenario: func(c *explore.Cluster, _ bool) {
			withCSI(c, func(*csi.Driver) {})
			c.RunFor(time.Minute)
			c.Delete("pod/web")
			c.RunFor(time.Minute)
		},
	}
}

// statusFirst clears the status of a VolumeAttachment before it removes the finalizer, and not after it.
type statusFirst struct {
	storagev1client.VolumeAttachmentInterface
}

func (s statusFirst) Patch(ctx context.Context, name string, how types.PatchType, patch []byte, options metav1.PatchOptions,
	subresources ...string) (*storagev1.VolumeAttachment, error) {
	patchNow := s.VolumeAttachmentInterface.Patch
	switch {
	case strings.Contains(string(patch), `"finalizers":null`):
		cleared := []byte(`{"status":{"attached":false,"attachmentMetadata":null}}`)
		if va, err := patchNow(ctx, name, how, cleared, options, "status"); err != nil && !apierrors.IsNotFound(err) {
			return va, err
		}
	case string(patch) == "{}": // the status is clear already
		return nil, apierrors.NewNotFound(storagev1.Resource("volumeattachments"), name)
	}
	return patchNow(ctx, name, how, patch, options, subresources...)
}

func neverUnstaged() Exhibit {
	return Exhibit{
		Number: 28, Name: "staged, timed out, never unstaged",
		Mechanism: "The driver is slow: each NodeStageVolume times out and succeeds all the same. The pod is deleted. The kubelet takes the failure for final, " +
			"thinks that nothing was mounted, and does not call NodeUnstageVolume.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/82190",
		Fix:      "kubelet.Config.Uncertain: a mount in doubt is taken away as if it had succeeded",
		Rule:     explore.NothingLeaks, Replay: "x1",
		actors: []string{storagesim.AttachDetach},
		nodes:  []string{"node-1"},
		configure: unfixed(func(cfg *storagesim.Config) {
			cfg.Kubelet = func(cfg *kubelet.Config) { cfg.Uncertain = func(error) bool { return false } }
		}),
		scenario: func(c *explore.Cluster, _ bool) {
			c.Inject(call.Fault{Method: "NodeStageVolume", Hang: true, After: true, Times: -1})
			withCSI(c, func(*csi.Driver) {})
			c.RunFor(time.Minute)
			c.Delete("pod/web")
			c.RunFor(5 * time.Minute)
		},
	}
}
