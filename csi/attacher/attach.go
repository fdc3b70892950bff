package attacher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/internal/migration"
	"github.com/storagesim/storagesim/internal/readonly"
)

// syncAttach attaches a volume that is not attached, and writes the outcome.
//
// Upstream: csi_handler.go syncAttach, v4.13.
func (a *csiAttacher) syncAttach(ctx context.Context, va *storage.VolumeAttachment) error {
	if !a.consumeForceSync(va.Name) && va.Status.Attached {
		return nil
	}
	va, metadata, err := a.csiAttach(ctx, va)
	if err != nil {
		a.saveAttachError(ctx, va, err)
		return fmt.Errorf("failed to attach: %w", err)
	}
	if err := a.markAsAttached(ctx, va, metadata); err != nil {
		return fmt.Errorf("failed to mark as attached: %w", err)
	}
	return nil
}

// csiAttach calls ControllerPublishVolume, after it has recorded that in the object. It checks as much as possible
// before, because the finalizer keeps the object from being deleted. It returns the updated object, and the driver's
// publish context.
//
// Upstream: csi_handler.go csiAttach, v4.13.
func (a *csiAttacher) csiAttach(ctx context.Context, va *storage.VolumeAttachment) (*storage.VolumeAttachment, map[string]string, error) {
	spec, err := a.specToAttach(ctx, va)
	if err != nil {
		return va, nil, err
	}
	capability, err := a.volumeCapability(spec)
	if err != nil {
		return va, nil, err
	}
	secrets, err := a.credentials(ctx, spec.CSI)
	if err != nil {
		return va, nil, err
	}
	nodeID, err := a.nodeID(va.Spec.NodeName, nil)
	if err != nil {
		return va, nil, err
	}
	if va, err = a.claim(ctx, va, nodeID); err != nil {
		return va, nil, fmt.Errorf("could not save VolumeAttachment: %w", err)
	}
	answer, err := a.driver.ControllerPublishVolume(control.WithTimeout(ctx, a.env, a.cfg.Timeout), &csi.ControllerPublishVolumeRequest{
		VolumeId:         spec.CSI.VolumeHandle,
		NodeId:           nodeID,
		VolumeCapability: capability,
		// CSI requires false for a driver without the capability.
		Readonly:      spec.CSI.ReadOnly && a.reported.Controller[csi.ControllerServiceCapability_RPC_PUBLISH_READONLY],
		VolumeContext: spec.CSI.VolumeAttributes,
		Secrets:       secrets,
	})
	if err != nil {
		return va, nil, err
	}
	return va, answer.GetPublishContext(), nil
}

// specToAttach returns the spec of the volume, once the volume has the attacher's finalizer.
func (a *csiAttacher) specToAttach(ctx context.Context, va *storage.VolumeAttachment) (*v1.PersistentVolumeSpec, error) {
	pv, spec, err := a.specOf(va)
	if err != nil {
		return nil, err
	}
	if pv != nil {
		if pv.DeletionTimestamp != nil {
			return nil, fmt.Errorf("PersistentVolume %q is marked for deletion", pv.Name)
		}
		if err := a.addPVFinalizer(ctx, pv); err != nil {
			return nil, fmt.Errorf("could not add PersistentVolume finalizer: %w", err)
		}
	}
	if spec.CSI == nil {
		return nil, errNoCSI
	}
	return spec, nil
}

var errNoCSI = errors.New("pv spec contained non-csi source that was not migrated")

// specOf returns the spec of the volume that a VolumeAttachment is for: that of a PersistentVolume, which it returns
// too, or an inline one.
//
// Upstream: csi_handler.go getProcessedPVSpec, v4.13.
func (a *csiAttacher) specOf(va *storage.VolumeAttachment) (*v1.PersistentVolume, *v1.PersistentVolumeSpec, error) {
	name, inline := va.Spec.Source.PersistentVolumeName, va.Spec.Source.InlineVolumeSpec
	switch {
	case name != nil && inline != nil:
		return nil, nil, errors.New("both InlineCSIVolumeSource and PersistentVolumeName specified in VA source")
	case name == nil && inline == nil:
		return nil, nil, errors.New("neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source")
	case inline != nil && inline.CSI == nil:
		return nil, nil, errors.New("inline volume spec contains nil CSI source")
	case inline != nil:
		return nil, inline, nil
	}
	pv, ok := a.volumes.Get(*name)
	if !ok {
		return nil, nil, apierrors.NewNotFound(v1.Resource("persistentvolume"), *name)
	}
	translated, err := migration.Volume(pv)
	if err != nil {
		return nil, nil, err
	}
	return pv, &translated.Spec, nil
}

