package pvcontroller

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/internal/migration"
)

// inTreePrefix begins the names of plugins that are compiled into Kubernetes.
const inTreePrefix = "kubernetes.io/"

// modifyDeletionFinalizers returns the finalizers a volume shall have, and whether they
// differ from those it has. Only volumes made by an in-tree plugin are touched: this
// controller will delete their assets if the policy is Delete, and must not lose the
// volume before.
// Upstream: pv_controller.go modifyDeletionFinalizers, v1.37.2.
func modifyDeletionFinalizers(volume *v1.PersistentVolume) (finalizers []string, modified bool) {
	if !strings.HasPrefix(volume.Annotations[binding.AnnDynamicallyProvisioned], inTreePrefix) {
		return volume.Finalizers, false
	}
	migrated := migration.Driver(volume.Annotations[binding.AnnDynamicallyProvisioned]) != ""
	ours := !migrated && volume.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimDelete
	finalizers = slices.DeleteFunc(slices.Clone(volume.Finalizers), func(f string) bool {
		return f == binding.PVDeletionInTreeProtectionFinalizer && !ours ||
			f == binding.PVDeletionProtectionFinalizer && !migrated
	})
	if ours && volume.DeletionTimestamp == nil && !slices.Contains(finalizers, binding.PVDeletionInTreeProtectionFinalizer) {
		finalizers = append(finalizers, binding.PVDeletionInTreeProtectionFinalizer)
	}
	return finalizers, !slices.Equal(finalizers, volume.Finalizers)
}
