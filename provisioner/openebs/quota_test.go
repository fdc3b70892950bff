package openebs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// semantics 4 must 10, and semantics 4.1: the limit is the size and the grace,
// rounded up to kilobytes.
func TestALimitIsTheSizeAndTheGrace(t *testing.T) {
	const gibi = 1 << 30
	tests := map[string]struct {
		soft, hard         string
		size               int64
		wantSoft, wantHard string
	}{
		"neither is the size for both":     {"", "", 5 * gibi, "5242880k", "5242880k"},
		"80% and 85%":                      {"80%", "85%", gibi, "1887437k", "1939866k"},
		"0% is the size":                   {"0%", "0%", gibi, "1048576k", "1048576k"},
		"100% is twice the size":           {"100%", "100%", gibi, "2097152k", "2097152k"},
		"150% acts as 100%":                {"150%", "150%", gibi, "2097152k", "2097152k"},
		"only a soft limit":                {"50%", "", gibi, "1572864k", "0k"},
		"only a hard limit":                {"", "50%", gibi, "0k", "1572864k"},
		"a fraction, rounded up":           {"0.1%", "12.5%", 1000, "1k", "2k"},
		"compared as numbers, not as text": {"0%", "100%", 512 << 10, "512k", "1024k"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q, err := newQuota(keyXFSQuota, "pv", tt.soft, tt.hard, tt.size)
			require.NoError(t, err)
			assert.Equal(t, tt.wantSoft, q.soft)
			assert.Equal(t, tt.wantHard, q.hard)
		})
	}
}

func TestABadGraceIsRefused(t *testing.T) {
	const format, parse = "invalid format for limit grace", "invalid format, cannot parse"
	for grace, want := range map[string]string{
		"80": format, "-5%": format, "80 %": format, "1e3%": format, "80%%": format, "NaN%": format, "Inf%": format, "0x10%": format, "1.2.3%": format,
		" 80%": format,
		"%":    parse, ".%": parse, strings.Repeat("9", 400) + "%": parse,
	} {
		_, err := newQuota(keyXFSQuota, "pv", grace, "", 1<<30)
		assert.EqualError(t, err, want, grace)
		_, err = newQuota(keyXFSQuota, "pv", "", grace, 1<<30)
		assert.EqualError(t, err, want, grace)
	}
	_, err := newQuota(keyXFSQuota, "pv", "85%", "80%", 1<<30)
	assert.EqualError(t, err, "hard limit cannot be smaller than soft limit")
	_, err = newQuota(keyXFSQuota, "pv", "100%", "0%", 512<<10)
	assert.ErrorContains(t, err, "hard limit cannot be smaller", "1024k is more than 512k")
}

func TestAQuotaThatIsSwitchedOffIsNone(t *testing.T) {
	for _, class := range []string{`- {name: EXT4Quota, enabled: "false"}`, "- {name: XFSQuota, data: {softLimitGrace: 80%}}", ""} {
		config, err := getVolumeConfig(Config{}, &storagev1.StorageClass{ObjectMeta: annotated(class)}, &v1.PersistentVolumeClaim{})
		require.NoError(t, err)
		q, err := config.quota("pv", 1<<30)
		require.NoError(t, err)
		assert.Nil(t, q)
	}
}

func TestTheClaimMayAskForAQuotaThatTheClassDoesNotMention(t *testing.T) {
	claim := &v1.PersistentVolumeClaim{ObjectMeta: annotated("- {name: XFSQuota, enabled: true, data: {hardLimitGrace: 10%}}")}
	config, err := getVolumeConfig(Config{}, &storagev1.StorageClass{}, claim)
	require.NoError(t, err)
	q, err := config.quota("pv", 1<<30)
	require.NoError(t, err)
	assert.Equal(t, "1153434k", q.hard)

	config, err = getVolumeConfig(Config{}, &storagev1.StorageClass{ObjectMeta: annotated("- {name: XFSQuota, enabled: false}")}, claim)
	require.NoError(t, err)
	q, err = config.quota("pv", 1<<30)
	require.NoError(t, err)
	assert.Nil(t, q, "the class wins")
}

func TestTheQuotaPodSetsTheLimitsOfTheFileSystemThatTheClassNames(t *testing.T) {
	cfg, err := Config{}.checked()
	require.NoError(t, err)
	vol := documentVolume(t)
	vol.quota = &quota{kind: keyXFSQuota, soft: "10k", hard: "20k", project: 7}
	pod := (&hostpathProvisioner{cfg: cfg}).quotaPod(vol)
	assert.Equal(t, "quota-pvc-1", pod.Name)
	assert.Equal(t, "local-path-quota", pod.Spec.Containers[0].Name)
	assert.Equal(t, []string{"sh", "-c", `set -e
xfs_quota -x -c 'project -s -p /data/pvc-1 7' /data
xfs_quota -x -c 'limit -p bsoft=10k bhard=20k 7' /data`}, pod.Spec.Containers[0].Command)

	vol.quota.kind = keyEXT4Quota
	assert.Equal(t, []string{"sh", "-c", `set -e
chattr +P -p 7 /data/pvc-1
setquota -P 7 10K 20K 0 0 /data`}, (&hostpathProvisioner{cfg: cfg}).quotaPod(vol).Spec.Containers[0].Command)
}

func TestTheModeOfTheDirectoryIsTheConfigured(t *testing.T) {
	for class, want := range map[string]string{
		"": "0777",
		"- {name: FilePermissions, enabled: true, data: {mode: '0770'}}":  "0770",
		"- {name: FilePermissions, enabled: true, data: {mode: g+s}}":     "g+s",
		"- {name: FilePermissions, enabled: true, data: {UID: 1000}}":     "0777",
		"- {name: FilePermissions, enabled: false, data: {mode: '0770'}}": "0777",
	} {
		config, err := getVolumeConfig(Config{}, &storagev1.StorageClass{ObjectMeta: annotated(class)}, &v1.PersistentVolumeClaim{})
		require.NoError(t, err)
		mode, err := config.fileMode()
		require.NoError(t, err)
		assert.Equal(t, want, mode, class)
	}
}
