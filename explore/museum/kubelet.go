package museum

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/kubelet"
	memdisk "github.com/storagesim/storagesim/machine/disk"
)

// kept is a file of a user on the volume disk-1.
const kept = "/disks/disk-1/keep"

// ended runs a pod with disk-1 and deletes it, ten seconds later by force if it is still there.
func ended(c *explore.Cluster, _ bool) {
	makeDisks(c, "node-1", "disk-1")
	c.Machine("node/node-1").WriteFile(kept, "kept")
	c.Apply(disksClass(), disk("node-1", "disk-1"), diskClaims("a"), pod("web", "", "a"))
	c.RunFor(time.Minute)
	c.Delete("pod/web")
	c.RunFor(10 * time.Second)
	deleteByForce(c, "web")
	c.RunFor(time.Minute)
}

// forget makes a kubelet know its mounts from memory only.
func forget(cfg *kubelet.Config) { cfg.Reconstruct = func(types.UID) bool { return false } }

func orphanedMounts() Exhibit {
	return Exhibit{
		Number: 29, Name: "the kubelet restarts and its mounts are orphaned",
		Mechanism: "A pod is deleted, and the kubelet ends before it has unmounted its volume. After the restart it does not know of the mount. " +
			"The pod does not go, a user deletes it by force, and the mount stays.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/27653",
		Fix:      "kubelet.Config.Reconstruct: what is in the directories of pods is taken for mounted, perhaps",
		Rule:     explore.NothingLeaks, Replay: "x1;faults=16:crash",
		actors: []string{storagesim.Scheduler}, scenario: ended,
		nodes:     []string{"node-1"},
		configure: unfixed(func(cfg *storagesim.Config) { cfg.Kubelet = forget }),
	}
}

func deletedThroughAMount() Exhibit {
	return Exhibit{
		Number: 30, Name: "cleaning up deletes data through a live mount",
		Mechanism: "A kubelet that forgets its mounts (bug 29) ends while a pod ends. After the restart it removes the pod's directory with all that is below. " +
			"The volume is still mounted there, and its files are removed.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/7317",
		Fix:      "kubelet.Config.RemoveDir: only empty directories, by rmdir",
		Rule:     DataIsKept, Replay: "x1;faults=16:crash", except: []string{explore.NothingLeaks},
		actors: []string{storagesim.Scheduler}, scenario: ended,
		nodes: []string{"node-1"},
		configure: func(cfg *storagesim.Config, fixed bool) {
			cfg.Kubelet = func(cfg *kubelet.Config) {
				forget(cfg)
				if !fixed {
					cfg.RemoveDir = removeAll
				}
			}
		},
	}
}

// removeAll does what rm -rf does with real mounts: it removes the files that are mounted, and the
// mount point, which is a link on disks in memory, is busy.
func removeAll(node *memdisk.Disk, dir string) error {
	entries, err := node.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
			err = errors.Join(err, removeAll(node, name))
		} else {
			err = errors.Join(err, node.Remove(name))
		}
	}
	if info, failed := node.Lstat(dir); failed != nil || !info.IsDir() {
		return errors.Join(err, failed, fmt.Errorf("%s is busy", dir))
	}
	return errors.Join(err, node.Remove(dir))
}
