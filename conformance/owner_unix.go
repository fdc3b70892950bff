//go:build unix

package conformance

import (
	"io/fs"
	"os"
	"syscall"
)

// owner is a file's owner and group. Recordings were made as root: whoever runs the
// simulation stands for root.
func owner(info fs.FileInfo) (uid, gid int) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	uid, gid = int(stat.Uid), int(stat.Gid)
	if uid == os.Getuid() {
		uid = 0
	}
	if gid == os.Getgid() {
		gid = 0
	}
	return uid, gid
}
