package shell

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim/machine/disk"
)

// Root is the root file system of a container: the directories of an image, and all that the container writes outside of its
// volumes. It is made when it is first used, in memory, and is gone with the container. Its fields must not change after that.
type Root struct {
	// Now is the time at which files in it change. It is required.
	Now func() time.Time
	// Volumes are the container's volumes, which are mounted over it.
	Volumes []Mount
	// ReadOnly refuses writes, except below /dev, to /etc/hosts and to TerminationLog.
	ReadOnly bool
	// Files returns the contents of more files, by absolute path; default none.
	Files func() map[string]string
	// TerminationLog is the path of the file in which the container may say why it ends; default /dev/termination-log.
	TerminationLog string
	// Dir is the directory in which the container starts; it is made. Default "/".
	Dir string

	disk    *disk.Disk      // nil until it is used
	given   map[string]bool // the files that it has from the start
	mounts  []Mount         // Volumes and the mounts of the root file system
	crossed bool            // there has been a link into a volume
}

// rootSize is the number of bytes that a container can write outside of its volumes.
const rootSize = 64 << 20

// DefaultTerminationLog is the default of Root.TerminationLog.
const DefaultTerminationLog = "/dev/termination-log"

// terminationLog is the path in Root.disk of the file that the container sees at TerminationLog.
const terminationLog = "/dev/termination-log"

// over returns the container's mounts: the volumes, and those of the root file system after them. What is mounted on "/" replaces the
// root file system.
func (r *Root) over() []Mount {
	if r.mounts != nil {
		return r.mounts
	}
	r.mounts = slices.Clone(r.Volumes)
	if slices.ContainsFunc(r.Volumes, func(m Mount) bool { return m.ContainerPath == "/" }) {
		return r.mounts
	}
	log := path.Join("/", cmp.Or(r.TerminationLog, DefaultTerminationLog))
	r.mounts = append(r.mounts,
		Mount{ContainerPath: "/", VolumePath: "/", Source: "overlay", FSType: "overlay", ReadOnly: r.ReadOnly, root: r},
		Mount{ContainerPath: "/proc", VolumePath: "/proc", Source: "proc", FSType: "proc", ReadOnly: true, root: r},
		Mount{ContainerPath: "/dev", VolumePath: "/dev", Source: "tmpfs", FSType: "tmpfs", root: r},
		Mount{ContainerPath: "/sys", VolumePath: "/sys", Source: "sysfs", FSType: "sysfs", ReadOnly: true, root: r},
		Mount{ContainerPath: "/etc/hosts", VolumePath: "/etc/hosts", root: r},
		Mount{ContainerPath: log, VolumePath: terminationLog, root: r},
	)
	return r.mounts
}

// files returns the file system, which it makes at the first call.
func (r *Root) files() (*disk.Disk, error) {
	if r.disk != nil {
		return r.disk, nil
	}
	d := disk.InMemory(r.Now)
	for _, dir := range strings.Fields(imageDirs) {
		if err := d.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	for dir, mode := range map[string]fs.FileMode{"/root": 0o700, "/tmp": 0o777 | fs.ModeSticky, "/var/tmp": 0o777 | fs.ModeSticky,
		"/dev/shm": 0o777 | fs.ModeSticky} {
		if err := d.Chmod(dir, mode); err != nil {
			return nil, err
		}
	}
	if err := r.fill(d); err != nil {
		return nil, err
	}
	if err := d.Limit(disk.Limits{Bytes: rootSize, Inodes: rootSize >> 12}); err != nil {
		return nil, err
	}
	r.disk = d
	return d, nil
}

// fill makes the files, and the directories on which the volumes are mounted.
func (r *Root) fill(d *disk.Disk) error {
	var mounts strings.Builder
	r.list(func(m Mount, source, fsType, mode string) {
		fmt.Fprintf(&mounts, "%s %s %s %s,relatime 0 0\n", source, path.Clean(m.ContainerPath), fsType, mode)
	})
	files := map[string]string{"/etc/hosts": "", terminationLog: "", "/proc/mounts": mounts.String()}
	for _, name := range devices() {
		files[name] = ""
	}
	if r.Files != nil {
		maps.Copy(files, r.Files())
	}
	r.given = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		r.given[name] = true
		if err := d.WriteFile(name, []byte(files[name]), 0o644); err != nil {
			return err
		}
	}
	if err := d.Chmod(terminationLog, 0o666); err != nil { // as the kubelet makes it
		return err
	}
	for _, m := range slices.Concat(r.over(), []Mount{{ContainerPath: path.Join("/", r.Dir)}}) {
		if on, rest, ok := FindMount(r.mounts, path.Dir(m.ContainerPath)); ok && on.root == r {
			_ = d.MkdirAll(path.Join(on.VolumePath, rest, path.Base(m.ContainerPath)), 0o755) // it may be a file, which is there
		}
	}
	return nil
}

