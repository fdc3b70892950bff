package unshared

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// inside is set in the environment of a process that Test started.
const inside = "STORAGESIM_UNSHARED"

// way is one of the ways to a mount namespace of one's own.
type way struct {
	name string
	attr syscall.SysProcAttr
}

func ways() []way {
	self := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	return []way{
		{"with privilege", syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}},
		{"without privilege", syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWUSER, Unshareflags: syscall.CLONE_NEWNS,
			UidMappings: self(os.Getuid()), GidMappings: self(os.Getgid()),
		}},
	}
}

// Test runs body in a new process with a mount namespace of its own, once with the
// privilege of this one and once without, in a user namespace, as far as the
// machine allows it. If it allows neither, the test is skipped and says why. body
// must be all that the calling test does; its name must not be that of a subtest.
func Test(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	if os.Getenv(inside) != "" {
		body(t)
		return
	}
	var refused []error
	done := 0
	for _, w := range ways() {
		out, err := again(t, w)
		if isRefusal(err) {
			refused = append(refused, errors.New(w.name+": "+err.Error()))
			continue
		}
		done++
		passed := strings.Contains(out, "--- PASS: "+t.Name()+" ")
		if err != nil || !passed {
			t.Errorf("%s: %v\n%s", w.name, err, out)
		}
	}
	switch err := errors.Join(refused...); {
	case done == 0:
		t.Skipf("this machine allows no mount namespace of one's own: %v", err)
	case err != nil:
		t.Logf("this machine does not allow every way: %v", err)
	}
}

// again runs the calling test in another process.
func again(t *testing.T, w way) (string, error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), inside+"="+w.name)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &w.attr
	err = cmd.Run()
	return out.String(), err
}

// isRefusal reports whether the machine did not let the process start.
func isRefusal(err error) bool {
	for _, e := range []error{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSYS, syscall.ENOSPC, syscall.EUSERS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
