// Package layout names the directories that a kubelet has on its node. They are the same as
// upstream's.
//
// Upstream: pkg/kubelet/config/defaults.go and pkg/kubelet/kubelet_getters.go, v1.37.
package layout

import (
	"errors"
	"io/fs"
	"path"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

const (
	rootDir    = "/var/lib/kubelet"
	pluginsDir = rootDir + "/plugins"

	// PodsDir holds one directory for each pod.
	PodsDir = rootDir + "/pods"

	// PodLevels is the number of levels of directories below PodsDir that belong to the kubelet alone:
	// the pod's directory, its "volumes", and the plugin's directory in there. If one of them
	// is replaced by a link, the kubelet does not follow it, since the link may lead to
	// another pod's data. Deeper down links are allowed: a mount of package mount is one.
	PodLevels = 3

	// SubPathsDir is the directory, in a pod's, in which the parts of volumes are mounted that
	// the pod's containers have: <volume>/<container>/<index of the volumeMount>.
	//
	// Upstream: subpath_linux.go containerSubPathDirectoryName, v1.37.
	SubPathsDir = "volume-subpaths"
)

// PluginDir returns the directory of a volume plugin.
func PluginDir(name string) string { return path.Join(pluginsDir, name) }

// PodDir returns a pod's directory.
func PodDir(uid types.UID) string { return PodsDir + "/" + string(uid) }

// PodPluginsDir returns the directory in which plugins keep their own files about a pod, one
// directory for each plugin.
func PodPluginsDir(uid types.UID) string { return PodDir(uid) + "/plugins" }

// PodVolumesDir returns the directory of a pod's volumes. It has one directory for each plugin.
func PodVolumesDir(uid types.UID) string { return PodDir(uid) + "/volumes" }

// PodVolumeDir returns the directory of one volume of a pod. The plugin's name is escaped.
func PodVolumeDir(uid types.UID, plugin, name string) string {
	return PodVolumesDir(uid) + "/" + plugin + "/" + name
}

// PodVolumeDevicesDir returns the directory of a pod's links to raw devices. It has one
// directory for each plugin.
func PodVolumeDevicesDir(uid types.UID) string { return PodDir(uid) + "/volumeDevices" }

// PodVolumeDeviceDir returns the directory of a pod's links to the raw devices of one plugin,
// whose name is escaped.
func PodVolumeDeviceDir(uid types.UID, plugin string) string {
	return PodVolumeDevicesDir(uid) + "/" + plugin
}

// PodSubPathsDir returns the directory in which parts of a pod's volumes are mounted.
func PodSubPathsDir(uid types.UID) string { return PodDir(uid) + "/" + SubPathsDir }

// IsReadyFile reports whether name is the file in which a plugin notes that a pod's volume is
// ready (volume.SetReady). The file may be left when the volume itself is lost.
func IsReadyFile(name string) bool {
	matched, _ := path.Match(PodPluginsDir("*")+"/*/*/"+volume.ReadyFileName, name)
	return matched
}

// Names returns the names in a directory, sorted. A missing directory is empty.
func Names(node *disk.Disk, dir string) ([]string, error) {
	entries, err := node.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}
