package pvcontroller

import (
	"context"
	"iter"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/binding"
)

// assignDefaultStorageClass gives the default class to a claim that was created when
// there was none, and says whether it did. A claim that asks for "" has chosen.
// Upstream: pv_controller.go assignDefaultStorageClass, v1.37.
func (c *controller) assignDefaultStorageClass(ctx context.Context, claim *v1.PersistentVolumeClaim) (bool, error) {
	if binding.PersistentVolumeClaimHasClass(claim) {
		return false, nil
	}
	class := defaultClass(c.classes.All())
	if class == nil {
		return false, nil
	}
	clone := claim.DeepCopy()
	clone.Spec.StorageClassName = &class.Name
	_, err := c.updateClaim(ctx, clone)
	return err == nil, err
}

// defaultClass returns the default class created last, of equals the first by name; nil if
// there is none.
// Upstream: pkg/volume/util GetDefaultClass, v1.37.
func defaultClass(classes iter.Seq[*storagev1.StorageClass]) *storagev1.StorageClass {
	var best *storagev1.StorageClass
	for class := range classes {
		if !isDefault(class) {
			continue
		}
		newer := best != nil && best.CreationTimestamp.Before(&class.CreationTimestamp)
		first := best != nil && best.CreationTimestamp.Equal(&class.CreationTimestamp) && class.Name < best.Name
		if best == nil || newer || first {
			best = class
		}
	}
	return best
}

func isDefault(class *storagev1.StorageClass) bool {
	return class.Annotations[binding.AnnDefaultClass] == "true" || class.Annotations[binding.AnnBetaDefaultClass] == "true"
}
