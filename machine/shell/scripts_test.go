package shell_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

// scripts returns the scripts of testdata/scripts.txt, one construct or two each.
func scripts(t *testing.T) []string {
	data, err := os.ReadFile("testdata/scripts.txt")
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(data), "\n----\n"), "\n----\n")
}

func TestAScriptDoesWhatItDoesInDash(t *testing.T) {
	needDash(t)
	for _, script := range scripts(t) {
		t.Run(script, func(t *testing.T) {
			want := inDash(t, script)
			got, p := inOurs(t, script)
			assert.Equal(t, want, got, "printed: %s", p.Log())
		})
	}
}

func TestAnUpdateCopiesWhatIsNewer(t *testing.T) {
	h := newHost()
	b := newBoxOn(t, disk.InMemory(func() time.Time { return h.now }))
	b.host = h
	p := b.run("sh", "-c", "echo old > a; cp -u a b; sleep 1; echo kept > b; cp -u a b; cat b; sleep 1; echo new > a; cp -u a b; cat b")
	require.Equal(t, "kept\nnew\n", p.Log())
}
