package shell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

// enter runs nsenter in a container that has the node's "/" at /rootfs.
func (b *box) enter(change func(*shell.Config), argv ...string) *shell.Program {
	b.t.Helper()
	config := b.config(argv...)
	config.Privileged = true
	config.Mounts = append(config.Mounts, shell.Mount{ContainerPath: "/rootfs", VolumePath: "/"})
	change(&config)
	p := shell.New(config)
	b.t.Cleanup(p.Stop)
	b.goOn(p, time.Minute)
	return p
}

func TestNsenterRunsACommandWithTheNodesFiles(t *testing.T) {
	b := newBox(t)
	same := func(*shell.Config) {}
	const namespace = "--mount=/rootfs/proc/1/ns/mnt"
	p := b.enter(same, "nsenter", namespace, "--", "sh", "-c", "pwd; echo x > /disk/f; test ! -d /rootfs && find /disk -mindepth 1; ls /data")
	require.Equal(t, "/\n/disk/f\nls: cannot access '/data': no such file or directory\n", p.Log())
	require.Equal(t, []string{"f"}, b.files())
	p = b.enter(same, "nsenter", namespace, "sh", "-c", "exit 7")
	require.Equal(t, int32(7), p.ExitCode())

	readOnly := func(c *shell.Config) { c.Mounts[2].ReadOnly = true }
	require.Contains(t, b.enter(readOnly, "touch", "/rootfs/disk/g").Log(), "read-only file system")
	require.Empty(t, b.enter(readOnly, "nsenter", namespace, "touch", "/disk/f").Log(), "only the container's mount is read-only")
	require.Equal(t, "../x\n", b.enter(same, "nsenter", namespace, "sh", "-c", "ln -s ../../x /disk/out; readlink /disk/out").Log(), "it stays on the node")
	require.Equal(t, []string{"f", "out"}, b.files())
}

func TestNsenterIsRefusedToWhatMayNotEnterTheNode(t *testing.T) {
	b := newBoxOn(t, disk.InMemory(func() time.Time { return time.Unix(0, 0) }))
	for _, c := range []struct {
		change func(*shell.Config)
		argv   []string
		want   string
	}{
		{func(c *shell.Config) { c.Privileged = false }, []string{"--mount=/rootfs/proc/1/ns/mnt", "ls"},
			"nsenter: reassociate to namespaces failed: operation not permitted; the container is not privileged\n"},
		{func(c *shell.Config) { c.User = disk.User{UID: 7, GID: 7} }, []string{"--mount=/rootfs/proc/1/ns/mnt", "ls"},
			"nsenter: cannot open /rootfs/proc/1/ns/mnt: permission denied\n"},
		{func(c *shell.Config) { c.Mounts[2].VolumePath = "/disk" }, []string{"--mount=/rootfs/proc/1/ns/mnt", "ls"},
			"nsenter: cannot open /rootfs/proc/1/ns/mnt: no such file or directory; this simulation knows DIR/proc/1/ns/mnt, where the node's / is mounted at DIR\n"},
		{func(*shell.Config) {}, []string{"--mount=/proc/1/ns/mnt", "ls"},
			"nsenter: cannot open /proc/1/ns/mnt: no such file or directory; this simulation knows DIR/proc/1/ns/mnt, where the node's / is mounted at DIR\n"},
		{func(*shell.Config) {}, []string{"-t", "1", "ls"}, "nsenter: -t: this simulation knows --mount=FILE only\n"},
		{func(*shell.Config) {}, []string{"--mount=/rootfs/proc/1/ns/mnt"}, "nsenter: --mount=FILE and a command are wanted\n"},
		{func(*shell.Config) {}, []string{"ls"}, "nsenter: --mount=FILE and a command are wanted\n"},
		{func(c *shell.Config) { c.Argv = []string{"sh", "-c", "nsenter --mount=/rootfs/proc/1/ns/mnt ls"} }, nil,
			"nsenter: this simulation runs it only as the command of a container or of an exec, not in a script\n"},
	} {
		p := b.enter(c.change, append([]string{"nsenter"}, c.argv...)...)
		require.Equal(t, c.want, p.Log())
		require.Equal(t, int32(1), p.ExitCode())
	}
}

func TestBlockdevAndStatTellSizes(t *testing.T) {
	b := newBoxOn(t, disk.InMemory(func() time.Time { return time.Unix(0, 0) }))
	require.NoError(t, b.node.WriteFile("/device", make([]byte, 8192), 0o660))
	require.NoError(t, b.node.Limit(disk.Limits{Bytes: 1 << 20}))
	config := b.config("sh", "-c", `for o in ss pbsz bsz size64 sz; do blockdev --get$o /dev/xvda; done
blockdev --getss /data /nowhere; blockdev --getss; blockdev --x /dev/xvda
printf x > f; stat -f -c '%n %T %s %S %b %f %a %%' .; stat -f /nowhere; stat -f; stat -f -c %i .`)
	config.Mounts = append(config.Mounts, shell.Mount{ContainerPath: "/dev/xvda", VolumePath: "/device", Block: true})
	p := shell.New(config)
	t.Cleanup(p.Stop)
	b.goOn(p, time.Minute)
	require.Equal(t, `512
512
4096
8192
16
blockdev: ioctl error on /data: inappropriate ioctl for device
blockdev: cannot open /nowhere: no such file or directory
blockdev: an option and a device are wanted
blockdev: --x: this simulation knows --getss, --getpbsz, --getbsz, --getsize64 and --getsz
. ext4 4096 4096 256 253 253 %
stat: cannot read file system information for '/nowhere': no such file or directory
stat: missing operand
stat: format %i is not supported with -f; the formats are %n %T %s %S %b %f %a
`, p.Log())
	require.Contains(t, b.run("stat", "-f", "/data").Log(), "Block size: 4096\nBlocks: Total: 256 ")
}
