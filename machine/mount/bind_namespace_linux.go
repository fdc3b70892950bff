package mount

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/storagesim/storagesim/machine/internal/mountinfo"
)

// namespace identifies the mount namespaces of this process and of the machine's first
// one.
type namespace struct {
	// own and first are the kernel's names for the two. That of a process with more
	// rights, or of another user, may not be read: firstErr.
	own, first string
	firstErr   error
	// ownMounts and firstMounts are the numbers of the mounts that each of them sees,
	// which the kernel gives to one mount only in all namespaces; every process may
	// read them.
	ownMounts, firstMounts []string
}

// readNamespace asks the kernel. An error is that this process's own namespace could not
// be read.
func readNamespace() (ns namespace, err error) {
	ns.own, err = os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return ns, err
	}
	if ns.first, ns.firstErr = os.Readlink("/proc/1/ns/mnt"); ns.firstErr == nil {
		return ns, nil
	}
	own, err := mountinfo.Read("self")
	if err != nil {
		return ns, err
	}
	ns.ownMounts = own.IDs()
	if first, err := mountinfo.Read("1"); err == nil {
		ns.firstMounts = first.IDs()
	}
	return ns, nil
}

const unshareHint = "start this process in a mount namespace of its own: unshare --mount, or without privilege unshare --user --map-root-user --mount"

// check refuses the machine's mount namespace, and one of which it cannot be told
// whether it is the machine's.
func (ns namespace) check() error {
	known := ns.firstErr == nil || len(ns.firstMounts) > 0 && len(ns.ownMounts) > 0
	same := ns.firstErr == nil && ns.own == ns.first ||
		slices.ContainsFunc(ns.ownMounts, func(id string) bool { return slices.Contains(ns.firstMounts, id) })
	switch {
	case !known:
		return fmt.Errorf("whether this process is in the machine's mount namespace cannot be told: %w; %s", ns.firstErr, unshareHint)
	case same:
		return errors.New("this process is in the machine's mount namespace; " + unshareHint)
	}
	return nil
}
