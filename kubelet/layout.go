package kubelet

import (
	"path"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// The node's directories, as upstream's kubelet lays them out.
const (
	rootDir    = "/var/lib/kubelet"
	podsDir    = rootDir + "/pods"
	pluginsDir = rootDir + "/plugins"
	// podLevels is how many directories below podsDir are the kubelet's own: the
	// pod's, its "volumes" and the plugin's in there. Nothing goes through a link in
	// their place, which may lead to another pod's data. What is in them may be a
	// link: a mount of package mount is.
	podLevels = 3
)

// podDir is a pod's directory.
func podDir(uid types.UID) string { return podsDir + "/" + string(uid) }

// podPluginsDir has a directory for each plugin that keeps something of its own about
// the pod.
func podPluginsDir(uid types.UID) string { return podDir(uid) + "/plugins" }

// isReadyFile says whether a name is that of a plugin's note that a volume of a pod is
// ready (volume.SetReady), which may be left where the volume itself is lost.
func isReadyFile(name string) bool {
	is, _ := path.Match(podPluginsDir("*")+"/*/*/"+volume.ReadyFileName, name)
	return is
}

// podVolumesDir has a directory for each plugin whose volumes the pod uses.
func podVolumesDir(uid types.UID) string { return podDir(uid) + "/volumes" }

// podVolumeDir is where one volume of a pod is. plugin is escaped.
func podVolumeDir(uid types.UID, plugin, name string) string {
	return podVolumesDir(uid) + "/" + plugin + "/" + name
}

// podVolumeDeviceDir has a pod's links to the raw devices of a plugin. plugin is escaped.
func podVolumeDeviceDir(uid types.UID, plugin string) string {
	return podDir(uid) + "/volumeDevices/" + plugin
}

func pluginDir(name string) string { return path.Join(pluginsDir, name) }
