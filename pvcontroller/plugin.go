package pvcontroller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Deleter is an in-tree plugin that deletes the assets behind volumes.
// Upstream: pkg/volume DeletableVolumePlugin, v1.36.
type Deleter interface {
	// CanSupport says whether the plugin knows volumes of this kind. It must not call
	// the API.
	CanSupport(volume *v1.PersistentVolume) bool
	// Delete deletes the asset; that there is none is no error. It must not change
	// volume. An error that wraps ErrVolumeInUse leaves the volume Released, any other
	// makes it Failed; both are tried again.
	Delete(ctx context.Context, volume *v1.PersistentVolume) error
}

// Recycler is an in-tree plugin that scrubs volumes for their next claim.
// Upstream: pkg/volume RecyclableVolumePlugin, v1.36.
type Recycler interface {
	// CanSupport says whether the plugin knows volumes of this kind. It must not call
	// the API.
	CanSupport(volume *v1.PersistentVolume) bool
	// Recycle deletes the data, but not the asset. It must not change volume. It may
	// take long. An error makes the volume Failed; it is tried again.
	Recycle(ctx context.Context, volume *v1.PersistentVolume) error
}

// ErrVolumeInUse is what a Deleter wraps when the asset is still in use.
// Upstream: pkg/volume/util/volumeerrors deletedVolumeInUseError, v1.36.
var ErrVolumeInUse = errors.New("volume is still in use")

func checkPlugins(cfg Config) error {
	for _, name := range sortedKeys(cfg.Deleters) {
		if cfg.Deleters[name] == nil {
			return fmt.Errorf("pvcontroller: Config.Deleters[%q] is nil", name)
		}
	}
	for _, name := range sortedKeys(cfg.Recyclers) {
		if cfg.Recyclers[name] == nil {
			return fmt.Errorf("pvcontroller: Config.Recyclers[%q] is nil", name)
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
