//go:build !linux

package disk

import "os"

// mayChown reports whether this process may give files to other users.
func mayChown() bool { return os.Geteuid() == 0 }
