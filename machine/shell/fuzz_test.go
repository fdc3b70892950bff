package shell_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/machine/shell"
)

// No script panics or hangs, and none reaches what is outside of its volumes.
func FuzzAScriptStaysInItsVolumesAndComesBack(f *testing.F) {
	var seeds [][]any
	for _, seed := range []string{
		"#!/bin/sh\nset -eu\nmkdir -m 0777 -p \"$VOL_DIR\"\n", "rm -rf $VOL_DIR/../..", "x=${y:-$(cat /canary)}; echo $((x+1)) > ../canary",
		"while true; do f() { f; }; f; done",
		"case $1 in [a-z]*) for i in *; do mv \"$i\" ..; done;; esac", "cat <<E\n$x `ls` ${x%%*}\nE\n", "printf '%*s%b' 5 x '\\0777\\xzz'; find / -exec rm -rf {} +",
		"[ a -a ( b ]; test ! ! x; [[ x =~ ( ]]; ${x:1:2}", "set -- -ab; getopts :ab: o; read -r x y < .; trap 'exit 3' 0; exec 3<&1; echo $((1<<64)) $((1/0))",
		"echo aXb | sed -En -e '1,$ {s/(a|X)*/\\1&/2gp;$!d' -e '}' | tr -cs 'a-z' '\\n' | cut -d, -f1-3 | uniq -c; sed -i.b 's/a/b/' $(mktemp -p . XXXX)",
	} {
		seeds = append(seeds, []any{seed, true}, []any{seed, false})
	}
	seedtest.Corpus(f, 100, seeds...)
	f.Fuzz(func(t *testing.T, script string, bash bool) {
		if len(script) > 500 {
			return // longer ones teach nothing more
		}
		b := newBox(t)
		require.NoError(t, b.node.WriteFile("/canary", []byte("alive"), 0o644))
		_, err := b.node.Symlink("/canary", "/disk/out")
		require.NoError(t, err)
		name := map[bool]string{true: "bash", false: "sh"}[bash]
		p := shell.New(b.config(name, "-c", script, "name", "one", "/canary"))
		defer p.Stop()
		for range 3 {
			if _, ended := p.Run(b.host); ended {
				break
			}
		}
		require.Less(t, p.MostSteps(), 2*shell.MaxSteps, script)
		data, err := b.node.ReadFile("/canary")
		require.NoError(t, err)
		require.Equal(t, "alive", string(data))
		entries, err := b.node.List("/")
		require.NoError(t, err)
		require.Equal(t, []string{"canary", "disk/", "scripts/"}, entries)
	})
}
