package volumemanager

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

	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// SubPath is a part of a volume that a container is to have.
type SubPath struct {
	// Path is the part's path in the volume.
	Path   string
	Volume MountedVolume
	// Container is the container's name, Mount one of its volumeMounts, and Index the position
	// of that in the list.
	Container string
	Mount     v1.VolumeMount
	Index     int
	// OfImage: the container runtime mounts the part, not the kubelet.
	OfImage bool
}

// subPaths mounts the parts of volumes that containers ask for, and unmounts them.
//
// Upstream: pkg/volume/util/subpath, v1.37.
type subPaths struct{ *given }

// prepare makes the part of the volume, if it is missing, and mounts it below the pod's
// directory, unless the volume is an image. The error for the pod is in general terms, and the details are in the trace: the
// pod need not know what the node's disk looks like.
//
// Upstream: kubelet_pods.go makeMounts, v1.37.
func (p *subPaths) prepare(pod *v1.Pod, s SubPath) error {
	fail := func(what string, err error) error {
		p.note(trace.RefOf("Pod", pod), fmt.Sprintf("subPath %q of volume %s: %v", s.Path, s.Volume.Name, err))
		return fmt.Errorf("failed to %s for volumeMount %q of container %q", what, s.Mount.Name, s.Container)
	}
	info, err := p.fs.Stat(s.Volume.Path)
	if err != nil {
		return err
	}
	inside, err := p.fs.Sub(s.Volume.Path)
	if err != nil {
		return fail("prepare subPath", err)
	}
	defer inside.Close()
	if _, err := p.fs.Stat(path.Join(s.Volume.Path, s.Path)); errors.Is(err, fs.ErrNotExist) {
		if err := safeMakeDir(inside, s.Path, info.Mode()); err != nil {
			return fail("create subPath directory", err)
		}
	}
	if s.OfImage {
		return nil
	}
	if err := p.prepareSafeSubpath(pod, s, inside); err != nil {
		return fail("prepare subPath", err)
	}
	return nil
}

// safeMakeDir makes a directory and its parents, each with the mode of the volume itself,
// whatever the umask is. So a process that may write in the volume may write in them too.
//
// Upstream: subpath_linux.go SafeMakeDir, v1.37.
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

// prepareSafeSubpath bind mounts the file or directory to which the path in the volume leads.
// It follows no link out of the volume. It first unmounts what an earlier container has left
// mounted, since the path may lead to something else by now.
//
// Upstream: subpath_linux.go PrepareSafeSubpath, v1.37.
func (p *subPaths) prepareSafeSubpath(pod *v1.Pod, s SubPath, inside *disk.Disk) error {
	base, err := p.fs.EvalSymlinks(s.Volume.Path)
	if err != nil {
		return err
	}
	part, err := inside.EvalSymlinks("/" + s.Path)
	if err != nil {
		return err
	}
	info, err := inside.Lstat(part)
	if err != nil {
		return err
	}
	dir, err := p.makePlainDirs(layout.PodsDir, string(pod.UID), layout.SubPathsDir, s.Volume.Name, s.Container)
	if err != nil {
		return err
	}
	target := path.Join(dir, strconv.Itoa(s.Index))
	about := trace.RefOf("Pod", pod)
	if err := p.cleanSubPath(about, s.Volume.Name, target); err != nil {
		return err
	}
	if info.IsDir() {
		err = p.fs.Mkdir(target, 0o750)
	} else {
		err = p.fs.WriteFile(target, nil, 0o640)
	}
	record := trace.Mount{Op: "mount", About: about, Volume: s.Volume.Name, Source: path.Join(base, part), Target: target}
	if err == nil {
		err = p.mounter.Mount(record.Source, target, "", []string{"bind"})
	}
	if err != nil {
		record.Err = err.Error()
	}
	p.env.Trace(record)
	if err != nil {
		return errors.Join(err, p.cleanSubPath(about, s.Volume.Name, target))
	}
	return nil
}

// keep returns a disk that has a part of a volume for as long as a container of it runs. A bind mount keeps the file or directory that it was made of, also
// when the path leads to another one or to none; the mounts of a simulated node are paths. A directory in memory is kept itself, and of a volume whose files
// are replaced a copy is.
func (p *subPaths) keep(s SubPath, replaced bool) (*disk.Disk, error) {
	volume, err := p.fs.Sub(s.Volume.Path)
	if err != nil {
		return nil, err
	}
	defer volume.Close()
	part, err := volume.EvalSymlinks("/" + s.Path)
	if err != nil {
		return nil, err
	}
	kept, at := disk.InMemory(p.env.Now), path.Join("/", s.Path)
	if replaced {
		return kept, copyTo(kept, at, volume, part)
	}
	if info, err := volume.Lstat(part); err != nil || !info.IsDir() {
		return nil, err
	}
	dir, err := volume.Sub(part)
	switch {
	case err != nil:
		return nil, err
	case !dir.InMemory():
		return nil, dir.Close()
	case at == "/":
		return dir, nil
	}
	err = kept.MkdirAll(at, 0o755)
	if err == nil {
		err = kept.Attach(at, dir, false)
	}
	return kept, err
}

