//go:build !unix

package disk

import (
	"io/fs"
	"os"
)

const (
	nonblock  = 0
	directory = 0
)

func links(fs.FileInfo) uint64 { return 1 }

func owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

func sameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }
