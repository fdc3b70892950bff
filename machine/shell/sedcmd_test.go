package shell_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/shell"
)

// What sed, tr and cut of a distribution may know and these do not is refused by its name, before any line is read.
func TestWhatATextProgramDoesNotKnowIsRefused(t *testing.T) {
	for script, message := range map[string]string{
		"sed N":                      "this simulation does not know the command 'N'; it knows =acdipqsy{}",
		"sed ':a;ba'":                "the command ':'",
		"sed '1~2d'":                 "addresses with '~'",
		"sed '0,/a/d'":               "the address 0",
		"sed s/a/b/w":                "the flag 'w' of 's'",
		"sed s/a/b/e":                "the flag 'e' of 's'",
		`sed 's/.*/\U&/'`:            `'\U' in a replacement`,
		`sed 's/\(a\)\1/x/'`:         `the back-reference '\1'`,
		`sed 's/\<a/x/'`:             `'\<' in an expression`,
		`sed 's/\d065/x/'`:           `'\d' in an expression`,
		`sed -E 's/a*?/x/'`:          "'?' behind another repetition",
		`sed -E 's/(?i)a/x/'`:        "'(?'",
		`sed 's/[[=a=]]/x/'`:         "'[[=a=]'",
		`sed -E 's|a\|b|x|'`:         "with this delimiter",
		"sed -z p":                   `option "z"`,
		"sed --debug p":              `option "-" of "--debug"`,
		"sed -i.* p f":               "the suffix '.*'",
		"tr 'a[b*3]' x":              "in a set",
		"tr a '[:digit:]'":           "[:digit:] in SET2",
		"cut --complement -f1":       `option "-" of "--complement"`,
		"uniq f g":                   "no file for the output",
		"uniq -w3":                   `option "w"`,
		"mktemp --suffix=x aXXX":     `option "-"`,
		"mktemp -t /tmp/aXXX":        "invalid template",
		"sed 's/a/b/' f; sed s/x//y": "the flag 'y'",
	} {
		b := newBox(t)
		require.NoError(t, b.node.WriteFile("/disk/f", nil, 0o644))
		p := b.run("sh", "-c", script)
		require.EqualValues(t, 1, p.ExitCode(), "%s: %s", script, p.Log())
		require.Contains(t, p.Log(), message, script)
	}
}

// They take what comes through a pipe as it comes.
func TestTextProgramsOfAPipePrintAsTheyGo(t *testing.T) {
	for _, filter := range []string{"sed -u s/a/b/", "cut -c1", "tr a b", "uniq"} {
		b := newBox(t)
		p := shell.New(b.config("sh", "-c", "while true; do echo a; sleep 100; echo c; done | "+filter))
		t.Cleanup(p.Stop)
		require.False(t, b.goOn(p, 150*time.Second), filter)
		require.NotEmpty(t, p.Log(), filter)
	}
}

// No script of sed holds up the simulation.
func TestAHostileScriptOfSedPausesOrEnds(t *testing.T) {
	for _, script := range []string{
		"sed '" + strings.Repeat("{", 200) + "' f",
		"sed '" + strings.Repeat("s/a*/&&a/g;", 60) + "' f",
		"sed 's/" + strings.Repeat("(a", 3000) + strings.Repeat(")", 3000) + "/x/' -E f",
		"sed '" + strings.Repeat("p;", 30_000) + "' f",
		"sed -i '" + strings.Repeat("p;", 30_000) + "' f",
		"sed -E 's/(a|a)*b/x/g;s/(.*)(.*)(.*)(.*)c/x/g' f",
		"cut -f" + strings.Repeat("1,", 5000) + "2 f",
	} {
		b := newBox(t)
		require.NoError(t, b.node.WriteFile("/disk/f", []byte(strings.Repeat("a", 20_000)+"\n"), 0o644))
		p := shell.New(b.config("sh", "-c", script))
		t.Cleanup(p.Stop)
		p.Run(b.host)
		require.Less(t, p.MostSteps(), 2*shell.MaxSteps, "%.40s", script)
	}
}

// The program's seed determines the names that mktemp takes.
func TestTemporaryNamesAreTheSameInEachRun(t *testing.T) {
	script := "mktemp; mktemp -d; mktemp a.XXX; TMPDIR=/data mktemp"
	first := newBox(t).run("sh", "-c", script)
	require.Zero(t, first.ExitCode(), first.Log())
	require.Regexp(t, `^/tmp/tmp\.\w{10}\n/tmp/tmp\.\w{10}\na\.\w{3}\n/data/tmp\.\w{10}\n$`, first.Log())
	require.Equal(t, first.Log(), newBox(t).run("sh", "-c", script).Log())
}
