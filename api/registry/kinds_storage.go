package registry

import (
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/api/internal/strategy"
	"github.com/storagesim/storagesim/api/internal/validation/storage"
	"github.com/storagesim/storagesim/api/internal/warnings"
)

// storageKinds returns the kinds of storage.k8s.io.
func storageKinds() []Kind {
	return in(storagev1.SchemeGroupVersion,
		Kind{
			Kind: "CSIDriver", AnswersDeleted: true, ClusterScoped: true, Generations: true, GenerationGiven: true, Conditional: true,
			Strategy: strategy.CSIDrivers(), Validation: storage.CSIDrivers(), Warnings: warnings.CSIDrivers(),
		},
		Kind{
			Kind: "CSINode", AnswersDeleted: true, ClusterScoped: true, Conditional: true, StatusKeeps: names("metadata"),
			Strategy: strategy.CSINodes(), Validation: storage.CSINodes(),
		},
		Kind{
			Kind: "CSIStorageCapacity", Conditional: true,
			Validation: storage.CSIStorageCapacities(), Warnings: warnings.CSIStorageCapacities(),
		},
		Kind{
			Kind: "StorageClass", AnswersDeleted: true, ShortNames: names("sc"), ClusterScoped: true,
			Strategy: strategy.StorageClasses(), Validation: storage.StorageClasses(), Warnings: warnings.StorageClasses(),
		},
		Kind{
			Kind: "VolumeAttachment", AnswersDeleted: true, Nicknames: names("va"), ClusterScoped: true, Conditional: true, StatusKeeps: names("metadata"),
			Strategy: strategy.VolumeAttachments(), Validation: storage.VolumeAttachments(),
		},
		Kind{
			Kind: "VolumeAttributesClass", AnswersDeleted: true, ShortNames: names("vac"), ClusterScoped: true,
			Validation: storage.VolumeAttributesClasses(),
		},
	)
}
