package shell_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

// rootBox is a box whose commands share a root file system.
func (b *box) rootConfig(root *shell.Root, argv ...string) shell.Config {
	config := b.config(argv...)
	config.Root = root
	return config
}

func (b *box) newRoot() *shell.Root {
	return &shell.Root{Now: b.host.Now, Volumes: b.config().Mounts, Dir: "/data"}
}

func TestAContainerHasDirectoriesOfAnImageAndWritesThere(t *testing.T) {
	for script, want := range map[string]string{
		"touch /tmp/healthy; ls /tmp; rm -f /tmp/healthy; ls /tmp":        "healthy\n",
		"echo x > /tmp/a && cat /tmp/a":                                   "x\n",
		"mkdir -p /data2/db && echo y > /data2/db/f && cd /data2 && ls *": "f\n",
		"cd / && pwd && ls -d dev etc tmp usr var":                        "/\ndev\netc\ntmp\nusr\nvar\n",
		"stat -c '%a %F' /tmp /root /dev/null": "1777 directory\n700 directory\n" +
			"666 character special file\n",
		"test -c /dev/zero && test -w /tmp && test -d /proc && echo yes":                 "yes\n",
		"head -c 3 /dev/zero > /data/z; wc -c < /data/z; head -c 5 /dev/urandom | wc -c": "3\n5\n",
		"cat /dev/zero || echo no": "cat: /dev/zero: it has no end: " +
			"head -c N reads N bytes of it\nno\n",
		"echo x > /dev/null; echo y | tee /dev/null; cp /data/../dev/null /tmp/n; wc -c < /tmp/n": "y\n0\n",
		"echo x > /dev/full || echo full": "echo: write error: " +
			"no space left on device\nfull\n",
		"grep ' /data ' /proc/mounts; mount | grep -c .":                                                          "/dev/disk /data ext4 rw,relatime 0 0\n8\n",
		"printf '#!/bin/sh\\necho ran $1\\n' > /usr/local/bin/x; chmod +x /usr/local/bin/x; /usr/local/bin/x now": "ran now\n",
		"ln -s /tmp/a /tmp/l; echo via > /tmp/l; cat /tmp/a; readlink /tmp/l":                                     "via\na\n",
		"mv /etc/hosts /tmp/h || echo busy; rm /etc/hosts || echo busy": "mv: cannot move '/etc/hosts' to '/tmp/h': " +
			"device or resource busy\nbusy\nrm: cannot remove '/etc/hosts': device or resource busy\nbusy\n",
		"echo kept > /tmp/f; mv /tmp/f /data/f && cat /data/f; cp /data/f /opt && cat /opt/f": "kept\nkept\n",
	} {
		b := newBox(t)
		p := b.run("sh", "-c", script)
		assert.Equal(t, want, p.Log(), script)
		left, err := b.node.List("/")
		require.NoError(t, err)
		require.Equal(t, []string{"disk/", "scripts/"}, left, "the node has nothing of it: %s", script)
	}
}

func TestCommandsOfOneContainerShareItsRootFileSystem(t *testing.T) {
	b := newBox(t)
	root := b.newRoot()
	run := func(root *shell.Root, script string) string {
		p := shell.New(b.rootConfig(root, "sh", "-c", script))
		defer p.Stop()
		_, ended := p.Run(b.host)
		require.True(t, ended)
		require.Empty(t, p.Main().Paths)
		return p.Log()
	}
	require.Empty(t, run(root, "echo one > /tmp/a"))
	require.Equal(t, "one\n", run(root, "cat /tmp/a"))
	require.Contains(t, run(b.newRoot(), "cat /tmp/a"), "no such file or directory")
}

