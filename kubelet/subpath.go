package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// containerSubPathDirectoryName is the directory of a pod in which the parts of
// volumes are mounted that its containers have, <volume>/<container>/<number of the
// volumeMount>.
//
// Upstream: subpath_linux.go getSubpathBindTarget, v1.36.
const containerSubPathDirectoryName = "volume-subpaths"

// subPath is a part of a volume that a container is to have.
type subPath struct {
	path      string // in the volume
	volume    mountedPath
	container string
	mount     v1.VolumeMount
	index     int // of the volumeMount
}

// checkSubPath refuses a path that is none in a volume.
//
// Upstream: kubelet_pods.go makeMounts, v1.36.
func checkSubPath(name string) error {
	if path.IsAbs(name) {
		return fmt.Errorf("error SubPath `%s` must not be an absolute path", name)
	}
	if err := volume.ValidatePathNoBacksteps(name); err != nil {
		return fmt.Errorf("unable to provision SubPath `%s`: %w", name, err)
	}
	return nil
}

// makeSubPath makes the part of the volume, if it is missing, and mounts it below
// the pod's directory. What goes wrong is told to the pod in general terms only, and
// to the trace: the pod need not know what the node's disk looks like.
//
// Upstream: kubelet_pods.go makeMounts, v1.36.
func (k *kubelet) makeSubPath(pod *v1.Pod, s subPath) error {
	about := trace.RefOf("Pod", pod)
	fail := func(what string, err error) error {
		k.note(about, fmt.Sprintf("subPath %q of volume %s: %v", s.path, s.volume.name, err))
		return fmt.Errorf("failed to %s for volumeMount %q of container %q", what, s.mount.Name, s.container)
	}
	info, err := k.fs.Stat(s.volume.path)
	if err != nil {
		return err
	}
	inside, err := k.fs.Sub(s.volume.path)
	if err != nil {
		return fail("prepare subPath", err)
	}
	defer inside.Close()
	if _, err := k.fs.Stat(path.Join(s.volume.path, s.path)); errors.Is(err, fs.ErrNotExist) {
		if err := safeMakeDir(inside, s.path, info.Mode()); err != nil {
			return fail("create subPath directory", err)
		}
	}
	if err := k.prepareSafeSubpath(pod, s, inside); err != nil {
		return fail("prepare subPath", err)
	}
	return nil
}

// safeMakeDir makes a directory and those on the way to it, each with the mode of the
// volume itself, whatever the umask: so that who may write in the volume may write
// in them.
//
// Upstream: subpath_linux.go SafeMakeDir, v1.36.
func safeMakeDir(inside *disk.Disk, name string, mode fs.FileMode) error {
	mode &= fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	at := ""
	for element := range strings.SplitSeq(path.Clean(name), "/") {
		at += "/" + element
		if err := inside.MakeDir(at, mode); err != nil {
			return err
		}
	}
	return nil
}

// prepareSafeSubpath bind mounts what the path in the volume leads to, following no
// link out of it. What an earlier container has left mounted may be something else
// by now and is unmounted first.
//
// Upstream: subpath_linux.go PrepareSafeSubpath, v1.36.
func (k *kubelet) prepareSafeSubpath(pod *v1.Pod, s subPath, inside *disk.Disk) error {
	base, err := k.fs.EvalSymlinks(s.volume.path)
	if err != nil {
		return err
	}
	part, err := inside.EvalSymlinks("/" + s.path)
	if err != nil {
		return err
	}
	info, err := inside.Lstat(part)
	if err != nil {
		return err
	}
	dir, err := k.makePlainDirs(podsDir, string(pod.UID), containerSubPathDirectoryName, s.volume.name, s.container)
	if err != nil {
		return err
	}
	target := path.Join(dir, strconv.Itoa(s.index))
	about := trace.RefOf("Pod", pod)
	if err := k.cleanSubPath(about, s.volume.name, target); err != nil {
		return err
	}
	if info.IsDir() {
		err = k.fs.Mkdir(target, 0o750)
	} else {
		err = k.fs.WriteFile(target, nil, 0o640)
	}
	record := trace.Mount{Op: "mount", About: about, Volume: s.volume.name, Source: path.Join(base, part), Target: target}
	if err == nil {
		err = k.mounter.Mount(record.Source, target, "", []string{"bind"})
	}
	if err != nil {
		record.Err = err.Error()
	}
	k.env.Trace(record)
	if err != nil {
		return errors.Join(err, k.cleanSubPath(about, s.volume.name, target))
	}
	return nil
}

