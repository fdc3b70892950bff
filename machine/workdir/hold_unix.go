//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package workdir

import (
	"io"
	"os"
	"syscall"
)

// hold locks a directory as long as this process lives.
func hold(path string) (io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_SH) // where it cannot be locked, it is never said to be left
	return f, nil
}

// isLeft reports whether no process holds a directory.
func isLeft(path string, _ int) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