func TestAReadOnlyRootFileSystemRefusesWritesButBelowDev(t *testing.T) {
	b := newBox(t)
	root := b.newRoot()
	root.ReadOnly = true
	root.TerminationLog = "/var/log/end"
	p := shell.New(b.rootConfig(root, "sh", "-c", "touch /tmp/a; mkdir -p /tmp && echo there; mkdir /x; echo y > /data/y; rm -rf /etc/hosts; "+
		"echo 1.2.3.4 me >> /etc/hosts && tail -n 1 /etc/hosts; echo why > /var/log/end; touch /dev/shm/s && ls /dev/shm; test -w /tmp || echo ro; "+
		"mount | head -n 1"))
	_, ended := p.Run(b.host)
	require.True(t, ended)
	require.Equal(t, "touch: cannot touch '/tmp/a': read-only file system\nthere\nmkdir: cannot create directory '/x': read-only file system\n"+
		"rm: cannot remove '/etc/hosts': device or resource busy\n1.2.3.4 me\ns\nro\noverlay on / type overlay (ro,relatime)\n", p.Log())
	require.Equal(t, "why\n", root.TerminationMessage())
}

func TestARootFileSystemIsFullAfter64MiB(t *testing.T) {
	b := newBox(t)
	p := b.run("sh", "-c", "head -c 40000000 /dev/zero > /tmp/a; head -c 40000000 /dev/zero > /tmp/b || echo full; df /tmp | tail -n 1; "+
		"head -c 999999999 /dev/zero > /tmp/c; rm /tmp/a; df | tail -n 3")
	require.Equal(t, "head: write error: no space left on device\nfull\noverlay 65536 65536 0 100% /\nhead: /dev/zero: file too large; the limit is 64 MiB\n"+
		"tmpfs 65536 26472 39064 41% /dev\n/dev/disk 104857600 4 104857596 1% /data\n/dev/disk 104857600 4 104857596 1% /script\n", p.Log())
}

func TestRemovingADirectoryAboveAVolumeEmptiesTheVolumeAndFails(t *testing.T) {
	node := disk.InMemory(newHost().Now)
	b := newBoxOn(t, node)
	require.NoError(t, node.MkdirAll("/disk/d/e", 0o755))
	require.NoError(t, node.WriteFile("/scripts/s", []byte("x"), 0o644))
	require.NoError(t, node.WriteFile("/secret", []byte("x"), 0o644))
	_, err := node.Symlink("/secret", "/disk/link")
	require.NoError(t, err)
	config := b.config("sh", "-c", "touch /mnt/own; rm -rf /mnt; ls -a /mnt /mnt/ro /mnt/data")
	config.Mounts = []shell.Mount{{ContainerPath: "/mnt/data", VolumePath: "/disk"}, {ContainerPath: "/mnt/ro", VolumePath: "/scripts", ReadOnly: true}}
	p := shell.New(config)
	_, ended := p.Run(b.host)
	require.True(t, ended)
	require.Contains(t, p.Log(), "rm: cannot remove '/mnt': read-only file system\n/mnt:\n.\n..\ndata\nro\n\n/mnt/data:\n.\n..\n\n/mnt/ro:\n.\n..\ns\n")
	exists, err := node.Exists("/secret")
	require.NoError(t, err)
	require.True(t, exists)
}

func TestTheWorkingDirectoryOfAContainerIsMade(t *testing.T) {
	b := newBox(t)
	root := b.newRoot()
	root.Dir = "/data/app/here"
	require.NoError(t, root.MakeDir(b.node))
	info, err := b.node.Stat("/disk/app/here")
	require.NoError(t, err)
	require.True(t, info.IsDir())
	root.Dir = "/script/new"
	require.ErrorIs(t, root.MakeDir(b.node), shell.ErrReadOnly)
	root.Dir = "/script"
	require.NoError(t, root.MakeDir(b.node))

	config := b.config("sh", "-c", "pwd; echo x > f; ls")
	config.Dir = "/opt/app"
	p := shell.New(config)
	_, ended := p.Run(b.host)
	require.True(t, ended)
	require.Equal(t, "/opt/app\nf\n", p.Log())
}
