package shell_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/shell"
)

const grace = 30 * time.Second

// stop sends a program SIGTERM, lets it go on for the grace period, and then kills it.
func (b *box) stop(p *shell.Program) {
	if !p.Terminate() {
		p.Stop() // what ignores it here does not end in time
		return
	}
	for end := b.host.Now().Add(grace); ; {
		wait, ended := p.Run(b.host)
		if ended {
			return
		}
		if b.host.Now().Add(wait).After(end) {
			p.Stop()
			return
		}
		b.host.now = b.host.now.Add(wait)
	}
}

func TestAProgramEndsByItsTrapOrIsKilled(t *testing.T) {
	for script, want := range map[string]struct {
		code int32
		log  string
	}{
		"sleep 1000":                   {code: 137},
		"while true; do sleep 1; done": {code: 137},
		"tail -f /dev/null":            {code: 137},

		"trap 'echo bye; exit 3' TERM; while true; do sleep 5; done":               {3, "bye\n"},
		"trap 'echo bye; exit 3' TERM; while true; do :; done":                     {3, "bye\n"},
		"trap 'echo bye; exit 3' 15; sleep 29; sleep 1":                            {3, "bye\n"},
		"trap 'exit 3' TERM; sleep 31":                                             {137, ""}, // the shell waits for the sleep
		"trap 'echo bye; exit 3' SIGTERM; sleep 1000 & wait":                       {3, "bye\n"},
		"trap 'echo bye' TERM; sleep 1000 & wait $!; echo $?":                      {0, "bye\n143\n"},
		"trap 'exit' TERM; sleep 1000 & wait $!":                                   {143, ""},
		"trap 'kill $p; wait $p; exit $?' TERM; sleep 1000 & p=$!; wait $p":        {143, ""},
		"trap 'kill -9 $p; wait $p' TERM; sleep 1000 & p=$!; wait $p; wait $p":     {137, ""},
		"trap 'stop=1' TERM; while [ -z \"$stop\" ]; do sleep 2; done; echo done":  {0, "done\n"},
		"trap 'echo bye; sleep 20; exit 3' TERM; while true; do sleep 5; done":     {3, "bye\n"},
		"trap 'echo bye; sleep 40; exit 3' TERM; while true; do sleep 5; done":     {137, "bye\n"},
		"trap 'echo bye' TERM; while true; do sleep 5; done":                       {137, "bye\n"},
		"trap 'echo end' EXIT; trap 'exit 4' TERM; f() { sleep 1; f; }; f":         {4, "end\n"},
		"trap '' TERM; while true; do sleep 5; done":                               {137, ""},
		"trap 'exit 3' TERM; trap - TERM; while true; do sleep 5; done":            {137, ""},
		"trap 'exit 3' TERM INT; exec sleep 20":                                    {137, ""},
		"(trap 'exit 3' TERM; while true; do sleep 1; done)":                       {137, ""},
		"sh -c \"trap 'exit 3' TERM; while true; do sleep 1; done\"; echo never":   {137, ""},
		"exec sh -c \"trap 'exit 3' TERM; while true; do sleep 1; done\"":          {3, ""},
		"sh -c \"trap 'exit 3' TERM; while true; do sleep 1; done\"":               {3, ""}, // in the place of the first shell
		"exec env x=1 sh -c 'trap \"exit $x\" TERM; while true; do sleep 1; done'": {1, ""},
		"trap 'exit 3' TERM; i=0; while true; do i=$(sleep 2; echo $i); done":      {3, ""},
		"trap 'return 7' TERM; while true; do sleep 1; done; echo never":           {7, ""},
		"f() { sleep 9; echo never; }; trap 'return 7' TERM; f; echo $?":           {0, "7\n"},
		"trap exit TERM; ! sleep 5":                                                {0, ""}, // the status before it is turned round
	} {
		b := newBox(t)
		p := shell.New(b.config("sh", "-c", script))
		_, ended := p.Run(b.host)
		require.False(t, ended, script)
		b.stop(p)
		require.Equal(t, want.code, p.ExitCode(), script)
		require.Equal(t, want.log, p.Log(), script)
	}
}

