package csi

import (
	"crypto/sha256"
	"fmt"
	"path"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/volume"
)

// kubeletDir is the directory of a kubelet's own files.
const kubeletDir = "/var/lib/kubelet"

// StagingPath returns the path that a kubelet gives a driver to stage a volume at: a directory, or for a
// raw device a directory of its name.
func StagingPath(pv *v1.PersistentVolume) string {
	own := path.Join(kubeletDir, "plugins", PluginName)
	if pv.Spec.VolumeMode != nil && *pv.Spec.VolumeMode == v1.PersistentVolumeBlock {
		return path.Join(own, devices, "staging", pv.Name)
	}
	source := pv.Spec.CSI
	return path.Join(own, source.Driver, fmt.Sprintf("%x", sha256.Sum256([]byte(source.VolumeHandle))), globalMount)
}

// PublishPaths returns the paths at which a kubelet lets a driver publish a volume for a pod: for its
// files, and for its raw device. The name is that of the PersistentVolume, or the pod's own for an
// inline volume.
func PublishPaths(name string, pod types.UID) []string {
	escaped := volume.EscapeQualifiedName(name)
	return []string{
		path.Join(kubeletDir, "pods", string(pod), "volumes", volume.EscapeQualifiedName(PluginName), escaped, podMount),
		path.Join(kubeletDir, "plugins", PluginName, devices, "publish", name, string(pod)),
	}
}
