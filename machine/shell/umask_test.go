package shell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
)

// The umask of a container is 0022, and what a script sets it to holds for its programs, in memory, too.
func TestTheUmaskOfAScriptHoldsForWhatItMakes(t *testing.T) {
	h := newHost()
	b := newBoxOn(t, disk.InMemory(func() time.Time { return h.now }))
	p := b.run("sh", "-c", "umask; > a; umask 0; > b; mkdir -p c/d; umask 077; "+
		"echo x | tee e /tmp/e; dd if=a of=f 2> /dev/null; sh -c '> g'; stat -c '%a %n' ? c/d /tmp/e")
	require.Zero(t, p.ExitCode(), p.Log())
	require.Equal(t, "0022\nx\n644 a\n666 b\n777 c\n600 e\n600 f\n600 g\n777 c/d\n600 /tmp/e\n", p.Log())
}
