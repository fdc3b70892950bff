package programs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/kubelet/runtime/programs"
)

func TestProjectQuotasAreRecorded(t *testing.T) {
	b := newBox(t)
	node := b.node
	require.NoError(t, node.MkdirAll("/disk/a", 0o755))
	require.NoError(t, node.WriteFile("/disk/file", nil, 0o644))
	none, err := programs.Quotas(node)
	require.NoError(t, err)
	require.Empty(t, none)

	require.Zero(t, b.run("xfs_quota", "-x", "-c", "project -s -p /data/a 7", "/data").ExitCode())
	p := b.run("xfs_quota", "-x", "-c", "limit -p bsoft=10k bhard=20k 7", "/data")
	require.Equal(t, []string{"the limits of /disk/a are recorded, soft 10k and hard 20k; this simulation does not enforce them"}, p.Main().Notes)
	require.Zero(t, b.run("chattr", "+P", "-p", "3", "/data/a").ExitCode())
	require.Zero(t, b.run("setquota", "-P", "3", "0", "5", "0", "0", "/data").ExitCode())
	quotas, err := programs.Quotas(node)
	require.NoError(t, err)
	require.Equal(t, []programs.ProjectQuota{{3, "/disk/a", "0", "5"}, {7, "/disk/a", "10k", "20k"}}, quotas)

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
		{[]string{"chattr", "+i", "/data/a"}, "this simulation knows only"},
		{[]string{"chattr", "+P", "-p", "../../x", "/data/a"}, "must be a number from 1 to"},
		{[]string{"setquota", "-P", "3", "1", "1", "9", "9", "/data"}, "this simulation knows only"},
	} {
		require.Contains(t, b.run(bad.argv...).Message(), bad.want, bad.argv)
	}
}
