package shell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

func TestACopyKeepsTheModeAndTheOwnerIfItIsToPreserveThem(t *testing.T) {
	b := newBoxOn(t, disk.InMemory(func() time.Time { return time.Unix(0, 0) }))
	b.run("sh", "-c", "mkdir d; echo x > d/f; chmod 662 d/f; chmod 771 d; chown 7:8 d d/f; cp -r d plain; cp -rp d kept; cp -a d all; cp -p d/f f")
	for name, want := range map[string]string{
		"plain/f": "640 0 0", "kept": "771 7 8", "kept/f": "662 7 8", "all": "771 7 8", "all/f": "662 7 8", "f": "662 7 8",
	} {
		require.Equal(t, want+"\n", b.run("stat", "-c", "%a %u %g", name).Log(), name)
	}
}