// addPVFinalizer adds the attacher's finalizer to the volume, no matter which others it has by now: the patch adds
// one element and names no other.
//
// Upstream: csi_handler.go addPVFinalizer and util.go addFinalizerPatch, v4.13.
func (a *csiAttacher) addPVFinalizer(ctx context.Context, pv *v1.PersistentVolume) error {
	if slices.Contains(pv.Finalizers, a.finalizer) {
		return nil
	}
	ops := []operation{{Op: "add", Path: "/metadata/finalizers/-", Value: a.finalizer}}
	if len(pv.Finalizers) == 0 {
		ops = []operation{{Op: "test", Path: "/metadata/finalizers"}, {Op: "add", Path: "/metadata/finalizers", Value: []string{a.finalizer}}}
	}
	return a.patchVolume(ctx, pv.Name, ops)
}

// operation is one step of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (a *csiAttacher) patchVolume(ctx context.Context, name string, ops []operation) error {
	patch, err := json.Marshal(ops)
	if err != nil {
		return err
	}
	_, err = a.client.CoreV1().PersistentVolumes().Patch(readonly.Answers(ctx), name, types.JSONPatchType, patch, metav1.PatchOptions{})
	return err
}

// volumeCapability returns the capability with which the volume is used.
//
// Upstream: util.go GetVolumeCapabilities, v4.13.
func (a *csiAttacher) volumeCapability(spec *v1.PersistentVolumeSpec) (*csi.VolumeCapability, error) {
	mode, err := sidecar.AccessMode(spec.AccessModes, a.reported.Controller[csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER])
	if err != nil {
		return nil, err
	}
	return sidecar.Capability(spec, mode, a.cfg.DefaultFSType), nil
}

// Upstream: csi_handler.go getCredentialsFromPV, v4.13.
func (a *csiAttacher) credentials(ctx context.Context, source *v1.CSIPersistentVolumeSource) (map[string]string, error) {
	ref := source.ControllerPublishSecretRef
	secrets, err := sidecar.Credentials(ctx, a.client, ref)
	if err != nil {
		return nil, fmt.Errorf("failed to load secret \"%s/%s\": %w", ref.Namespace, ref.Name, err)
	}
	return secrets, nil
}

// nodeID returns the driver's ID of the node, from CSINode or, if that does not have the driver, from the annotation
// of the VolumeAttachment. va is nil if only CSINode counts.
//
// Upstream: csi_handler.go getNodeID, v4.13.
func (a *csiAttacher) nodeID(node string, va *storage.VolumeAttachment) (string, error) {
	id, err := nodeIDOf(a.cfg.Driver, node, a.csiNodes.Get)
	if err == nil {
		return id, nil
	}
	if va != nil {
		if id, ok := va.Annotations[annNodeID]; ok {
			return id, nil
		}
	}
	return "", err
}

func nodeIDOf(driver, node string, get func(name string) (*storage.CSINode, bool)) (string, error) {
	csiNode, ok := get(node)
	if !ok {
		return "", apierrors.NewNotFound(storage.Resource("csinode"), node)
	}
	for _, d := range csiNode.Spec.Drivers {
		if d.Name == driver {
			return d.NodeID, nil
		}
	}
	return "", fmt.Errorf("CSINode %s does not contain driver %s", node, driver)
}

// claim writes the finalizer and the node's ID to the VolumeAttachment, unless it has them. Detaching needs both.
//
// Upstream: csi_handler.go prepareVAFinalizer and prepareVANodeID, v4.13.
func (a *csiAttacher) claim(ctx context.Context, va *storage.VolumeAttachment, nodeID string) (*storage.VolumeAttachment, error) {
	id, annotated := va.Annotations[annNodeID]
	if annotated && id == nodeID && slices.Contains(va.Finalizers, a.finalizer) {
		return va, nil
	}
	claimed := va.DeepCopy()
	if !slices.Contains(claimed.Finalizers, a.finalizer) {
		claimed.Finalizers = append(claimed.Finalizers, a.finalizer)
	}
	metav1.SetMetaDataAnnotation(&claimed.ObjectMeta, annNodeID, nodeID)
	return a.patchVA(ctx, va, claimed)
}
