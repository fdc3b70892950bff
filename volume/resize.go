package volume

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
)

// NodeExpansionNotRequired is an annotation on a claim whose volume has grown without any
// work on nodes.
//
// Upstream: pkg/volume/util/types/types.go NodeExpansionNotRequired, v1.37.
const NodeExpansionNotRequired = "volume.kubernetes.io/node-expansion-not-required"

// NodeExpandableVolumePlugin is a plugin whose volumes can grow on a node.
//
// Upstream: pkg/volume/plugins.go NodeExpandableVolumePlugin, v1.37.
type NodeExpandableVolumePlugin interface {
	VolumePlugin
	// RequiresFSResize reports whether a volume that has grown needs work on its node.
	RequiresFSResize() bool
	// NodeExpand does that work, and reports whether it is done. It is called again for a
	// volume that has the size already. Its error may be an InfeasibleError, an InUseError
	// or a NotSupportedError; else it is final unless IsFinal says no.
	NodeExpand(ctx context.Context, options NodeResizeOptions) (bool, error)
}

// NodeResizeOptions are arguments of NodeExpand.
//
// Upstream: pkg/volume/plugins.go NodeResizeOptions, v1.37.
type NodeResizeOptions struct {
	VolumeSpec *Spec
	// DevicePath is a raw device's path, DeviceMountPath the volume's path for the pod, and
	// DeviceStagePath its path for the node.
	DevicePath, DeviceMountPath, DeviceStagePath string
	NewSize, OldSize                             resource.Quantity
}

// MergeResizeConditions returns a claim's conditions with those of a resize. Conditions of
// other kinds stay; those of resizes that are not among added stay if keepOld is set.
//
// Upstream: external-resizer pkg/util/util.go MergeResizeConditionsOfPVC, v2.3.
func MergeResizeConditions(old, added []v1.PersistentVolumeClaimCondition, keepOld bool) []v1.PersistentVolumeClaimCondition {
	var merged []v1.PersistentVolumeClaimCondition
	added = slices.Clone(added)
	for _, c := range old {
		at := slices.IndexFunc(added, func(a v1.PersistentVolumeClaimCondition) bool { return a.Type == c.Type })
		switch {
		case !isResizeCondition(c.Type):
			merged = append(merged, c)
		case at >= 0:
			merged = append(merged, added[at])
			added = slices.Delete(added, at, at+1)
		case keepOld:
			merged = append(merged, c)
		}
	}
	return append(merged, added...)
}

func isResizeCondition(t v1.PersistentVolumeClaimConditionType) bool {
	switch t {
	case v1.PersistentVolumeClaimResizing, v1.PersistentVolumeClaimFileSystemResizePending,
		v1.PersistentVolumeClaimControllerResizeError, v1.PersistentVolumeClaimNodeResizeError:
		return true
	}
	return false
}

// SetClaimSize sets the size of its volume in a claim's status. A status without a size, which only a user can write, gets one:
// upstream writes into the map that is not there, and recovers from the panic each time.
//
// Upstream: pkg/volume/util/resize_util.go MarkFSResizeFinished, v1.37.
func SetClaimSize(claim *v1.PersistentVolumeClaim, size resource.Quantity) {
	if claim.Status.Capacity == nil {
		claim.Status.Capacity = v1.ResourceList{}
	}
	claim.Status.Capacity[v1.ResourceStorage] = size
}

// SetResizeStatus sets in a claim's status how far the resize of its volume is; "" means no
// resize.
//
// Upstream: pkg/volume/util/resize_util.go mergeStorageResourceStatus, v1.37.
func SetResizeStatus(claim *v1.PersistentVolumeClaim, status v1.ClaimResourceStatus) {
	statuses := maps.Clone(claim.Status.AllocatedResourceStatuses)
	if statuses == nil {
		statuses = map[v1.ResourceName]v1.ClaimResourceStatus{}
	}
	statuses[v1.ResourceStorage] = status
	if status == "" {
		delete(statuses, v1.ResourceStorage)
	}
	if len(statuses) == 0 {
		statuses = nil
	}
	claim.Status.AllocatedResourceStatuses = statuses
}

// PatchClaimStatus patches a claim's status with the difference of two states, and
// returns the patched claim. With sameVersion the patch is refused as a conflict if
// the claim has changed since from was read.
//
// Upstream: pkg/volume/util/resize_util.go PatchPVCStatus, v1.37.
func PatchClaimStatus(ctx context.Context, client kubernetes.Interface, from, to *v1.PersistentVolumeClaim,
	sameVersion bool) (*v1.PersistentVolumeClaim, error) {
	patch, err := mergePatch(from, to, sameVersion)
	if err != nil {
		return from, fmt.Errorf("patch of claim %s/%s: %w", from.Namespace, from.Name, err)
	}
	patched, err := client.CoreV1().PersistentVolumeClaims(from.Namespace).Patch(ctx, from.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if err != nil {
		return from, err
	}
	return patched, nil
}

// PatchVolume patches a PersistentVolume with the difference of two states.
//
// Upstream: pkg/volume/util/resize_util.go PatchPV, v1.37.
func PatchVolume(ctx context.Context, client kubernetes.Interface, from, to *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	patch, err := mergePatch(from, to, false)
	if err != nil {
		return from, fmt.Errorf("patch of volume %s: %w", from.Name, err)
	}
	patched, err := client.CoreV1().PersistentVolumes().Patch(ctx, from.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return from, err
	}
	return patched, nil
}

func mergePatch[T metav1.Object](from, to T, sameVersion bool) ([]byte, error) {
	before, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, from)
	if err != nil || !sameVersion {
		return patch, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, err
	}
	metadata, _ := fields["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"] = from.GetResourceVersion()
	fields["metadata"] = metadata
	return json.Marshal(fields)
}
