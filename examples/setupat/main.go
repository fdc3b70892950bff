// Setupat plays the document's SetUpAt of the local volume plugin, one branch after
// the other. There is no cluster: the plugin runs by itself on one node's directory,
// and every question and request that it has for the mounter is printed.
package main

import (
	"errors"
	"io"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/examples/internal/show"
	"github.com/storagesim/storagesim/volume"
)

func main() { show.Main(play) }

// volumePath is the directory that the PersistentVolume pv-local stands for.
const volumePath = "/data/k8s/localpv"

func play(out io.Writer) error {
	for _, scene := range []func(*node){refused, firstAndAgain, groups, rootFits, options, mountFails, tearDown, names} {
		n, err := newNode(out)
		if err != nil {
			return err
		}
		scene(n)
		if err := errors.Join(n.err, n.close()); err != nil {
			return err
		}
	}
	return nil
}

func refused(n *node) {
	n.title("Before SetUpAt: NewMounter checks whether the path can be mounted.")
	n.write("/data/file", "x")
	for _, path := range []string{"/data/none", "/data/file"} {
		n.newMounter(path)
	}
	n.title("The first check: a path with \"..\" is refused before anything else happens.")
	n.setUp("a", n.spec("/data/k8s/../k8s/localpv"), nil)
	n.ls("/var/lib")
}

func firstAndAgain(n *node) {
	n.title("The normal case: not mounted yet, not mounted elsewhere, make the directory, bind.")
	n.setUp("a", n.spec(volumePath), nil)
	n.write(volumePath+"/greet.txt", "Hello.\n")
	n.ls(n.podDir("a"))

	n.title("Again, for the same pod: it is a mount point already, so nothing is done.")
	n.setUp("a", n.spec(volumePath), nil)

	n.title("Another pod. The volume is mounted elsewhere, and is mounted here as well.")
	n.setUp("b", n.spec(volumePath), nil)
}

func groups(n *node) {
	n.title("A pod with an fsGroup, the first that mounts the volume: all files are given to the group.")
	n.write(volumePath+"/greet.txt", "Hello.\n")
	n.chmod(volumePath+"/greet.txt", 0o600)
	n.stat(volumePath, volumePath+"/greet.txt")
	n.setUp("a", n.spec(volumePath), n.fsGroup(first))
	n.stat(volumePath, volumePath+"/greet.txt")

	n.title("A second pod with the same fsGroup: it fits, so there is no warning and no change.")
	n.chmod(volumePath+"/greet.txt", 0o600)
	n.setUp("b", n.spec(volumePath), n.fsGroup(first))
	n.stat(volumePath + "/greet.txt")

	n.title("A third pod with another fsGroup: a warning, but the volume is mounted. The files stay as they are.")
	n.setUp("c", n.spec(volumePath), n.fsGroup(second))
	n.stat(volumePath)
}

func rootFits(n *node) {
	n.title("OnRootMismatch: if the volume's root fits, the rest is not checked.")
	n.write(volumePath+"/greet.txt", "Hello.\n")
	n.setUp("a", n.spec(volumePath), n.fsGroup(first))
	n.tearDown("a")
	n.chmod(volumePath+"/greet.txt", 0o600)
	policy := v1.FSGroupChangeOnRootMismatch
	n.setUp("a", n.spec(volumePath), &volume.MounterArgs{FsGroup: n.fsGroup(first).FsGroup, FSGroupChangePolicy: &policy})
	n.stat(volumePath, volumePath+"/greet.txt")
}

func options(n *node) {
	n.title("Read-only, with the PersistentVolume's mountOptions. No fsGroup is applied to a read-only volume.")
	n.write(volumePath+"/greet.txt", "Hello.\n")
	n.chmod(volumePath+"/greet.txt", 0o600)
	spec := n.spec(volumePath)
	spec.PersistentVolume.Spec.MountOptions, spec.ReadOnly = []string{"noatime"}, true
	n.setUp("a", spec, n.fsGroup(first))
	n.stat(volumePath + "/greet.txt")
}

func mountFails(n *node) {
	n.title("The mount fails. The directory is removed, and the mount's error returned.")
	n.mounts.mountErr = errors.New("mount: wrong fs type")
	n.setUp("a", n.spec(volumePath), nil)
	n.ls("/var/lib/kubelet/pods/a/volumes/kubernetes.io~local-volume")

	n.title("The mount fails, but something is mounted: unmount, check again, remove the directory.")
	n.mounts.halfWay = true
	n.setUp("a", n.spec(volumePath), nil)

	n.title("The clean-up fails too. The error returned is still that of the mount; the next attempt finds a mount point.")
	n.mounts.unmountErr = errors.New("umount: target is busy")
	n.setUp("a", n.spec(volumePath), nil)
	n.mounts.mountErr, n.mounts.unmountErr = nil, nil
	n.setUp("a", n.spec(volumePath), nil)
}

func tearDown(n *node) {
	n.title("TearDown: unmount, check again, remove the directory. The data stays. A second call does nothing.")
	n.setUp("a", n.spec(volumePath), nil)
	n.write(volumePath+"/greet.txt", "Hello.\n")
	n.tearDown("a")
	n.ls(volumePath)
	n.tearDown("a")

	n.title("What if there is a file in the directory, and nothing is mounted? Then the directory stays.")
	n.write(n.podDir("a")+"/precious.txt", "x")
	n.tearDown("a")
	n.ls(n.podDir("a"))
}

func names(n *node) {
	n.title("What the plugin knows of the volume, and what it knows after a restart, from the directory's name only.")
	n.describe()
}
