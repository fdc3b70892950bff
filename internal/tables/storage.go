package tables

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// storageTables returns the tables of the storage plane's kinds.
// Upstream: pkg/printers/internalversion/printers.go, v1.37.
func storageTables() map[schema.GroupKind]table {
	core := func(kind string) schema.GroupKind { return schema.GroupKind{Kind: kind} }
	storage := func(kind string) schema.GroupKind { return schema.GroupKind{Group: storagev1.GroupName, Kind: kind} }
	return map[schema.GroupKind]table{
		core("PersistentVolume"): listing(columns("Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim",
			"StorageClass", "VolumeAttributesClass", "Reason", "Age", "*VolumeMode"), persistentVolume),
		core("PersistentVolumeClaim"): listing(columns("Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass",
			"VolumeAttributesClass", "Age", "*VolumeMode"), persistentVolumeClaim),
		storage("StorageClass"): listing(columns("Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode",
			"??AllowVolumeExpansion", "Age"), storageClass),
		storage("VolumeAttributesClass"): listing(columns("Name", "DriverName", "Age"), func(c *storagev1.VolumeAttributesClass, now time.Time) []string {
			return []string{c.Name, c.DriverName, age(c, now)}
		}),
		storage("VolumeAttachment"): listing(columns("Name", "=Attacher", "PV", "Node", "?Attached", "Age"),
			func(a *storagev1.VolumeAttachment, now time.Time) []string {
				return []string{a.Name, a.Spec.Attacher, text(a.Spec.Source.PersistentVolumeName, ""), a.Spec.NodeName, fmt.Sprint(a.Status.Attached), age(a, now)}
			}),
		storage("CSINode"): listing(columns("Name", "##Drivers", "Age"), func(n *storagev1.CSINode, now time.Time) []string {
			return []string{n.Name, fmt.Sprint(len(n.Spec.Drivers)), age(n, now)}
		}),
		storage("CSIDriver"): listing(columns("Name", "?AttachRequired", "?PodInfoOnMount", "?StorageCapacity", "TokenRequests",
			"?RequiresRepublish", "Modes", "Age"), csiDriver),
	}
}

func persistentVolume(pv *v1.PersistentVolume, now time.Time) []string {
	status := string(pv.Status.Phase)
	if pv.DeletionTimestamp != nil {
		status = "Terminating"
	}
	claim := ""
	if ref := pv.Spec.ClaimRef; ref != nil {
		claim = ref.Namespace + "/" + ref.Name
	}
	return []string{
		pv.Name, pv.Spec.Capacity.Storage().String(), accessModes(pv.Spec.AccessModes), string(pv.Spec.PersistentVolumeReclaimPolicy),
		status, claim, class(pv, pv.Spec.StorageClassName), text(pv.Spec.VolumeAttributesClassName, "<unset>"),
		pv.Status.Reason, age(pv, now), text(pv.Spec.VolumeMode, "<unset>"),
	}
}

func persistentVolumeClaim(claim *v1.PersistentVolumeClaim, now time.Time) []string {
	status := string(claim.Status.Phase)
	if claim.DeletionTimestamp != nil {
		status = "Terminating"
	}
	capacity, modes := "", ""
	if claim.Spec.VolumeName != "" { // even if not bound yet
		capacity, modes = claim.Status.Capacity.Storage().String(), accessModes(claim.Status.AccessModes)
	}
	return []string{
		claim.Name, status, claim.Spec.VolumeName, capacity, modes, class(claim, text(claim.Spec.StorageClassName, "")),
		text(claim.Spec.VolumeAttributesClassName, "<unset>"), age(claim, now), text(claim.Spec.VolumeMode, "<unset>"),
	}
}

func storageClass(sc *storagev1.StorageClass, now time.Time) []string {
	name := sc.Name
	if isDefault(sc) {
		name += " (default)"
	}
	return []string{
		name, sc.Provisioner, text(sc.ReclaimPolicy, string(v1.PersistentVolumeReclaimDelete)),
		text(sc.VolumeBindingMode, string(storagev1.VolumeBindingImmediate)), text(sc.AllowVolumeExpansion, "false"), age(sc, now),
	}
}

func isDefault(sc *storagev1.StorageClass) bool {
	return sc.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		sc.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

func csiDriver(d *storagev1.CSIDriver, now time.Time) []string {
	tokens, modes := "<unset>", make([]string, len(d.Spec.VolumeLifecycleModes))
	if d.Spec.TokenRequests != nil {
		audiences := make([]string, len(d.Spec.TokenRequests))
		for i, request := range d.Spec.TokenRequests {
			audiences[i] = request.Audience
		}
		tokens = strings.Join(audiences, ",")
	}
	for i, mode := range d.Spec.VolumeLifecycleModes {
		modes[i] = string(mode)
	}
	return []string{
		d.Name, text(d.Spec.AttachRequired, "true"), text(d.Spec.PodInfoOnMount, "false"), text(d.Spec.StorageCapacity, "false"),
		tokens, text(d.Spec.RequiresRepublish, "false"), orNone(strings.Join(modes, ",")), age(d, now),
	}
}
