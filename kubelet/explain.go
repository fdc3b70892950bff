package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/volume"
)

// Explanation says why a kubelet cannot mount volumes, as far as its configuration
// and its disk tell.
type Explanation struct {
	// Unsupported says of each volume that none of the kubelet's plugins mounts.
	Unsupported []string
	// Directories lists the directories that the volumes need and the node lacks.
	Directories []string
}

// Explain looks at volumes as a kubelet of this configuration would. It changes nothing.
func Explain(cfg Config, volumes []*volume.Spec) Explanation {
	plugins := cfg.plugins()
	var found Explanation
	for _, spec := range volumes {
		if !slices.ContainsFunc(plugins, func(p volume.VolumePlugin) bool { return p.CanSupport(spec) }) {
			found.Unsupported = append(found.Unsupported, fmt.Sprintf("no volume plugin of the kubelet mounts %s", spec))
			continue
		}
		if dir := existing(spec); dir != "" && isMissing(cfg, dir) {
			found.Directories = append(found.Directories, dir)
		}
	}
	return found
}

func (cfg Config) plugins() []volume.VolumePlugin {
	if cfg.Plugins != nil {
		return cfg.Plugins()
	}
	return DefaultPlugins()
}

// existing returns the directory that must be there before the volume is mounted, "" if there
// is no such directory.
func existing(spec *volume.Spec) string {
	var host *v1.HostPathVolumeSource
	switch {
	case spec.PersistentVolume == nil:
		host = spec.Volume.HostPath
	case spec.PersistentVolume.Spec.Local != nil:
		return spec.PersistentVolume.Spec.Local.Path
	default:
		host = spec.PersistentVolume.Spec.HostPath
	}
	if host != nil && host.Type != nil && *host.Type == v1.HostPathDirectory {
		return host.Path
	}
	return ""
}

// isMissing returns false for what cannot be looked at: that is not known to be missing.
func isMissing(cfg Config, dir string) bool {
	_, err := cfg.Root.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}
