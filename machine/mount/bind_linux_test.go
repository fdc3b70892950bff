package mount_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/unshared"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
)

// What a kernel does and TempDir cannot.
func TestBindDoesWhatAKernelDoes(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		t.Run("read-only is kept", func(t *testing.T) {
			node := newNode(t)
			m := openBind(t, node)
			require.NoError(t, bind(m, "/disk/a", "/mnt/1", "ro"))
			require.ErrorIs(t, node.WriteFile("/mnt/1/x", nil, 0o644), syscall.EROFS)
			require.NoError(t, node.WriteFile("/disk/a/x", nil, 0o644), "the source is as it was")
			require.ErrorIs(t, node.Remove("/mnt/1/x"), syscall.EROFS)
		})
		t.Run("what is below is hidden and comes back", func(t *testing.T) {
			node := newNode(t)
			m := openBind(t, node)
			require.NoError(t, node.WriteFile("/mnt/1/below", []byte("kept"), 0o644))
			require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
			names, err := node.List("/mnt/1")
			require.NoError(t, err)
			require.Empty(t, names)
			require.NoError(t, m.Unmount("/mnt/1"))
			data, err := node.ReadFile("/mnt/1/below")
			require.NoError(t, err)
			require.Equal(t, "kept", string(data))
		})
		t.Run("mounts can be stacked", func(t *testing.T) {
			node := newNode(t)
			m := openBind(t, node)
			require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
			require.NoError(t, bind(m, "/disk/b", "/mnt/1"))
			require.Equal(t, []string{"/disk/a on /mnt/1", "/disk/b on /mnt/1"}, places(t, m))
			require.NoError(t, m.Unmount("/mnt/1"))
			require.Equal(t, []string{"/disk/a on /mnt/1"}, places(t, m))
		})
		t.Run("who uses a mount keeps it busy", func(t *testing.T) {
			node := newNode(t)
			m := openBind(t, node)
			require.NoError(t, node.WriteFile("/disk/a/x", nil, 0o644))
			require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
			f, err := node.Handle("/mnt/1/x")
			require.NoError(t, err)
			require.ErrorIs(t, m.Unmount("/mnt/1"), syscall.EBUSY)
			require.ErrorContains(t, m.Unmount("/mnt/1"), "target is busy")
			require.NoError(t, f.Close())
			require.NoError(t, m.Unmount("/mnt/1"))
		})
		t.Run("a mount point cannot be removed", func(t *testing.T) {
			node := newNode(t)
			m := openBind(t, node)
			require.NoError(t, bind(m, "/disk/a", "/mnt/1"))
			require.ErrorIs(t, node.Remove("/mnt/1"), syscall.EBUSY)
		})
		t.Run("options that no bind mount has are refused", func(t *testing.T) {
			node := newNode(t)
			m := openBind(t, node)
			require.ErrorContains(t, bind(m, "/disk/a", "/mnt/1", "vers=4.1"), `option "vers=4.1" is not an option of bind mounts`)
			require.Empty(t, places(t, m))
		})
		t.Run("a device is not opened", func(t *testing.T) {
			node := newNode(t)
			root := machine(t, node)
			require.NoError(t, syscall.Mkfifo(root+"/disk/pipe", 0o644))
			require.ErrorContains(t, bind(openBind(t, node), "/disk/pipe", "/mnt/file"), "is not a regular file")
		})
	})
}

func TestBindIsRefusedWhereMountsPropagate(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		node := newNode(t)
		root := machine(t, node)
		require.NoError(t, syscall.Mount(root, root, "", syscall.MS_BIND, ""))
		defer func() { require.NoError(t, syscall.Unmount(root, syscall.MNT_DETACH)) }()
		require.NoError(t, syscall.Mount("", root, "", syscall.MS_SHARED, ""))
		again, err := disk.Open(root)
		require.NoError(t, err)
		defer again.Close()
		_, err = mount.NewBind(mount.Config{Dir: again})
		require.ErrorContains(t, err, "would be seen in other mount namespaces; make it private")
	})
}

// Also where this process may not read which namespace the first one is in.
func TestBindIsRefusedWhereOthersWouldSeeIt(t *testing.T) {
	own, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	first, err := os.ReadFile("/proc/1/mountinfo")
	require.NoError(t, err)
	if string(own) != string(first) {
		t.Log("these tests run in a mount namespace of their own")
		return
	}
	_, err = mount.NewBind(mount.Config{Dir: newNode(t)})
	require.ErrorContains(t, err, "is in the machine's mount namespace")
	require.ErrorContains(t, err, "unshare --user --map-root-user --mount")
	_, err = mount.NewBind(mount.Config{})
	require.ErrorContains(t, err, "is nil")
}
