//go:build !linux

package removal

import "os"

func remove(name string) error { return os.RemoveAll(name) }