// copyTo copies a file or a directory with all that is in it.
func copyTo(to *disk.Disk, target string, from *disk.Disk, source string) error {
	info, err := from.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = to.MkdirAll(target, info.Mode().Perm())
	} else {
		var data []byte
		if data, err = from.ReadFile(source); err == nil {
			err = errors.Join(to.MkdirAll(path.Dir(target), 0o755), to.WriteFile(target, data, info.Mode().Perm()))
		}
	}
	if uid, gid, ok := disk.Owner(info); ok && err == nil {
		err = to.Lchown(target, uid, gid)
	}
	if err == nil {
		err = to.Chmod(target, info.Mode())
	}
	if err != nil || !info.IsDir() {
		return err
	}
	names, err := from.ReadDir(source)
	for _, name := range names {
		if err == nil {
			err = copyTo(to, path.Join(target, name.Name()), from, path.Join(source, name.Name()))
		}
	}
	return err
}

// makePlainDirs makes directories below dir, each in the one before it. A link in the place of
// one of them is an error, since it would lead elsewhere.
func (p *subPaths) makePlainDirs(dir string, names ...string) (string, error) {
	for _, name := range names {
		dir = path.Join(dir, name)
		if err := p.fs.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if err := p.checkPlainDir(dir); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// uses reports whether a container of the pod may have only a part of a volume. If the pod is
// not known any more, it may.
func (p *subPaths) uses(uid types.UID) bool {
	pod := p.pods.GetPodByUID(uid)
	if pod == nil {
		return true
	}
	uses := func(c v1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m v1.VolumeMount) bool { return m.SubPath != "" || m.SubPathExpr != "" })
	}
	return slices.ContainsFunc(pod.Spec.Containers, uses) || slices.ContainsFunc(pod.Spec.InitContainers, uses)
}

// clean unmounts the parts of one volume that a pod's containers had, and removes the
// directories of the mount points.
//
// Upstream: subpath_linux.go CleanSubPaths, v1.37.
func (p *subPaths) clean(uid types.UID, volumeName string) error {
	if !p.uses(uid) {
		return nil
	}
	all := layout.PodSubPathsDir(uid)
	dir := path.Join(all, volumeName)
	for _, name := range []string{layout.PodDir(uid), all, dir} {
		if err := p.checkPlainDir(name); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
	}
	containers, err := p.fs.ReadDir(dir)
	for _, c := range containers {
		if err == nil && c.IsDir() {
			err = p.cleanContainer(p.podRef(uid), volumeName, path.Join(dir, c.Name()))
		}
	}
	if err == nil {
		err = p.fs.Remove(dir)
	}
	if err != nil {
		return err
	}
	if err := p.fs.Remove(all); !errors.Is(err, fs.ErrExist) { // it has parts of other volumes
		return err
	}
	return nil
}

// cleanAll unmounts the parts of all volumes of a pod. Some may be left of volumes that are
// gone: a restarted kubelet does not find host path volumes, which are not in the pod's
// directory.
func (p *subPaths) cleanAll(uid types.UID) error {
	names, err := layout.Names(p.fs, layout.PodSubPathsDir(uid))
	if err != nil {
		p.noteUnread(err)
	}
	for _, name := range names {
		if err := p.clean(uid, name); err != nil {
			return err
		}
	}
	return nil
}

// cleanContainer unmounts the parts of a volume that one container had.
func (p *subPaths) cleanContainer(about trace.Ref, volumeName, dir string) error {
	mounts, err := p.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if err := p.cleanSubPath(about, volumeName, path.Join(dir, m.Name())); err != nil {
			return err
		}
	}
	return p.fs.Remove(dir)
}

// cleanSubPath unmounts one part of a volume and removes its mount point, an empty directory
// or file. One that is not empty holds data, and stays.
//
// Upstream: subpath_linux.go doCleanSubPath, v1.37.
func (p *subPaths) cleanSubPath(about trace.Ref, volumeName, target string) error {
	mounted, err := p.mounter.IsMountPoint(target)
	if err == nil && !mounted {
		if info, err := p.fs.Lstat(target); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return fmt.Errorf("%s is not mounted and not empty", target)
		}
	}
	err = volume.CleanupMountPoint(target, p.mounter, p.fs)
	if mounted {
		record := trace.Mount{Op: "unmount", About: about, Volume: volumeName, Target: target}
		if err != nil {
			record.Err = err.Error()
		}
		p.env.Trace(record)
	}
	return err
}
