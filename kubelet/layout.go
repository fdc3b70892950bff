package kubelet

import (
	"path"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/volume"
)

// The node's directories, as upstream's kubelet and container runtime lay them
// out.
const (
	rootDir    = "/var/lib/kubelet"
	podsDir    = rootDir + "/pods"
	pluginsDir = rootDir + "/plugins"
	// runtimeDir has the container runtime's state: one file for each pod that
	// was started.
	runtimeDir = "/run/containerd/pods"
)

// podDir is a pod's directory.
func podDir(uid types.UID) string { return podsDir + "/" + string(uid) }

// podVolumesDir has a directory for each plugin whose volumes the pod uses.
func podVolumesDir(uid types.UID) string { return podDir(uid) + "/volumes" }

// podVolumeDir is where one volume of a pod is. plugin is escaped.
func podVolumeDir(uid types.UID, plugin, name string) string {
	return podVolumesDir(uid) + "/" + plugin + "/" + name
}

func pluginDir(name string) string {
	return path.Join(pluginsDir, volume.EscapeQualifiedName(name))
}
