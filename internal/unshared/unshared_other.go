//go:build !linux

package unshared

import (
	"runtime"
	"testing"
)

// Test skips the test: only Linux has mount namespaces.
func Test(t *testing.T, _ func(t *testing.T)) {
	t.Helper()
	t.Skipf("mount namespaces need Linux, and this is %s", runtime.GOOS)
}
