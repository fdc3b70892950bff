package shell_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

// A program hangs on a share whose server does not answer, without an error, and goes on when it answers. What it does elsewhere it does.
func TestAProgramHangsOnAShareThatDoesNotAnswer(t *testing.T) {
	b := newBox(t)
	silent := true
	b.node.Fail(func(_, name string) error {
		if silent && strings.HasPrefix(name, "/disk") {
			return disk.ErrSilent
		}
		return nil
	})
	p := shell.New(b.config("sh", "-c", "echo begin; cat /script/s; (sleep 5; echo beside) & echo x > /data/f || echo failed; cat /data/f"))
	require.NoError(t, b.node.WriteFile("/scripts/s", []byte("elsewhere\n"), 0o644))
	require.False(t, b.goOn(p, time.Hour))
	require.Equal(t, "begin\nelsewhere\nbeside\n", p.Log())
	notes := 0
	for _, r := range p.Reports() {
		for _, note := range r.Notes {
			require.Equal(t, "hangs: there is no answer about /data/f", note)
			notes++
		}
	}
	require.Equal(t, 1, notes)
	silent = false
	require.True(t, b.goOn(p, 2*time.Minute))
	require.Equal(t, "begin\nelsewhere\nbeside\nx\n", p.Log())
	require.Zero(t, p.ExitCode())
}
