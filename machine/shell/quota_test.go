package shell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

func TestProjectQuotasAreRecorded(t *testing.T) {
	b := newBox(t)
	node := b.node
	require.NoError(t, node.MkdirAll("/disk/a", 0o755))
	require.NoError(t, node.WriteFile("/disk/file", nil, 0o644))
	none, err := shell.Quotas(node)
	require.NoError(t, err)
	require.Empty(t, none)

	require.Zero(t, b.run("xfs_quota", "-x", "-c", "project -s -p /data/a 7", "/data").ExitCode())
	p := b.run("xfs_quota", "-x", "-c", "limit -p bsoft=10k bhard=20k 7", "/data")
	require.Equal(t, []string{"the limits of /disk/a are recorded, soft 10k and hard 20k; only disks in memory enforce them"}, p.Main().Notes)
	require.Zero(t, b.run("chattr", "+P", "-p", "3", "/data/a").ExitCode())
	require.Zero(t, b.run("setquota", "-P", "3", "0", "5", "0", "0", "/data").ExitCode())
	quotas, err := shell.Quotas(node)
	require.NoError(t, err)
	require.Equal(t, []shell.ProjectQuota{{3, "/disk/a", "0", "5"}, {7, "/disk/a", "10k", "20k"}}, quotas)

	for _, bad := range []struct {
		argv []string
		want string
	}{
		{[]string{"xfs_quota", "-x"}, "this simulation knows only"},
		{[]string{"xfs_quota", "-x", "-c", "report -h", "/data"}, "this simulation knows only"},
		{[]string{"xfs_quota", "-x", "-c", "project -s -p /data/b 7", "/data"}, "no such file or directory"},
		{[]string{"xfs_quota", "-x", "-c", "project -s -p /data/file 7", "/data"}, "Not a directory"},
		{[]string{"xfs_quota", "-x", "-c", "project -s -p /etc 7", "/data"}, "in none of the container's volumes"},
		{[]string{"xfs_quota", "-x", "-c", "project -s -p /data/a 0", "/data"}, "must be a number from 1 to"},
		{[]string{"xfs_quota", "-x", "-c", "limit -p bsoft=x bhard=1 7", "/data"}, "limit 'x' must be a number"},
		{[]string{"xfs_quota", "-x", "-c", "limit -p bsoft=1kk bhard=1 7", "/data"}, "limit '1kk' must be a number"},
		{[]string{"xfs_quota", "-x", "-c", "limit -p bsoft=1 bhard=9000000000g 7", "/data"}, "limit '9000000000g' must be a number"},
		{[]string{"xfs_quota", "-x", "-c", "limit -p bsoft=1 bhard=1 7", "/etc"}, "in none of the container's volumes"},
		{[]string{"chattr", "+i", "/data/a"}, "this simulation knows only"},
		{[]string{"chattr", "+P", "-p", "../../x", "/data/a"}, "must be a number from 1 to"},
		{[]string{"setquota", "-P", "3", "1", "1", "9", "9", "/data"}, "this simulation knows only"},
	} {
		require.Contains(t, b.run(bad.argv...).Message(), bad.want, bad.argv)
	}
}

// What helpers of provisioners run.
func TestAProjectQuotaTakesEffectOnADiskInMemory(t *testing.T) {
	for name, c := range map[string]struct {
		set  []string // a may hold 16 KiB
		past string
	}{
		"xfs_quota": {[]string{"xfs_quota -x -c 'project -s -p /data/a 7' /data", "xfs_quota -x -c 'limit -p bsoft=12k bhard=16k 7' /data"},
			"no space left on device"},
		"setquota": {[]string{"chattr +P -p 7 /data/a", "setquota -P 7 12 16K 0 0 /data"}, "disk quota exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoxOn(t, disk.InMemory(func() time.Time { return time.Unix(0, 0) }))
			require.NoError(t, b.node.MkdirAll("/disk/a", 0o755))
			require.NoError(t, b.node.WriteFile("/disk/8k", make([]byte, 8<<10), 0o644))
			for _, command := range c.set {
				require.Zero(t, b.run("sh", "-c", command).ExitCode(), command)
			}
			p := b.run("sh", "-c", "cp 8k a/1 && cp 8k a/2 && df a && cp 8k a/3")
			require.NotZero(t, p.ExitCode())
			require.Equal(t, "Filesystem     1K-blocks  Used Available Use% Mounted on\n/dev/disk 12 16 0 100% /data\n"+
				"cp: cannot create regular file '/data/a/3': "+c.past+"\n", p.Log())
			require.Zero(t, b.run("sh", "-c", "cp 8k another && rm a/1 && cp 8k a/4").ExitCode(), "elsewhere there is space, and what is removed makes some")
		})
	}
}

func TestDfTellsTheSizeOfADiskThatHasOne(t *testing.T) {
	b := newBoxOn(t, disk.InMemory(func() time.Time { return time.Unix(0, 0) }))
	require.NoError(t, b.node.Limit(disk.Limits{Bytes: 100 << 10}))
	require.NoError(t, b.node.WriteFile("/disk/x", make([]byte, 33<<10), 0o644))
	require.Equal(t, "Filesystem     1K-blocks  Used Available Use% Mounted on\n/dev/disk 100 36 64 36% /data\n", b.run("df", "/data").Log())
	require.Equal(t, "Filesystem     Type Size  Used Avail Use% Mounted on\n/dev/disk ext4 100K 36K 64K 36% /data\n", b.run("df", "-hT", "/data").Log())
}
