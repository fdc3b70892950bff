package volumetest

import (
	"io/fs"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/volume"
)

// Node is a node in a directory of the test, with the empty directory /disk, and a kubelet on it
// for one plugin under test.
type Node struct {
	Host
	t testing.TB
}

// NewNode makes a node that ends with the test.
func NewNode(t testing.TB) *Node {
	t.Helper()
	files, err := disk.Open(t.TempDir())
	require(t, err)
	t.Cleanup(func() { _ = files.Close() })
	mounter, err := mount.NewTempDir(mount.Config{Dir: files})
	require(t, err)
	require(t, files.MkdirAll("/disk", 0o755))
	return &Node{Host: Host{FS: files, Mounter: mounter}, t: t}
}

// MounterOf makes plugin's mounter of spec for a pod.
func (n *Node) MounterOf(plugin volume.VolumePlugin, spec *volume.Spec, uid types.UID) (volume.Mounter, error) {
	n.t.Helper()
	require(n.t, plugin.Init(n))
	pod := &v1.Pod{}
	pod.UID = uid
	return plugin.NewMounter(spec, pod)
}

// Mode returns the mode of a file of the node.
func (n *Node) Mode(name string) fs.FileMode {
	n.t.Helper()
	info, err := n.FS.Stat(name)
	require(n.t, err)
	return info.Mode()
}

// PVSpec returns the volume of a PersistentVolume "pv".
func PVSpec(source v1.PersistentVolumeSource) *volume.Spec {
	pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: source}}
	pv.Name = "pv"
	return volume.NewSpecFromPersistentVolume(pv, false)
}

// PodSpec returns a volume that a pod names, name.
func PodSpec(name string, source v1.VolumeSource) *volume.Spec {
	return volume.NewSpecFromVolume(&v1.Volume{Name: name, VolumeSource: source})
}

func require(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