// imageDirs are the directories that images of Linux distributions have.
const imageDirs = `/bin /boot /dev /dev/mqueue /dev/pts /dev/shm /etc /home /lib /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp
	/usr/bin /usr/lib /usr/local/bin /usr/local/lib /usr/sbin /usr/share /var/cache /var/lib /var/log /var/run /var/spool /var/tmp`

// devices returns the devices that every container has.
func devices() []string {
	return []string{
		"/dev/full", "/dev/null", "/dev/random", "/dev/stderr", "/dev/stdin", "/dev/stdout", "/dev/tty", "/dev/urandom", "/dev/zero",
	}
}

// isDevice reports whether a path is one of the devices that every container has.
func isDevice(name string) bool {
	return strings.HasPrefix(name, "/dev/") && slices.Contains(devices(), name)
}

// TerminationMessage returns the end of what the container has written to its TerminationLog.
//
// Upstream: kuberuntime_container.go getTerminationMessage, v1.37.
func (r *Root) TerminationMessage() string {
	if r.disk == nil {
		return ""
	}
	data, err := r.disk.ReadFile(terminationLog)
	if err != nil {
		return "" // the container has removed it
	}
	return string(data[max(0, len(data)-maxTerminationMessage):])
}

// Used returns the number of bytes, in blocks, that the container takes of its node's disk with files outside of its volumes. What is below /dev is in
// memory, and the files that it had from the start are not its own.
func (r *Root) Used() (used int64) {
	if r.disk == nil {
		return 0
	}
	_ = r.disk.WalkUp("/", func(name string, info fs.FileInfo) error { // a disk in memory can be read
		if m, _, _ := FindMount(r.over(), name); m.ContainerPath == "/" && info.Mode().IsRegular() && !r.given[name] {
			used += (info.Size() + blockSize - 1) / blockSize * blockSize
		}
		return nil
	})
	return used
}

// blockSize is the unit in which a disk counts the space of a file.
const blockSize = 4096

// maxTerminationMessage is the number of bytes that a message has at most.
//
// Upstream: pkg/kubelet/container/runtime.go MaxContainerTerminationMessageLength, v1.37.
const maxTerminationMessage = 4096

// MakeDir makes Dir if it is in a volume, as a runtime does before it starts the command.
func (r *Root) MakeDir(node *disk.Disk) error {
	name := path.Join("/", r.Dir)
	m, rest, ok := FindMount(r.over(), name)
	if !ok || m.root != nil || rest == "/" {
		return nil
	}
	return InVolume(node, nil, r.mounts, name, false, func(dir *disk.Disk, name string) error {
		if _, err := dir.Stat(name); err == nil || !m.ReadOnly {
			return dir.MkdirAll(name, 0o755)
		}
		return ErrReadOnly
	})
}

// list calls f with the container's mounts in the order in which they were made: those of the root file system first, if no volume
// hides them.
func (r *Root) list(f func(m Mount, source, fsType, mode string)) {
	mounts := r.over()
	own := mounts[len(r.Volumes):]
	for _, m := range slices.Concat(own, r.Volumes) {
		mode := "rw"
		if m.ReadOnly {
			mode = "ro"
		}
		if on, _, _ := FindMount(mounts, m.ContainerPath); on == m {
			source, fsType := m.device()
			f(m, source, fsType, mode)
		}
	}
}
