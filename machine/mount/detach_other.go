//go:build !linux

package mount

import "errors"

// detach fails: only Linux has a table of mounts.
func detach(string) error { return errors.ErrUnsupported }
