package attacher_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/csi/attacher"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/trace"
)

const (
	actor     = "csi-attacher"
	finalizer = "external-attacher/plain-csi-example-com"
	nodeIDKey = "csi.alpha.kubernetes.io/node-id"
)

var ctx = context.Background()

// rig is an attacher, its driver, volume pv-1 and a CSINode for node-1. The test plays the attach/detach controller.
type rig struct {
	*enginetest.Rig
	driver *csitest.Driver
}

func newRig(t testing.TB, cfg engine.Config, change ...func(*csitest.Driver, *attacher.Config)) *rig {
	t.Helper()
	driver := csitest.New()
	driver.Volumes["h-1"] = "pv-1"
	acfg := attacher.Config{Common: sidecar.Common{Driver: csitest.Name, Dial: driver.Dial}}
	for _, f := range change {
		f(driver, &acfg)
	}
	r := &rig{enginetest.New(t, cfg, actor, attacher.New(acfg)), driver}
	r.volume("pv-1", nil)
	r.node("node-1")
	r.Settle()
	return r
}

func (r *rig) volume(name string, change func(*v1.PersistentVolume)) {
	r.Helper()
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeSpec{
			Capacity:    v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{
				Driver: csitest.Name, VolumeHandle: "h-1", VolumeAttributes: map[string]string{"made": "yes"},
			}},
		},
	}
	if change != nil {
		change(pv)
	}
	_, err := r.User.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{})
	require.NoError(r, err)
}

func (r *rig) node(name string) {
	r.Helper()
	_, err := r.User.StorageV1().CSINodes().Create(ctx, &storage.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storage.CSINodeSpec{Drivers: []storage.CSINodeDriver{{Name: csitest.Name, NodeID: "id-" + name}}},
	}, metav1.CreateOptions{})
	require.NoError(r, err)
}

// attach creates the VolumeAttachment va-1, which change may rename, of a volume and node-1.
func (r *rig) attach(volume string, change ...func(*storage.VolumeAttachment)) {
	r.Helper()
	va := &storage.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "va-1"},
		Spec: storage.VolumeAttachmentSpec{
			Attacher: csitest.Name, NodeName: "node-1", Source: storage.VolumeAttachmentSource{PersistentVolumeName: &volume},
		},
	}
	for _, f := range change {
		f(va)
	}
	_, err := r.User.StorageV1().VolumeAttachments().Create(ctx, va, metav1.CreateOptions{})
	require.NoError(r, err)
}

func (r *rig) detach() {
	r.Helper()
	require.NoError(r, r.User.StorageV1().VolumeAttachments().Delete(ctx, "va-1", metav1.DeleteOptions{}))
}

// va returns the VolumeAttachment va-1, or nil.
func (r *rig) va() *storage.VolumeAttachment {
	r.Helper()
	va, err := r.User.StorageV1().VolumeAttachments().Get(ctx, "va-1", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(r, err)
	return va
}

func (r *rig) pv(name string) *v1.PersistentVolume {
	r.Helper()
	pv, err := r.User.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(r, err)
	return pv
}

// writes returns what the attacher wrote, in order, with the code where it was refused.
func (r *rig) writes() []string {
	var list []string
	for _, entry := range r.Engine.Trace().Entries() {
		w, ok := entry.Record.(trace.Write)
		if !ok || w.Actor != actor {
			continue
		}
		text := w.Verb + " " + w.Resource.Resource
		if w.Subresource != "" {
			text += "/" + w.Subresource
		}
		if w.Code >= 400 {
			text += fmt.Sprint(" ", w.Code)
		}
		list = append(list, text)
	}
	return list
}

// unprotect removes the volume's own protection.
func (r *rig) unprotect(name string) {
	r.Helper()
	pv := r.pv(name)
	pv.Finalizers = slices.DeleteFunc(pv.Finalizers, func(f string) bool { return f == "kubernetes.io/pv-protection" })
	_, err := r.User.CoreV1().PersistentVolumes().Update(ctx, pv, metav1.UpdateOptions{})
	require.NoError(r, err)
}