// makePlainDirs makes directories, each in the one before it. One that is a link
// already would have them made elsewhere, and is an error.
func (k *kubelet) makePlainDirs(dir string, names ...string) (string, error) {
	for _, name := range names {
		dir = path.Join(dir, name)
		if err := k.fs.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if err := k.checkPlainDir(dir); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func (k *kubelet) checkPlainDir(dir string) error {
	info, err := k.fs.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	return err
}

// usesSubPaths says whether any container of the pod may have only a part of a
// volume: always, if the pod is not known any more.
func (w *podWorker) usesSubPaths() bool {
	if w == nil || w.pod == nil {
		return true
	}
	uses := func(c v1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m v1.VolumeMount) bool { return m.SubPath != "" || m.SubPathExpr != "" })
	}
	return slices.ContainsFunc(w.pod.Spec.Containers, uses) || slices.ContainsFunc(w.pod.Spec.InitContainers, uses)
}

// cleanSubPaths unmounts the parts of one volume that a pod's containers had, and
// removes what they were mounted on.
//
// Upstream: subpath_linux.go CleanSubPaths, v1.36.
func (k *kubelet) cleanSubPaths(uid types.UID, volumeName string) error {
	w := k.workers[uid]
	if !w.usesSubPaths() {
		return nil
	}
	all := path.Join(podDir(uid), containerSubPathDirectoryName)
	dir := path.Join(all, volumeName)
	for _, name := range []string{podDir(uid), all, dir} {
		if err := k.checkPlainDir(name); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
	}
	about := trace.Ref{Kind: "Pod", Name: string(uid)}
	if w != nil {
		about = w.ref()
	}
	containers, err := k.fs.ReadDir(dir)
	for _, c := range containers {
		if err == nil && c.IsDir() {
			err = k.cleanContainerSubPaths(about, volumeName, path.Join(dir, c.Name()))
		}
	}
	if err == nil {
		err = k.fs.Remove(dir)
	}
	if err != nil {
		return err
	}
	if err := k.fs.Remove(all); !errors.Is(err, fs.ErrExist) { // it has those of other volumes
		return err
	}
	return nil
}

// cleanAllSubPaths is cleanSubPaths for volumes that are gone and left some: a
// restarted kubelet does not find a pod's host paths, which are not in the pod's
// directory.
func (k *kubelet) cleanAllSubPaths(uid types.UID) error {
	if !k.workers[uid].usesSubPaths() {
		return nil
	}
	for _, name := range k.subdirs(path.Join(podDir(uid), containerSubPathDirectoryName)) {
		if err := k.cleanSubPaths(uid, name); err != nil {
			return err
		}
	}
	return nil
}

// cleanContainerSubPaths is cleanSubPaths for one container.
func (k *kubelet) cleanContainerSubPaths(about trace.Ref, volumeName, dir string) error {
	mounts, err := k.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if err := k.cleanSubPath(about, volumeName, path.Join(dir, m.Name())); err != nil {
			return err
		}
	}
	return k.fs.Remove(dir)
}

// cleanSubPath unmounts one part of a volume and removes the empty directory or file
// that it was mounted on. A directory that is not empty holds data, and stays.
//
// Upstream: subpath_linux.go doCleanSubPath, v1.36.
func (k *kubelet) cleanSubPath(about trace.Ref, volumeName, target string) error {
	mounted, err := k.mounter.IsMountPoint(target)
	if err == nil && !mounted {
		if info, err := k.fs.Lstat(target); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return fmt.Errorf("%s is not mounted and not empty", target)
		}
	}
	err = volume.CleanupMountPoint(target, k.mounter, k.fs)
	if mounted {
		record := trace.Mount{Op: "unmount", About: about, Volume: volumeName, Target: target}
		if err != nil {
			record.Err = err.Error()
		}
		k.env.Trace(record)
	}
	return err
}
