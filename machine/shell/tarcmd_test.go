package shell_test

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/shell"
)

// tarOf returns an archive of the given members.
func tarOf(t *testing.T, members ...tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		m.Mode = 0o644
		require.NoError(t, w.WriteHeader(&m))
	}
	require.NoError(t, w.Close())
	return &out
}

func TestNothingInAnArchiveLeavesItsDirectory(t *testing.T) {
	b := newBox(t)
	for name, archive := range map[string]*bytes.Buffer{
		"Member name contains '..'":             tarOf(t, tar.Header{Name: "../../out", Typeflag: tar.TypeReg}),
		"lead out of its volume":                tarOf(t, tar.Header{Name: "l", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}),
		"is not supported":                      tarOf(t, tar.Header{Name: "dev", Typeflag: tar.TypeChar}),
		"This does not look like a tar archive": bytes.NewBufferString(strings.Repeat("garbage", 200)),
	} {
		config := b.config("tar", "-xf", "-", "-C", "/data")
		config.Stdin = archive
		p := shell.New(config)
		b.goOn(p, time.Second)
		assert.Equal(t, int32(2), p.ExitCode(), name)
		assert.Contains(t, p.Log(), name)
	}
	entries, err := b.node.ReadDir("/disk")
	require.NoError(t, err)
	assert.Empty(t, entries)
}
