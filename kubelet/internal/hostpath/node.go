package hostpath

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// nodeDirs are directories of any Linux node, and those that a kubelet makes at its start.
//
// Upstream: kubelet.go setupDataDirs, v1.37.
const nodeDirs = `/boot /dev /dev/disk/by-id /dev/disk/by-path /dev/disk/by-uuid /dev/mapper /dev/shm /etc /etc/cni/net.d /etc/kubernetes/manifests
	/etc/kubernetes/pki /etc/ssl/certs /home /lib/modules /media /mnt /opt /opt/cni/bin /proc /root /run /run/containerd /run/lock /run/udev /srv /sys
	/sys/fs/bpf /sys/fs/cgroup /sys/kernel/debug /tmp /usr/bin /usr/lib /usr/local /usr/sbin /usr/share /var/cache /var/lib /var/lib/containerd
	/var/lib/kubelet/checkpoints /var/lib/kubelet/device-plugins /var/lib/kubelet/plugins /var/lib/kubelet/plugins_registry /var/lib/kubelet/pod-resources
	/var/lib/kubelet/pods /var/log /var/log/containers /var/log/pods /var/tmp`

// nodeFiles are files of any Linux node, each on a line with what is in it.
const nodeFiles = `/etc/hosts 127.0.0.1 localhost
/etc/machine-id 5f1c3a7e9b2d4c6880a1b2c3d4e5f607
/etc/os-release ID=linux
/etc/resolv.conf nameserver 10.0.0.1`

const (
	runtimeSocket = "/run/containerd/containerd.sock"
	oldRun        = "/var/run" // a link to /run
)

// isOfNode reports whether a path is one that every node has, or a directory above one.
func isOfNode(name string) bool {
	name = path.Clean(name)
	above := strings.TrimSuffix(name, "/") + "/"
	is := func(own string) bool { return own == name || strings.HasPrefix(own, above) }
	for line := range strings.Lines(nodeFiles) {
		if file, _, _ := strings.Cut(line, " "); is(file) {
			return true
		}
	}
	return is(runtimeSocket) || is("/var"+runtimeSocket) || slices.ContainsFunc(strings.Fields(nodeDirs), is)
}

// makeNodeFiles makes what every node has and this one has not. It is called when a volume needs one of them: a node without such a
// volume is spared it. What cannot be made, as on a full disk, is not there.
func makeNodeFiles(node *disk.Disk) {
	exists := func(name string) bool {
		_, err := node.Lstat(name)
		return err == nil
	}
	for _, dir := range strings.Fields(nodeDirs) {
		if exists(dir) {
			continue
		}
		mode := fs.FileMode(0o755)
		if path.Base(dir) == "tmp" || dir == "/dev/shm" {
			mode = 0o777 | fs.ModeSticky
		}
		_ = node.MakeDir(dir, mode)
	}
	for line := range strings.Lines(nodeFiles) {
		if file, text, _ := strings.Cut(line, " "); !exists(file) {
			_ = node.WriteFile(file, []byte(strings.TrimSpace(text)+"\n"), 0o644)
		}
	}
	_ = node.MakeSocket(runtimeSocket)
	if !exists(oldRun) {
		_, _ = node.Symlink("/run", oldRun)
	}
}