func TestASignalEndsAProgramThatIsNotTheFirstProcess(t *testing.T) {
	for script, code := range map[string]int32{
		"sleep 1000": 143,
		"trap 'exit 3' TERM; while true; do sleep 1; done": 3,
		"trap '' TERM; while true; do sleep 1; done":       137,
		"trap 'exit 3' TERM; exec sleep 1000":              143,
	} {
		b := newBox(t)
		config := b.config("sh", "-c", script)
		config.NotFirst = true
		p := shell.New(config)
		p.Run(b.host)
		b.stop(p)
		require.Equal(t, code, p.ExitCode(), script)
	}
}

func TestAProgramThatWasNotRunYetOrHasEndedTakesNoSignal(t *testing.T) {
	b := newBox(t)
	p := shell.New(b.config("sh", "-c", "exit 4"))
	p.Run(b.host)
	require.False(t, p.Terminate())
	require.EqualValues(t, 4, p.ExitCode())
	p = shell.New(b.config("sh", "-c", "exit 4"))
	require.False(t, p.Terminate())
	require.False(t, p.Ended())
	p.Run(b.host)
	require.EqualValues(t, 4, p.ExitCode(), "it has no handler yet")
}

func TestOfAnImagesProgramItIsNotKnownWhatItDoesWithSignals(t *testing.T) {
	for script, want := range map[string]bool{
		"exec server": true, "server": true, "exec env a=b server": true, "server; echo": false, "server || exit 1": false,
		"trap 'exit 0' TERM; server": false, "trap 'exit 0' TERM; exec server": true, "exec sleep 1000": false, "server & wait": false,
		"if true; then server; fi": true,
	} {
		b := newBox(t)
		config := b.config("sh", "-c", script)
		config.Commands = shell.Default()
		config.Commands["server"] = shell.Entrypoint(false)
		p := shell.New(config)
		_, ended := p.Run(b.host)
		require.False(t, ended, script)
		require.Equal(t, want, p.OfImage(), script)
		p.Stop()
	}
	b := newBox(t)
	require.NoError(t, b.node.WriteFile("/scripts/run", []byte("#!/bin/sh\nserver\n"), 0o755))
	config := b.config("/script/run")
	config.Commands = shell.Default()
	config.Commands["server"] = shell.Entrypoint(false)
	p := shell.New(config)
	p.Run(b.host)
	require.False(t, p.OfImage(), "the shell of a file waits for its last command")
	p.Stop()
	config.Argv, config.Absent = []string{"unknown"}, func(string) shell.Absent { return shell.Runs }
	p = shell.New(config)
	p.Run(b.host)
	require.True(t, p.OfImage())
	p.Stop()
}

func TestKillEndsBackgroundCommandsAndTrapTellsWhatItKeeps(t *testing.T) {
	const wrong = "sh: kill: a signal (HUP, KILL, USR1, USR2, TERM or 0) and the number of a process are wanted\n2\n"
	for script, log := range map[string]string{
		"sleep 9 & kill $!; wait $!; echo $?; kill -0 $! 2>/dev/null || echo gone": "143\ngone\n",
		"sleep 9 & kill -KILL %1; wait $!; echo $?":                                "137\n",
		"sleep 9 & kill -0 $! && echo there; kill -s TERM $!":                      "there\n",
		"kill $$; kill -9 1; echo on":                                              "on\n",
		"trap 'echo handled' TERM; kill $$; echo on; kill 1":                       "handled\non\nhandled\n",
		"trap 'echo \"it'\"'\"'s\"' TERM EXIT; trap; trap - EXIT":                  "trap -- 'echo \"it'\"'\"'s\"' EXIT\ntrap -- 'echo \"it'\"'\"'s\"' TERM\n",
		"kill 77 || echo $?":                                                       "sh: kill: (77) - No such process\n1\n",
		"trap : INT hup 64; echo $?":                                               "0\n",
		"trap 'echo end' BAR EXIT; echo $?":                                        "sh: trap: BAR: invalid signal specification\n1\nend\n",
		"trap 'echo x' 65 || echo no":                                              "sh: trap: 65: invalid signal specification\nno\n",
		"trap word; echo $?":                                                       "sh: trap: word: invalid signal specification\n1\n",
		"kill -WHAT 1; echo $?":                                                    wrong,
		"kill; echo $?":                                                            wrong,
	} {
		require.Equal(t, log, newBox(t).run("sh", "-c", script).Log(), script)
	}
	require.EqualValues(t, 7, newBox(t).run("sh", "-c", "trap 'false; exit' EXIT; (exit 7)").ExitCode())
}
