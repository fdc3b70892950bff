package volumemanager

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/internal/layout"
)

// RemovePodDir removes a pod's directory and the empty directories in it. It deletes no file
// of a pod, follows no link and enters no mount: whatever else is there is data of a user.
//
// Upstream: kubelet_volumes.go cleanupOrphanedPodDirs, v1.37.
func (vm *VolumeManager) RemovePodDir(uid types.UID) error {
	if vm.decisions.CleanSubPaths {
		if err := vm.subPaths.cleanAll(uid); err != nil {
			return err
		}
	}
	err := vm.decisions.RemoveDir(vm.fs, layout.PodDir(uid))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("orphaned pod %q found, but volume paths are still present on disk: %w", uid, err)
	}
	return nil
}

// removeEmptyDirs removes a directory that contains only directories, if none of them is a
// mount point. It uses only rmdir. The one kind of file that it deletes is a plugin's note that
// a volume is ready.
// A link in the place of dir is an error, since it leads elsewhere.
func (g *given) removeEmptyDirs(dir string) error {
	if err := g.checkPlainDir(dir); err != nil {
		return err
	}
	entries, err := g.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		mounted, err := g.mounter.IsMountPoint(dir)
		if err != nil {
			return err
		}
		if mounted {
			return fmt.Errorf("%s is still mounted", dir)
		}
	}
	for _, e := range entries {
		switch name := path.Join(dir, e.Name()); {
		case e.IsDir():
			err = g.removeEmptyDirs(name)
		case layout.IsReadyFile(name):
			err = g.fs.Remove(name)
		default:
			err = fmt.Errorf("%s is still there", name)
		}
		if err != nil {
			return err
		}
	}
	return g.fs.Remove(dir)
}

// checkPlainDir fails if dir is not a directory. It follows no link.
func (g *given) checkPlainDir(dir string) error {
	info, err := g.fs.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	return err
}
