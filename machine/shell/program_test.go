package shell_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/shell"
)

func TestAProgramSleepsOnTheVirtualClock(t *testing.T) {
	b := newBox(t)
	p := shell.New(b.config("sh", "-c", "echo before > f; sleep 90; echo after >> f; sleep 1.5m 30s; exit 4"))
	wait, ended := p.Run(b.host)
	require.Equal(t, 90*time.Second, wait)
	require.False(t, ended)
	data, err := b.node.ReadFile("/disk/f")
	require.NoError(t, err)
	require.Equal(t, "before\n", string(data))
	wait, ended = p.Run(b.host)
	require.Equal(t, 2*time.Minute, wait)
	require.False(t, ended)
	_, ended = p.Run(b.host)
	require.True(t, ended)
	require.EqualValues(t, 4, p.ExitCode())
	_, ended = p.Run(b.host)
	require.True(t, ended, "it stays ended")
}

func TestALoopOfGreetingsWritesItsGreetings(t *testing.T) {
	b := newBox(t)
	p := shell.New(b.config("sh", "-c",
		"while true; do echo \"`date` [`hostname`] Hello from OpenEBS Local PV.\" >> greet.txt; sleep $(($RANDOM % 5 + 300)); done"))
	defer p.Stop()
	require.False(t, b.goOn(p, 20*time.Minute))
	data, err := b.node.ReadFile("/disk/greet.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	require.GreaterOrEqual(t, len(lines), 4)
	require.Equal(t, "Thu Jan  7 10:48:49 UTC 2021 [web] Hello from OpenEBS Local PV.", lines[0])
	require.Regexp(t, `^Thu Jan  7 10:53:(49|5[0-3]) UTC 2021 \[web\] Hello`, lines[1])
}

func TestALoopWithoutASleepNeitherHangsNorEatsMemory(t *testing.T) {
	for _, script := range []string{
		"while true; do :; done", "until false; do true; done", "while :; do sleep 0; done", "f() { :; }; while f; do f; done",
		"while true; do echo x; done", "while true; do x=$x; done", "while true; do echo a | cat >/dev/null; done", "while true; do echo x; done | cat",
		"while ! grep -q never /script/nothing 2>/dev/null; do :; done", `while true; do eval "x=1"; done`, "for ((;;)); do :; done",
	} {
		b := newBox(t)
		name := "sh"
		if strings.HasPrefix(script, "for") {
			name = "bash"
		}
		p := shell.New(b.config(name, "-c", script))
		slept := time.Duration(0)
		for range 10 {
			wait, ended := p.Run(b.host)
			require.False(t, ended, "%s: %s", script, p.Log())
			require.GreaterOrEqual(t, wait, time.Second, script)
			slept += wait
		}
		require.Greater(t, slept, 4*time.Minute, "it is run ever more rarely: %s", script)
		require.LessOrEqual(t, len(p.Log()), 64<<10)
		reports := p.Reports()
		require.Len(t, reports, 1, "it is said once")
		require.Contains(t, reports[0].Notes[0], "has taken 10000 steps without a sleep")
		p.Stop()
		_, ended := p.Run(b.host)
		require.True(t, ended)
		require.EqualValues(t, 137, p.ExitCode())
	}
}

func TestWhatGrowsWithoutEndComesToAnEnd(t *testing.T) {
	for script, want := range map[string]string{
		"x=aaaaaaaa; while true; do x=$x$x; done":                                                             "more than 1048576 bytes",
		"x=aaaaaaaa; while true; do x=\"$x$x\"; done":                                                         "more than 1048576 bytes",
		"i=0; x=$(seq 5000); while true; do i=$((i+1)); eval \"v$i=\\$x\"; done":                              "variables of more than 8388608 bytes",
		"x=$(while true; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done)": "a pipe or a substitution of more than",
		"while true; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done | wc":   "a pipe or a substitution of more than",
		"f() { f; }; f":   "more than 100 functions, subshells and scripts",
		"f() { (f); }; f": "more than 100 functions, subshells and scripts",
		"eval 'x=\"eval \\$x\"; eval $x'; x='eval $x'; eval $x":            "more than 100 functions, subshells and scripts",
		"echo 'sh s; sh s' > s; sh s":                                      "more than 100 functions, subshells and scripts",
		"printf '%9999s%9999s%9999s' a b c >/dev/null; printf '%99999s' a": "a width of at most 10000 is wanted",
		"x='x+1'; echo $((x))":                                             "more than 100 functions, subshells and scripts",
	} {
		b := newBox(t)
		p := b.run("sh", "-c", script)
		require.NotZero(t, p.ExitCode(), script)
		require.Contains(t, p.Message(), want, script)
	}
	b := newBox(t)
	p := b.run("bash", "-c", "echo {1..9}{1..9}{1..9}{1..9}")
	require.EqualValues(t, 2, p.ExitCode())
	require.Contains(t, p.Message(), "braces of more than 1000 words")
	p = b.run("sh", "-c", strings.Repeat("x", 70_000))
	require.Contains(t, p.Message(), "the script has 70000 bytes; at most 65536 are read")
}

func TestAFileDoesNotGrowBeyondWhatIsRead(t *testing.T) {
	b := newBox(t)
	require.NoError(t, b.node.WriteFile("/disk/large", make([]byte, 64<<20-3), 0o644))
	p := b.run("sh", "-c", "echo a >> large || echo full: $?; echo b >> large || echo full: $?")
	require.Contains(t, p.Log(), "file too large; the limit is 64 MiB")
	require.Equal(t, 1, strings.Count(p.Log(), "full: 1"), p.Log())
}

func TestNothingOutsideOfTheVolumesIsReached(t *testing.T) {
	b := newBox(t)
	require.NoError(t, b.node.WriteFile("/canary", []byte("alive"), 0o644))
	_, err := b.node.Symlink("/canary", "/disk/out")
	require.NoError(t, err)
	_, err = b.node.Symlink("/", "/disk/root")
	require.NoError(t, err)
	for _, script := range []string{
		"cat /canary", "cat ../canary", "cat /data/../canary", "echo x > /canary", "echo x >> out", "cat out", "cat root/canary", "rm -rf root/canary", "rm -rf /",
		"rm -rf /canary", "rm -rf ../*", "mv out/.. x", "cp out x", "ln -s ../canary l && cat l", "ln -s /canary l", "chmod 000 out", "chmod -R 000 root/",
		"find root/ -delete",
		"find / -name canary -delete", "cd root && rm -rf *", "cd .. && rm -rf *", "read x < out && echo $x", "mkdir /x", "touch ../x", "mkdir -p root/x",
		"echo x > root/x",
		". /canary", "sh /canary", "/canary", "cp -r / x", "mv / x", "ls root/", "stat -L out", "du root/", "xfs_quota -x -c 'project -s -p /etc 7' /", "tee /canary",
		"cp /dev/null out",
	} {
		p := b.run("sh", "-c", script)
		assert.NotContains(t, p.Log(), "alive", script)
		data, err := b.node.ReadFile("/canary")
		require.NoError(t, err, script)
		require.Equal(t, "alive", string(data), script)
	}
	_, err = b.node.Stat("/x")
	require.ErrorIs(t, err, fs.ErrNotExist)
	p := b.run("sh", "-c",
		"echo x > /script/x; mkdir /script/d; rm -rf /script; ls /; ls -a /script; cd / && pwd; test -w /script || echo ro; mkdir /new; touch /new")
	require.Contains(t, p.Log(), "read-only file system")
	require.Contains(t, p.Log(), "boot\ndata\ndev\n", "the volumes are there to be seen")
	require.Contains(t, p.Log(), "sbin\nscript\nsrv\n")
}

func TestWhatIsNotThereEndsWith127AndSaysSo(t *testing.T) {
	b := newBox(t)
	require.NoError(t, b.node.WriteFile("/scripts/run", []byte("#!/bin/sh\necho ran $0 $1\nxyz\n"), 0o755))
	require.NoError(t, b.node.WriteFile("/scripts/py", []byte("#!/usr/bin/python3\n"), 0o755))
	for _, tt := range []struct {
		argv []string
		code int32
		want string
	}{
		{[]string{"sh", "-c", "xyz"}, 127, "sh: xyz: not found"},
		{[]string{"/script/run", "now"}, 127, "ran /script/run now\n/script/run: xyz: not found"},
		{[]string{"/bin/sh", "/script/run", "a"}, 127, "ran /script/run a\n/script/run: xyz: not found"},
		{[]string{"sh", "-c", "xyz || exit 3"}, 3, "sh: xyz: not found"},
		{[]string{"sh", "/script/none"}, 2, "sh: cannot open /script/none: no such file or directory"},
		{[]string{"/script/py"}, 127, "/usr/bin/python3: not found"},
		{[]string{"sh"}, 0, ""},
		{[]string{"sh", "-z", "-c", "true"}, 2, "Illegal option -z"},
		{[]string{"sh", "-c"}, 2, "-c requires an argument"},
		{[]string{"sh", "-c", "if"}, 2, "line 1: syntax error"},
		{[]string{"env", "A=1", "sh", "-c", "echo $A"}, 0, "1"},
		{[]string{"busybox", "echo", "x"}, 0, "x"},
	} {
		p := b.run(tt.argv...)
		require.Equal(t, tt.code, p.ExitCode(), "%q: %s", tt.argv, p.Log())
		require.Contains(t, p.Message(), tt.want)
		require.True(t, shell.CanRun(b.config(tt.argv...)))
	}
	for _, argv := range [][]string{nil, {"postgres"}, {"/usr/bin/postgres"}, {"/script/none"}, {"--flag"}, {""}} {
		require.False(t, shell.CanRun(b.config(argv...)), "%q", argv)
	}
}

func TestWhatTheShellDoesNotHaveIsRefusedBeforeAnythingIsDone(t *testing.T) {
	for script, want := range map[string]string{
		"mkdir a\nb=(1 2)":                     "line 2: an array is not supported",
		"mkdir a; cat <(echo x)":               "line 1: process substitution",
		"mkdir a; echo ${a^^}":                 "${name^^}",
		"mkdir a; echo ${!a}":                  "${!name}",
		"mkdir a; select x in a b; do :; done": "select",
		"mkdir a; [[ a -nt b ]]":               "[[ -nt ]]",
		"mkdir a; ls |& cat":                   "|&",
		"mkdir a; echo x >&12":                 "syntax error",
		"mkdir a; coproc ls":                   "a coprocess",
		"mkdir a; echo x <> f":                 "the redirection <>",
		"mkdir a; case x in @(a|b)) ;; esac":   "an extended pattern",
	} {
		b := newBox(t)
		p := b.run("bash", "-c", script)
		if want == "syntax error" {
			continue
		}
		require.EqualValues(t, 2, p.ExitCode(), script)
		require.Contains(t, p.Message(), want, script)
		require.Empty(t, b.files(), script)
	}
}

func TestBashHasWhatScriptsUseOfIt(t *testing.T) {
	for script, want := range map[string]string{
		"[[ abc == a* && -n x ]] && echo yes":                                                            "yes\n",
		"[[ web-12 =~ -([0-9]+)$ ]] && echo yes":                                                         "yes\n",
		"[[ -d /data || -f none ]] && [[ ! -e none ]] && echo yes":                                       "yes\n",
		"x=a/b/c; echo ${x//\\//-} ${x/b/X} ${x:2} ${x:0:1} ${x: -1}":                                    "a-b-c a/X/c b/c a c\n",
		"for ((i=0; i<3; i++)); do echo $i; done":                                                        "0\n1\n2\n",
		"((1 < 2)) && echo yes; ((x = 5)); ((x++)); echo $x $((2**10))":                                  "yes\n6 1024\n",
		"export A=1 B='x y'; declare C=3; f() { local D=4; echo $D; }; f; sh -c 'echo $A $B'; echo $C$D": "4\n1 x y\n3\n",
		"for i in 1 2; do echo {a,b}$i {08..10} {5..1..2}; done":                                         "a1 b1 08 09 10 5 3 1\na2 b2 08 09 10 5 3 1\n",
		"echo {a,b}{1..3} x{z,}":                                                                         "a1 a2 a3 b1 b2 b3 xz x\n",
		"set -euo pipefail; false | true || echo failed":                                                 "failed\n",
		"cat <<< 'here'; echo a &> f; cat f; echo $'x\\ty'":                                              "here\na\nx\ty\n",
		"source lib 2>/dev/null; echo no":                                                                "",
		"function g { echo g$1; }; g 1":                                                                  "g1\n",
	} {
		b := newBox(t)
		p := b.run("bash", "-c", script)
		require.Equal(t, want, p.Log(), script)
	}
}

func TestTheNumbersOfRandomAreThoseOfTheSeed(t *testing.T) {
	b := newBox(t)
	log := func(seed uint64) string {
		cfg := b.config("sh", "-c", "for i in 1 2 3 4 5 6; do echo $RANDOM; done")
		cfg.Seed = seed
		p := shell.New(cfg)
		require.True(t, b.goOn(p, time.Minute))
		return p.Log()
	}
	require.Equal(t, log(1), log(1))
	require.NotEqual(t, log(1), log(2))
	for line := range strings.Lines(log(3)) {
		var n int
		_, err := fmt.Sscan(line, &n)
		require.NoError(t, err)
		require.True(t, n >= 0 && n < 32768, n)
	}
}

func TestAProgramSaysWhatItDidOnTheNode(t *testing.T) {
	b := newBox(t)
	p := b.run("sh", "-c", "mkdir -p a; echo x; touch a/f; test -e a; cat a/f; rm a/none; chmod 0700 a")
	var said []string
	for _, r := range p.Reports() {
		said = append(said, fmt.Sprint(strings.Join(r.Argv, " "), r.Paths, r.Err))
	}
	require.Equal(t, []string{
		"mkdir -p a[/disk/a] <nil>", "touch a/f[/disk/a/f] <nil>",
		"rm a/none[/disk/a/none] rm: cannot remove 'a/none': no such file or directory", "chmod 0700 a[/disk/a] <nil>",
	}, said)
	require.Empty(t, p.Reports())
	p = b.run("mkdir", "/data/b")
	require.Empty(t, p.Reports())
	require.Equal(t, []string{"/disk/b"}, p.Main().Paths)
	require.NoError(t, p.Main().Err)
	p = b.run("sh", "-c", "i=0; while [ $i -lt 1500 ]; do mkdir -p a; i=$((i+1)); done")
	reports := p.Reports()
	require.Contains(t, reports[len(reports)-1].Notes[0], "has run 1000 commands; further ones are not listed")
}

func TestTheWholeOfAPipeIsReadByWhatComesNext(t *testing.T) {
	b := newBox(t)
	p := shell.New(b.config("sh", "-c", "{ echo a; sleep 10; echo b; } | wc -l"))
	wait, _ := p.Run(b.host)
	require.Equal(t, 10*time.Second, wait)
	_, ended := p.Run(b.host)
	require.True(t, ended)
	require.Equal(t, "2\n", p.Log())
}

func TestTailPrintsWhatIsAddedToAFileLater(t *testing.T) {
	b := newBox(t)
	write := func(name, text string) { require.NoError(t, b.node.WriteFile("/disk/"+name, []byte(text), 0o644)) }
	write("a", "1\n2\n3\n")
	p := shell.New(b.config("tail", "-n", "2", "-F", "a", "b", "/dev/null"))
	defer p.Stop()
	require.False(t, b.goOn(p, 10*time.Second))
	log := "==> a <==\n2\n3\ntail: b: no such file or directory\n"
	require.Equal(t, log, strings.Replace(p.Log(), "\n==> /dev/null <==\n", "", 1))
	log = p.Log()
	prints := func(text string) {
		t.Helper()
		require.False(t, b.goOn(p, 2*time.Second))
		log += text
		require.Equal(t, log, p.Log())
	}
	write("a", "1\n2\n3\n4\n")
	prints("\n==> a <==\n4\n")
	write("a", "1\n2\n3\n4\n5")
	prints("5")
	write("b", "x\n")
	prints("tail: b has appeared; following new file\n\n==> b <==\nx\n")
	write("a", "6\n")
	prints("tail: a: file truncated\n\n==> a <==\n6\n")
	require.NoError(t, b.node.Remove("/disk/b"))
	prints("tail: b has become inaccessible: no such file or directory\n")
	write("b", "y\n")
	prints("tail: b has appeared; following new file\n\n==> b <==\ny\n")
	prints("")
}

// Both parts of a pipe run at the same time, as soon as the left one waits.
func TestAPipeIsReadWhileItIsWritten(t *testing.T) {
	beat := "i=0; while true; do i=$((i+1)); echo line $i; sleep 1; done"
	for script, test := range map[string]struct{ log, file string }{
		"(" + beat + ") | tee f":                                                  {"line 1\nline 2\nline 3\n", "line 1\nline 2\nline 3\n"},
		"(" + beat + ") | cat":                                                    {log: "line 1\nline 2\nline 3\n"},
		"(" + beat + ") | grep --line-buffered -v 2":                              {log: "line 1\nline 3\n"},
		"(" + beat + ") | grep --line-buffered line | cat | tee -a f":             {"line 1\nline 2\nline 3\n", "line 1\nline 2\nline 3\n"},
		"(" + beat + ") | while read a b; do echo $b; done":                       {log: "1\n2\n3\n"},
		"(" + beat + ") | while read a b; do sleep 1.5; echo $b; done":            {log: "1\n"},
		"(" + beat + ") & sleep 1.5 | wait; sleep 100":                            {log: "line 1\nline 2\nline 3\n"},
		"echo x > f; (" + beat + " >> f) & tail -f f | grep --line-buffered -v 2": {"x\nline 1\nline 3\n", "x\nline 1\nline 2\nline 3\n"},
		"(" + beat + ") | wc -l":                                                  {},
		"{ (" + beat + ") | cat & } ; wait":                                       {log: "line 1\nline 2\nline 3\n"},
	} {
		t.Run(script, func(t *testing.T) {
			b := newBox(t)
			p := shell.New(b.config("sh", "-c", script))
			defer p.Stop()
			require.False(t, b.goOn(p, 2500*time.Millisecond))
			require.Equal(t, test.log, p.Log())
			data, _ := b.node.ReadFile("/disk/f")
			require.Equal(t, test.file, string(data))
		})
	}
}

// What writes to a pipe that is not read any more ends by SIGPIPE, and a pipe ends when both parts have.
func TestAPipeEndsWithBothParts(t *testing.T) {
	beat := "i=0; while true; do i=$((i+1)); echo line $i; sleep 1; done"
	for script, test := range map[string]struct {
		log  string
		took time.Duration
		code int32
	}{
		beat + " | head -n 2; echo $?":                                                  {log: "line 1\nline 2\n0\n", took: 2 * time.Second},
		"set -o pipefail 2>/dev/null; " + beat + " | head -n 1; echo $?":                {log: "line 1\n141\n", took: time.Second},
		"{ sleep 5; echo a; } | head -n 0; echo $?":                                     {log: "0\n", took: 5 * time.Second},
		"{ echo a; sleep 5; echo b; } | { cat; sleep 3; echo c; }":                      {log: "a\nb\nc\n", took: 8 * time.Second},
		"{ echo a; sleep 5; } | { cat; exit 3; }":                                       {log: "a\n", took: 5 * time.Second, code: 3},
		"{ echo a; sleep 5; printf b; } | while read x; do echo got $x; done; echo $x.": {log: "got a\n.\n", took: 5 * time.Second},
		"{ echo a; sleep 1; echo b; } | grep -q b && echo found":                        {log: "found\n", took: time.Second},
		"{ echo a; sleep 1; echo b; } | grep -c .":                                      {log: "2\n", took: time.Second},
		"x=$({ echo a; sleep 1; echo b; } | cat); echo \"$x\"":                          {log: "a\nb\n", took: time.Second},
		"{ sleep 1; echo a; } | { sleep 1; echo b; } | { sleep 1; cat; }":               {log: "b\n", took: time.Second},
		"{ { " + beat + "; } & wait; } | head -n 2":                                     {log: "line 1\nline 2\n", took: 2 * time.Second},
	} {
		t.Run(script, func(t *testing.T) {
			b := newBox(t)
			began := b.host.Now()
			p := shell.New(b.config("bash", "-c", script))
			defer p.Stop()
			require.True(t, b.goOn(p, time.Minute), p.Log())
			require.Equal(t, test.log, p.Log())
			require.Equal(t, test.took, b.host.Now().Sub(began))
			require.Equal(t, test.code, p.ExitCode())
		})
	}
}

// As with the C library's streams, --line-buffered or not.
func TestGrepPrintsBlocksWhileItReadsAPipe(t *testing.T) {
	b := newBox(t)
	p := shell.New(b.config("sh", "-c", "while true; do echo 123456789 123456789 123456789 123456789 123456789; sleep 1; done | grep 1"))
	defer p.Stop()
	require.False(t, b.goOn(p, time.Minute))
	require.Empty(t, p.Log())
	require.Contains(t, fmt.Sprint(p.Reports()), "grep keeps what it prints until it has 4096 bytes or ends, since that goes to no terminal")
	require.False(t, b.goOn(p, 30*time.Second))
	require.Len(t, p.Log(), 4096)
}

func TestTailEndsIfThereIsNothingToFollow(t *testing.T) {
	for _, args := range [][]string{{"not-there"}, {"/"}, {"not-there", "neither"}} {
		b := newBox(t)
		p := shell.New(b.config(append([]string{"tail", "-f"}, args...)...))
		require.True(t, b.goOn(p, time.Second))
		require.EqualValues(t, 1, p.ExitCode())
		require.Contains(t, p.Log(), "tail: "+args[0]+": ")
	}
}

func TestWaitingForNothingWaitsForEver(t *testing.T) {
	for _, argv := range [][]string{{"sleep", "infinity"}, {"tail", "-f", "/dev/null"}, {"sh", "-c", "sleep inf; echo no"},
		{"sleep", "99999999999d"}} {
		b := newBox(t)
		p := shell.New(b.config(argv...))
		for range 3 {
			wait, ended := p.Run(b.host)
			require.False(t, ended, argv)
			require.Greater(t, wait, 365*24*time.Hour)
		}
		p.Stop()
	}
}

func TestLetEvaluatesExpressions(t *testing.T) {
	for _, name := range []string{"sh", "bash"} {
		b := newBox(t)
		require.Equal(t, "3\n4 6 0\n1\nno\n",
			b.run(name, "-c", "i=0; while [ $i -lt 3 ]; do let i+=1; done; echo $i\nlet i=i+1 j=i+2; echo $i $j $?; let i-=4; echo $?; let 0 || echo no").Log(), name)
		p := b.run(name, "-c", "set -e; let i=1/0; echo on")
		require.Equal(t, name+": let: arithmetic expression: division by zero\n", p.Log())
		require.Equal(t, int32(1), p.ExitCode())
	}
	b := newBox(t)
	require.Equal(t, "sh: let: an expression is missing\n1\n", b.run("sh", "-c", "let; echo $?").Log())
}
