package shell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

// mountTest runs "agnhost mounttest" with the box's volume as a tmpfs at /mem.
func (b *box) mountTest(user disk.User, args ...string) *shell.Program {
	b.t.Helper()
	config := b.config(append([]string{"/agnhost", "mounttest"}, args...)...)
	config.User = user
	config.Mounts = append(config.Mounts, shell.Mount{ContainerPath: "/mem", VolumePath: "/disk", Source: "tmpfs", FSType: "tmpfs"})
	config.Commands = shell.Default()
	config.Commands["/agnhost"] = shell.Agnhost(false)
	p := shell.New(config)
	b.t.Cleanup(p.Stop)
	b.goOn(p, time.Hour)
	return p
}

func TestMounttestOfAgnhostMakesAndShowsFilesAsTheImageDoes(t *testing.T) {
	b := newBoxOn(t, disk.InMemory(func() time.Time { return time.Unix(0, 0) }))
	require.NoError(t, b.node.Chmod("/disk", 0o777))
	p := b.mountTest(disk.User{UID: 1001, GID: 123},
		"--file_mode=/mem", "--file_owner=/mem/f", "--file_perm", "/mem/f", "--fs_type=/mem", "--new_file_0666=/mem/f", "--new_file_0660=/mem/g")
	require.Equal(t, `mount type of "/mem": tmpfs
content of file "/mem/f": mount-tester new file

content of file "/mem/g": mount-tester new file

mode of file "/mem": drwxrwxrwx
perms of file "/mem/f": -rw-rw-rw-
owner UID of "/mem/f": 1001
owner GID of "/mem/f": 123
`, p.Log())
	require.Zero(t, p.ExitCode())
	require.Equal(t, "mount type of \"/data\": 61267\n", b.mountTest(disk.User{}, "--fs_type=/data").Log())
}

func TestMounttestGoesOnAfterAnErrorAndFailsAtTheEnd(t *testing.T) {
	b := newBoxOn(t, disk.InMemory(func() time.Time { return time.Unix(0, 0) }))
	p := b.mountTest(disk.User{}, "--new_file_0644=/script/f", "--file_mode=/none", "--file_content=/none", "--fs_type=/data")
	require.Equal(t, `mount type of "/data": 61267
error writing new file "/script/f": open /script/f: read-only file system
error from Stat("/none"): no such file or directory
error reading file content for "/none": open /none: no such file or directory
`, p.Log())
	require.EqualValues(t, 1, p.ExitCode())

	p = b.mountTest(disk.User{}, "--file_kind=/data")
	require.Equal(t, "Error: flag provided but not defined: -file_kind\n", p.Log())
	require.EqualValues(t, 1, p.ExitCode())
}

func TestMounttestLooksAtAFileUntilItIsAsExpectedOrTheTimeIsOver(t *testing.T) {
	b := newBoxOn(t, disk.InMemory(func() time.Time { return time.Unix(0, 0) }))
	began := b.host.Now()
	p := b.mountTest(disk.User{}, "--file_content_in_loop=/data/f", "--retry_time=5")
	const missing = "Error reading file /data/f: open /data/f: no such file or directory, retrying\n"
	require.Equal(t, missing+missing+missing, p.Log())
	require.EqualValues(t, 1, p.ExitCode())
	require.Equal(t, 6*time.Second, b.host.Now().Sub(began))

	require.NoError(t, b.node.WriteFile("/disk/f", []byte("x"), 0o644))
	p = b.mountTest(disk.User{}, "--file_content_in_loop=/data/f", "--break_on_expected_content=false", "--retry_time=3")
	require.Equal(t, "content of file \"/data/f\": x\ncontent of file \"/data/f\": x\n", p.Log())
	require.Zero(t, p.ExitCode())
}
