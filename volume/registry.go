package volume

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ErrNoPluginMatched is returned when no plugin takes a volume.
var ErrNoPluginMatched = errors.New("no volume plugin matched")

// VolumePluginMgr is the registry of a kubelet's plugins.
//
// Upstream: pkg/volume/plugins.go VolumePluginMgr, v1.37.
type VolumePluginMgr struct {
	plugins []VolumePlugin // in order of name
}

// InitPlugins returns a registry and initializes the plugins. Names must be
// qualified ("example.com/volume") and unique. All errors are returned together;
// the registry has the plugins without an error.
func InitPlugins(plugins []VolumePlugin, host VolumeHost) (*VolumePluginMgr, error) {
	pm := &VolumePluginMgr{}
	var errs []error
	for _, plugin := range plugins {
		name := plugin.GetPluginName()
		if msgs := checkName(name); len(msgs) != 0 {
			errs = append(errs, fmt.Errorf("volume plugin has invalid name: %q: %s", name, strings.Join(msgs, ";")))
			continue
		}
		if _, err := pm.FindPluginByName(name); err == nil {
			errs = append(errs, fmt.Errorf("volume plugin %q was registered more than once", name))
			continue
		}
		if err := plugin.Init(host); err != nil {
			errs = append(errs, fmt.Errorf("failed to load volume plugin %s, error: %w", name, err))
			continue
		}
		at, _ := slices.BinarySearchFunc(pm.plugins, name, func(p VolumePlugin, name string) int {
			return strings.Compare(p.GetPluginName(), name)
		})
		pm.plugins = slices.Insert(pm.plugins, at, plugin)
	}
	return pm, errors.Join(errs...)
}

func checkName(name string) []string {
	msgs := validation.IsQualifiedName(name)
	if len(msgs) == 0 && !strings.Contains(name, "/") {
		msgs = append(msgs, `it needs a namespace, as in "example.com/volume"`)
	}
	return msgs
}

// Names returns the plugins' names, sorted.
func (pm *VolumePluginMgr) Names() []string {
	names := make([]string, len(pm.plugins))
	for i, p := range pm.plugins {
		names[i] = p.GetPluginName()
	}
	return names
}

// FindPluginBySpec returns the one plugin that supports the spec. No plugin is
// ErrNoPluginMatched, with the kind of the volume and the plugins there are; more
// than one is an error that names them.
//
// Upstream: pkg/volume/plugins.go FindPluginBySpec, v1.37.
func (pm *VolumePluginMgr) FindPluginBySpec(spec *Spec) (VolumePlugin, error) {
	if spec == nil {
		return nil, errors.New("could not find plugin because volume spec is nil")
	}
	var matches []VolumePlugin
	var names []string
	for _, plugin := range pm.plugins {
		if plugin.CanSupport(spec) {
			matches = append(matches, plugin)
			names = append(names, plugin.GetPluginName())
		}
	}
	switch len(matches) {
	case 0:
		return nil, fmt.Errorf("%w: %s is not supported by any plugin of this kubelet, which are %s",
			ErrNoPluginMatched, spec, strings.Join(pm.Names(), ", "))
	case 1:
		return matches[0], nil
	}
	return nil, fmt.Errorf("multiple volume plugins matched: %s", strings.Join(names, ","))
}

// FindPluginByName returns the plugin of that name, not escaped.
func (pm *VolumePluginMgr) FindPluginByName(name string) (VolumePlugin, error) {
	for _, plugin := range pm.plugins {
		if plugin.GetPluginName() == name {
			return plugin, nil
		}
	}
	return nil, fmt.Errorf("no volume plugin matched name: %s", name)
}

// FindNodeExpandablePluginBySpec returns the plugin of the spec if its volumes can grow on a node,
// nil if not.
//
// Upstream: pkg/volume/plugins.go FindNodeExpandablePluginBySpec, v1.37.
func (pm *VolumePluginMgr) FindNodeExpandablePluginBySpec(spec *Spec) (NodeExpandableVolumePlugin, error) {
	plugin, err := pm.FindPluginBySpec(spec)
	if err != nil {
		return nil, err
	}
	expandable, _ := plugin.(NodeExpandableVolumePlugin)
	return expandable, nil
}

// FindDeviceMountablePluginBySpec returns the plugin of the spec if it mounts a
// device first and this volume needs it, nil if not.
func (pm *VolumePluginMgr) FindDeviceMountablePluginBySpec(spec *Spec) (DeviceMountableVolumePlugin, error) {
	plugin, err := pm.FindPluginBySpec(spec)
	if err != nil {
		return nil, err
	}
	mountable, ok := plugin.(DeviceMountableVolumePlugin)
	if !ok {
		return nil, nil
	}
	if can, err := mountable.CanDeviceMount(spec); err != nil || !can {
		return nil, err
	}
	return mountable, nil
}

// EscapeQualifiedName turns a plugin's name into one element of a path:
// "kubernetes.io/local-volume" becomes "kubernetes.io~local-volume".
func EscapeQualifiedName(name string) string { return strings.ReplaceAll(name, "/", "~") }

// UnescapeQualifiedName undoes EscapeQualifiedName.
func UnescapeQualifiedName(name string) string { return strings.ReplaceAll(name, "~", "/") }
