package pvcontroller

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
)

// Explain says what a controller of this configuration does with a volume whose claim is
// gone, as the end of a sentence that names the reclaim policy. provisioner names the
// provisioner that deletes the asset behind the volume, "" if the controller does.
func Explain(cfg Config, volume *v1.PersistentVolume) (text, provisioner string) {
	if driver := volume.Annotations[binding.AnnMigratedTo]; driver != "" && volume.Spec.PersistentVolumeReclaimPolicy != v1.PersistentVolumeReclaimRetain {
		return fmt.Sprintf("provisioner %s deletes it", driver), driver
	}
	p := newPlugins(cfg, builtinRecyclers(nil, nil, nil)) // only asked what they can support
	switch volume.Spec.PersistentVolumeReclaimPolicy {
	case v1.PersistentVolumeReclaimRetain:
		return "it stays until a user deletes it or removes its claimRef", ""
	case v1.PersistentVolumeReclaimRecycle:
		name, recycler := p.findRecyclable(volume)
		if recycler == nil {
			return "no recycler plugin of the PV controller takes it, so it becomes Failed", ""
		}
		return fmt.Sprintf("plugin %s of the PV controller deletes its files and makes it Available again", name), ""
	case v1.PersistentVolumeReclaimDelete:
		name, deleter, err := p.findDeletable(volume)
		switch {
		case err != nil:
			return fmt.Sprintf("the PV controller cannot delete it, so it becomes Failed: %v", err), ""
		case deleter == nil:
			return fmt.Sprintf("provisioner %s deletes it", name), name
		}
		return fmt.Sprintf("plugin %s of the PV controller deletes it", name), ""
	}
	return "the PV controller does not know that policy, so it becomes Failed", ""
}
