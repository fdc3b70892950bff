package attachdetach

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/migration"
	"github.com/storagesim/storagesim/internal/readonly"
)

// pluginName begins the names of CSI volumes in the status of nodes.
const pluginName = "kubernetes.io/csi"

// csiTimeout is the time that an attacher has for one attempt.
// Upstream: csi_plugin.go csiTimeout, v1.37.
const csiTimeout = 2 * time.Minute

// looks returns the intervals at which waitForStatus reads a VolumeAttachment.
// Upstream: csi_attacher.go waitForVolumeAttachDetachStatusWithLister, v1.37, which adds up to a tenth at random.
func (c *controller) looks() control.Backoff {
	intervals := control.Backoff{First: 500 * time.Millisecond, Factor: 1.05, Max: 7 * time.Second}
	if c.cfg.Late {
		intervals.Jitter = 0.1
	}
	return intervals
}

// uniqueVolumeName returns the name of a CSI volume in the status of nodes.
// Upstream: volume/util GetUniqueVolumeNameFromSpec, and csi_plugin.go GetVolumeName, v1.37.
func uniqueVolumeName(source *v1.CSIPersistentVolumeSource) v1.UniqueVolumeName {
	return v1.UniqueVolumeName(pluginName + "/" + source.Driver + "^" + source.VolumeHandle)
}

// splitUniqueName returns the driver and the handle of a CSI volume.
// Upstream: volume/util SplitUniqueName, and csi_attacher.go Detach, v1.37.
func splitUniqueName(name v1.UniqueVolumeName) (driver, handle string, err error) {
	rest, ok := strings.CutPrefix(string(name), pluginName+"/")
	if !ok {
		return "", "", fmt.Errorf("volume %s is not of the plugin %s", name, pluginName)
	}
	parts := strings.Split(rest, "^")
	if len(parts) != 2 {
		return "", "", errors.New("volumeName missing expected data")
	}
	return parts[0], parts[1], nil
}

// translated returns a volume of a plugin that a CSI driver has replaced as one of that driver, any other as it is. One whose source cannot
// be translated stays as it is, and is not attached.
// Upstream: attachdetach/util CreateVolumeSpec, v1.37.2.
func translated(pv *v1.PersistentVolume) *v1.PersistentVolume {
	if csi, err := migration.Volume(pv); err == nil {
		return csi
	}
	return pv
}

// inline returns a volume in a pod's spec of a plugin that a CSI driver has replaced as a PersistentVolume of that driver, which has no UID; nil for
// any other volume, and for one that cannot be translated.
// Upstream: attachdetach/util CreateVolumeSpec, v1.37.2.
func inline(pod *v1.Pod, volume *v1.Volume) *v1.PersistentVolume {
	pv, _ := migration.Inline(volume, pod.Namespace)
	return pv
}

// sourceOf returns the source of a VolumeAttachment: the name of a PersistentVolume, or all of the spec of one that is no object.
// Upstream: csi_attacher.go Attach, v1.37.
func sourceOf(pv *v1.PersistentVolume) storagev1.VolumeAttachmentSource {
	if pv.UID == "" {
		return storagev1.VolumeAttachmentSource{InlineVolumeSpec: &pv.Spec}
	}
	return storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv.Name}
}

// canAttach reports whether a volume has to be attached: it is a CSI volume, and its driver does not skip attaching.
// Upstream: csi_plugin.go CanAttach, v1.37.
func (c *controller) canAttach(pv *v1.PersistentVolume) bool {
	if pv.Spec.CSI == nil {
		return false
	}
	driver, _ := c.drivers.Get(pv.Spec.CSI.Driver)
	return !skipsAttach(driver)
}

// skipsAttach reports whether a driver declares that its volumes need not be attached. An unknown driver, nil, does
// not.
// Upstream: csi_plugin.go skipAttach, v1.37.
func skipsAttach(driver *storagev1.CSIDriver) bool {
	return driver != nil && driver.Spec.AttachRequired != nil && !*driver.Spec.AttachRequired
}

// attach creates a VolumeAttachment, which the attacher acts on, and waits until the volume is attached.
// Upstream: csi_attacher.go Attach, v1.37.
func (c *controller) attach(ctx context.Context, pv *v1.PersistentVolume, node string) error {
	source := pv.Spec.CSI
	name := binding.AttachmentName(source.VolumeHandle, source.Driver, node)
	if _, ok := c.attachments.Get(name); !ok {
		_, err := c.client.StorageV1().VolumeAttachments().Create(readonly.Answers(ctx), &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: storagev1.VolumeAttachmentSpec{
				NodeName: node, Attacher: source.Driver, Source: sourceOf(pv),
			},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("kubernetes.io/csi: attacher.Attach failed: %w", err)
		}
	}
	return c.waitForStatus(ctx, source.Driver, "attach", source.VolumeHandle, func() (bool, error) {
		va, ok := c.attachments.Get(name)
		if !ok {
			return false, nil // created just now, and not in the cache yet
		}
		return verifyAttachmentStatus(va)
	})
}

// verifyAttachmentStatus reports whether a volume is attached. It returns the attacher's error, if there is one.
// Upstream: csi_attacher.go verifyAttachmentStatus, v1.37.
func verifyAttachmentStatus(va *storagev1.VolumeAttachment) (bool, error) {
	switch {
	case va.DeletionTimestamp != nil:
		return false, errors.New("volume attachment is being deleted")
	case va.Status.Attached:
		return true, nil
	case va.Status.AttachError != nil:
		return false, errors.New(va.Status.AttachError.Message)
	}
	return false, nil
}

// detach deletes the VolumeAttachment, and waits until the attacher has detached the volume.
// Upstream: csi_attacher.go Detach, v1.37.
func (c *controller) detach(ctx context.Context, at place) error {
	driver, handle, err := splitUniqueName(at.volume)
	if err != nil {
		return err
	}
	name := binding.AttachmentName(handle, driver, at.node)
	err = c.client.StorageV1().VolumeAttachments().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("kubernetes.io/csi: detacher.Detach failed to delete VolumeAttachment [%s]: %w", name, err)
	}
	return c.waitForStatus(ctx, "unknown", "detach", handle, func() (bool, error) {
		va, ok := c.attachments.Get(name)
		if ok && va.Status.DetachError != nil {
			return false, errors.New(va.Status.DetachError.Message)
		}
		return !ok, nil
	})
}

// waitForStatus calls look until it returns true or an error, or the time is over.
// Upstream: csi_attacher.go waitForVolumeAttachDetachStatusWithLister, v1.37.
func (c *controller) waitForStatus(ctx context.Context, driver, verb, handle string, look func() (bool, error)) error {
	limited := control.WithTimeout(ctx, c.env, csiTimeout)
	err := c.env.PollBackoff(limited, c.looks(), func(context.Context) (bool, error) { return look() })
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("timed out waiting for external-attacher of %s CSI driver to %s volume %s", driver, verb, handle)
	}
	return err
}

// isAttached reports whether the VolumeAttachment of a volume says that it is attached. If the cache does not have
// it, it is read from the API.
// Upstream: csi_attacher.go VolumesAreAttached, v1.37.
func (c *controller) isAttached(ctx context.Context, pv *v1.PersistentVolume, node string) bool {
	name := binding.AttachmentName(pv.Spec.CSI.VolumeHandle, pv.Spec.CSI.Driver, node)
	va, ok := c.attachments.Get(name)
	if !ok {
		var err error
		if va, err = c.client.StorageV1().VolumeAttachments().Get(readonly.Answers(ctx), name, metav1.GetOptions{}); err != nil {
			return false
		}
	}
	return va.Status.Attached
}
