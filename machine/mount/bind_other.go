//go:build !linux

package mount

import (
	"fmt"
	"runtime"
)

// Bind makes real bind mounts, which only Linux has.
type Bind struct{ Interface }

// NewBind fails: this is not Linux.
func NewBind(Config) (*Bind, error) {
	return nil, fmt.Errorf("real bind mounts need Linux, and this is %s; use TempDir", runtime.GOOS)
}

// UnmountAll does nothing: this system has no Bind.
func (b *Bind) UnmountAll() error { return nil }
