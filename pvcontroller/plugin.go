package pvcontroller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
)

// Deleter is an in-tree plugin that deletes the assets behind volumes.
// Upstream: pkg/volume DeletableVolumePlugin, v1.37.
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
// Upstream: pkg/volume RecyclableVolumePlugin, v1.37.
type Recycler interface {
	// CanSupport says whether the plugin knows volumes of this kind. It must not call
	// the API.
	CanSupport(volume *v1.PersistentVolume) bool
	// Recycle deletes the data, but not the asset. It must not change volume. It may
	// take long. An error makes the volume Failed; it is tried again.
	Recycle(ctx context.Context, volume *v1.PersistentVolume) error
}

// ErrVolumeInUse is the error that a Deleter wraps if the asset is still in use.
// Upstream: cloud-provider/volume/errors deletedVolumeInUseError, v1.37.
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

// plugins are the in-tree plugins that the controller has, by name.
type plugins struct {
	deleters  map[string]Deleter
	recyclers map[string]Recycler
}

// newPlugins returns the plugins of the configuration, and the built-in recyclers whose names it
// does not give to others.
func newPlugins(cfg Config, builtin map[string]Recycler) plugins {
	maps.Copy(builtin, cfg.Recyclers)
	return plugins{deleters: cfg.Deleters, recyclers: builtin}
}

// findDeletable returns the plugin that made the volume, else the first by name that can
// delete volumes of its kind. If an external provisioner deletes the asset, it returns the
// provisioner's name, no deleter and no error: that one acts on the phase Released.
// Upstream: pv_controller.go findDeletablePlugin, v1.37.
func (p plugins) findDeletable(volume *v1.PersistentVolume) (name string, deleter Deleter, err error) {
	if name := volume.Annotations[binding.AnnDynamicallyProvisioned]; name != "" {
		deleter, found := p.deleters[name]
		if found || !strings.HasPrefix(name, inTreePrefix) {
			return name, deleter, nil
		}
		if _, known := p.recyclers[name]; known {
			return name, nil, errNotDeletable
		}
		return name, nil, fmt.Errorf("no volume plugin matched name: %s", name)
	}
	if csi := volume.Spec.CSI; csi != nil {
		return csi.Driver, nil, nil
	}
	for _, name := range sortedKeys(p.deleters) {
		if deleter := p.deleters[name]; deleter.CanSupport(volume) {
			return name, deleter, nil
		}
	}
	err = errors.New("no volume plugin matched")
	if _, recycler := p.findRecyclable(volume); recycler != nil {
		err = errNotDeletable
	}
	return "", nil, fmt.Errorf("error getting deleter volume plugin for volume %q: %w", volume.Name, err)
}

// errNotDeletable: there is a plugin, but it cannot delete.
// Upstream: pkg/volume FindDeletablePluginBySpec and FindDeletablePluginByName, v1.37.
var errNotDeletable = errors.New("no deletable volume plugin matched")

// findRecyclable returns the first recycler by name that can scrub volumes of this kind, nil
// if there is none.
// Upstream: pkg/volume FindRecyclablePluginBySpec, v1.37.
func (p plugins) findRecyclable(volume *v1.PersistentVolume) (name string, recycler Recycler) {
	for _, name := range sortedKeys(p.recyclers) {
		if recycler := p.recyclers[name]; recycler.CanSupport(volume) {
			return name, recycler
		}
	}
	return "", nil
}
