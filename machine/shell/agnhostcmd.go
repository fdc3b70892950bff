package shell

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/storagesim/storagesim/machine/disk"
)

// Agnhost returns the program of the image that Kubernetes' own tests run in their pods, agnhost. Of its commands mounttest is carried out: it
// makes files, and prints modes, owners and contents of a volume. All others stand for programs of which is only known that they run (Entrypoint):
// most of them are servers.
//
// Upstream: test/images/agnhost/mounttest/mt.go, v1.37.
func Agnhost(endsAtOnce bool) Command {
	return func(p *Process) error {
		if len(p.Argv) < 2 || p.Argv[1] != "mounttest" {
			return Entrypoint(endsAtOnce)(p)
		}
		t := mountTest{Process: p}
		if err := t.parse(p.Argv[2:]); err != nil {
			return fmt.Errorf("Error: %w", err) // as the program prints it
		}
		return t.run()
	}
}

// mountTest is one call of "agnhost mounttest". The fields are its flags, all paths but the last two.
type mountTest struct {
	*Process
	fsType, mode, perm, owner, content, inLoop string

	newFiles [4]string // by their modes (newFileModes)
	seconds  int
	breaks   bool
}

// newFileModes returns the modes of the files that mounttest can be told to make, in the order in which it makes them.
func newFileModes() [4]fs.FileMode { return [4]fs.FileMode{0o644, 0o666, 0o660, 0o777} }

// newFileText is the content of the files that mounttest makes.
const newFileText = "mount-tester new file\n"

// mountTestPause is the time between two looks at a file.
const mountTestPause = 2 * time.Second

func (t *mountTest) parse(args []string) error {
	f := flag.NewFlagSet("mounttest", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&t.fsType, "fs_type", "", "")
	f.StringVar(&t.mode, "file_mode", "", "")
	f.StringVar(&t.perm, "file_perm", "", "")
	f.StringVar(&t.owner, "file_owner", "", "")
	f.StringVar(&t.content, "file_content", "", "")
	f.StringVar(&t.inLoop, "file_content_in_loop", "", "")
	for i, mode := range newFileModes() {
		f.StringVar(&t.newFiles[i], fmt.Sprintf("new_file_%04o", uint32(mode)), "", "")
	}
	f.IntVar(&t.seconds, "retry_time", 180, "")
	f.BoolVar(&t.breaks, "break_on_expected_content", true, "")
	return f.Parse(args)
}

// run does what the flags ask for, in the order of upstream's program, whatever fails.
func (t *mountTest) run() error {
	failed := false
	try := func(name string, do func(name string) error) {
		if name != "" {
			failed = do(name) != nil || failed
		}
	}
	try(t.fsType, t.showType)
	for i, name := range t.newFiles {
		try(name, func(name string) error { return t.makeFile(name, newFileModes()[i]) })
	}
	try(t.mode, func(name string) error {
		return t.show("Stat", name, func(info fs.FileInfo) error { return t.printf("mode of file %q: %v\n", name, info.Mode()) })
	})
	try(t.perm, func(name string) error {
		return t.show("Stat", name, func(info fs.FileInfo) error { return t.printf("perms of file %q: %v\n", name, info.Mode().Perm()) })
	})
	try(t.owner, func(name string) error {
		return t.show("stat", name, func(info fs.FileInfo) error {
			uid, gid := ownerOf(info)
			return t.printf("owner UID of %q: %v\nowner GID of %q: %v\n", name, uid, name, gid)
		})
	})
	try(t.content, t.showContent)
	try(t.inLoop, t.showInLoop)
	if failed {
		return &ExitError{Code: 1}
	}
	return nil
}

// show prints something of a file.
func (t *mountTest) show(call, name string, print func(fs.FileInfo) error) error {
	info, err := t.lookAt(name, false)
	if err != nil {
		_ = t.printf("error from %s(%q): %v\n", call, name, reason(err))
		return err
	}
	return print(info)
}

// showType prints the type of the file system that a path is on: its name if that is tmpfs, otherwise the number that Linux has for it.
func (t *mountTest) showType(name string) error {
	return t.show("statfs", name, func(fs.FileInfo) error {
		m, _, _ := FindMount(t.program.files.mounts, t.program.files.follow(t.Path(name), true)) // what exists is in a mount
		_, kind := m.device()
		if number, ok := map[string]int64{"ext4": 0xef53, "nfs4": 0x6969, "overlay": 0x794c7630, "xfs": 0x58465342}[kind]; ok {
			kind = strconv.FormatInt(number, 10)
		}
		return t.printf("mount type of %q: %s\n", name, kind)
	})
}

// makeFile writes a file, made with exactly this mode, and prints what is in it.
func (t *mountTest) makeFile(name string, mode fs.FileMode) error {
	missing := !t.exists(name)
	err := t.Do(name, true, func(dir *disk.Disk, inside string) error {
		if err := dir.WriteFile(inside, []byte(newFileText), mode); err != nil || !missing {
			return err
		}
		return dir.Chmod(inside, mode)
	})
	if err != nil {
		_ = t.printf("error writing new file %q: open %s: %v\n", name, name, reason(err))
		return err
	}
	return t.showContent(name)
}

func (t *mountTest) showContent(name string) error {
	data, err := t.input(name)
	if err != nil {
		_ = t.printf("error reading file content for %q: open %s: %v\n", name, name, reason(err))
		return err
	}
	return t.printf("content of file %q: %s\n", name, data)
}

// showInLoop prints the content of a file again and again, until the time is over or the content is the expected one.
func (t *mountTest) showInLoop(name string) (err error) {
	for start := t.Now(); t.Now().Sub(start) < time.Duration(t.seconds)*time.Second; t.Sleep(mountTestPause) {
		var data []byte
		if data, err = t.input(name); err != nil {
			_ = t.printf("Error reading file %s: open %s: %v, retrying\n", name, name, reason(err))
			continue
		}
		_ = t.printf("content of file %q: %s\n", name, data)
		if !t.breaks {
			continue
		}
		if string(data) == newFileText {
			break
		}
		_ = t.printf("Unexpected content. Expected: %s. Retrying\n", newFileText)
	}
	return err
}
