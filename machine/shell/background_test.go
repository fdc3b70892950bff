package shell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/shell"
)

func TestBackgroundCommandsRunBesideAScriptAndCanBeWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		script, want string
		takes        time.Duration
		code         int32
	}{
		"wait for all":              {"(sleep 3; echo three) & (sleep 1; echo one) & echo now; wait; echo end", "now\none\nthree\nend\n", 3 * time.Second, 0},
		"a sleep lets them go on":   {"(sleep 1; echo one; sleep 1; echo two) & sleep 5; echo five", "one\ntwo\nfive\n", 5 * time.Second, 0},
		"the status of one":         {"(sleep 2; exit 7) & wait $!; echo $?", "7\n", 2 * time.Second, 0},
		"the status of a job":       {"(exit 3) & (sleep 1; exit 4) & wait %1; echo $?; wait %2; echo $?", "3\n4\n", time.Second, 0},
		"its variables are its own": {"x=1; { x=2; sleep 1; echo $x; } & wait; echo $x", "2\n1\n", time.Second, 0},
		"they end with the script":  {"(sleep 60; echo late) & echo end; exit 5", "end\n", 0, 5},
		"one in another":            {"(sleep 1; (sleep 1; echo inner) & wait; echo outer) & wait; echo end", "inner\nouter\nend\n", 2 * time.Second, 0},
		"a failure ends no script":  {"set -e; false & sleep 1; echo end", "end\n", time.Second, 0},
		"nothing to wait for":       {"wait; echo $?; wait 99; echo $?", "0\n127\n", 0, 0},
		"not a number":              {"wait x || echo $?", "sh: wait: x: it must be a number such as $! or %1\n2\n", 0, 0},
		"it reads nothing":          {"cat & wait; echo end", "end\n", 0, 0},
		"in a loop":                 {"for i in 1 2 3; do (sleep $i; echo $i) & done; wait", "1\n2\n3\n", 3 * time.Second, 0},
		"in a function":             {"f() { sleep 1 & wait; echo f; }; f; f", "f\nf\n", 2 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			began := b.host.now
			p := b.run("sh", "-c", c.script)
			require.Equal(t, c.want, p.Log())
			require.Equal(t, c.takes, b.host.now.Sub(began))
			require.Equal(t, c.code, p.ExitCode())
		})
	}
}

func TestBackgroundCommandsAreBounded(t *testing.T) {
	b := newBox(t)
	p := b.run("sh", "-c", "while true; do sleep 1000 & done")
	require.EqualValues(t, 2, p.ExitCode())
	require.Contains(t, p.Log(), "more than 100 background commands")

	p = b.run("sh", "-c", "i=0; while [ $i -lt 500 ]; do sleep 1 & sleep 2; i=$((i+1)); done; echo $i")
	require.Equal(t, "500\n", p.Log(), "those that have ended do not count")
}

func TestAProgramThatIsStoppedEndsItsBackgroundCommands(t *testing.T) {
	b := newBox(t)
	p := shell.New(b.config("sh", "-c", "while true; do echo x >> f; sleep 1; done & sleep 1000"))
	require.False(t, b.goOn(p, 5*time.Second))
	p.Stop()
	before, err := b.node.ReadFile("/disk/f")
	require.NoError(t, err)
	require.NotEmpty(t, before)
	_, ended := p.Run(b.host)
	require.True(t, ended)
	after, err := b.node.ReadFile("/disk/f")
	require.NoError(t, err)
	require.Equal(t, before, after)
}
