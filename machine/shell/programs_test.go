package shell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

// host is a clock that moves when a program sleeps.
type host struct{ now time.Time }

func newHost() *host { return &host{time.Date(2021, 1, 7, 10, 48, 49, 0, time.UTC)} }

func (h *host) Now() time.Time   { return h.now }
func (h *host) Choose(n int) int { return 0 }

// box is a container with a volume at /data and scripts at /script.
type box struct {
	t    testing.TB
	node *disk.Disk
	host *host
	env  map[string]string
}

func newBox(t testing.TB) *box {
	t.Helper()
	node, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	return newBoxOn(t, node)
}

func newBoxOn(t testing.TB, node *disk.Disk) *box {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	require.NoError(t, node.MkdirAll("/disk", 0o755))
	require.NoError(t, node.MkdirAll("/scripts", 0o755))
	return &box{t: t, node: node, host: newHost()}
}

func (b *box) config(argv ...string) shell.Config {
	return shell.Config{
		Argv: argv, Dir: "/data", Env: b.env, Hostname: "web", Node: b.node, Seed: 1,
		Mounts: []shell.Mount{{ContainerPath: "/data", VolumePath: "/disk"}, {ContainerPath: "/script", VolumePath: "/scripts", ReadOnly: true}},
	}
}

// run carries a command out, at most for an hour of its sleeps.
func (b *box) run(argv ...string) *shell.Program {
	b.t.Helper()
	p := shell.New(b.config(argv...))
	b.t.Cleanup(p.Stop)
	b.goOn(p, time.Hour)
	return p
}

func (b *box) goOn(p *shell.Program, d time.Duration) (ended bool) {
	for end := b.host.now.Add(d); !b.host.now.After(end); {
		wait, ended := p.Run(b.host)
		if ended {
			return true
		}
		b.host.now = b.host.now.Add(min(wait, 24*time.Hour))
	}
	return false
}

func (b *box) files() []string {
	names, err := b.node.List("/disk")
	require.NoError(b.t, err)
	return names
}
