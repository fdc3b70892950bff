package story

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/storagesim/storagesim/internal/errno"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
)

func breakCommand() *command {
	return &command{
		name: "break", usage: "break node/NAME|nfs/SERVER|any OP [PATH] error=NAME [times=N] [skip=N]", run: breakMachine,
		help: "make mounts or file operations of a machine fail from now on, for every actor\n" +
			"OP is mount, unmount, look (any question about a mount point), mkdir, write, symlink, remove, rename, chmod, chown,\n" +
			"read or stat; create is what a full disk refuses, change what a read-only file system refuses.\n" +
			"PATH is what it happens to, or a directory above it; * stands for anything in an element.\n" +
			"error= is one of " + strings.Join(slices.Sorted(maps.Keys(errnos)), ", ") + ".\n" +
			"times= is how many operations, default 0, which is all until mend; skip= lets as many pass first. OP may be any.\n" +
			"With error=SILENCE a kubelet's mount or unmount, and a program that uses the share, hang until mend: break nfs/SERVER any error=SILENCE\n" +
			"Example: break node/node-1 create /data error=ENOSPC",
	}
}

func mendCommand() *command {
	return &command{name: "mend", usage: "mend",
		help: "remove all faults that break, fail, fail-csi, fail-point and crash have set up and that are still to come", run: mend}
}

// errnos are the errors that break can give. SILENCE is no number: the operation does not return.
var errnos = map[string]error{
	"EACCES": syscall.EACCES, "EBUSY": syscall.EBUSY, "EDQUOT": syscall.EDQUOT, "EIO": syscall.EIO,
	"ENOSPC": syscall.ENOSPC, "EROFS": syscall.EROFS, "ESTALE": syscall.ESTALE,
	"SILENCE": disk.ErrSilent,
}

func breakMachine(c *call) error {
	set, err := c.settings("error", "times", "skip")
	if err != nil {
		return err
	}
	if err := c.want(2, 3); err != nil {
		return err
	}
	f := machine.Fault{Machine: unlessAny(c.args[0]), Op: unlessAny(c.args[1]), Times: -1}
	if len(c.args) == 3 {
		f.Path = c.args[2]
	}
	var known bool
	if _, set := set["error"]; !set {
		return c.misuse("error= is missing; expected one of %s", strings.Join(slices.Sorted(maps.Keys(errnos)), ", "))
	}
	if f.Err, known = errnos[set["error"]]; !known {
		return c.misuse("error: unknown error %q%s", set["error"], prose.OneOf(set["error"], slices.Sorted(maps.Keys(errnos))))
	}
	if skip, ok := set["skip"]; ok {
		if f.Skip, err = c.number("skip", skip); err != nil {
			return err
		}
	}
	if times, ok := set["times"]; ok {
		if f.Times, err = c.number("times", times); err != nil {
			return err
		}
		if f.Times == 0 {
			f.Times = -1
		}
	}
	if err := c.cluster.Inject(f); err != nil {
		return misuse{err}
	}
	c.say("%s will fail to %s: %v", c.args[0], whatFails(f), errno.Linux(f.Err))
	return nil
}

// whatFails says which operations a fault strikes.
func whatFails(f machine.Fault) string {
	words := []string{cmp.Or(f.Op, "do anything")}
	if f.Path != "" {
		words = append(words, f.Path)
	}
	if f.Skip > 0 {
		words = append(words, fmt.Sprintf("skip=%d", f.Skip))
	}
	if f.Times > 0 {
		words = append(words, fmt.Sprintf("times=%d", f.Times))
	}
	return strings.Join(words, " ")
}

func mend(c *call) error {
	if err := c.want(0, 0); err != nil {
		return err
	}
	c.cluster.Lab().ClearFaults()
	c.say("all faults are removed")
	return nil
}
