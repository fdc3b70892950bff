package shell_test

import (
	"archive/tar"
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

// runHostile runs a script that works or holds as much as it can, until it prints want.
// It must pause soon after as many steps as it may take, and the heap must stay small.
func runHostile(t *testing.T, b *box, want string, argv ...string) *shell.Program {
	t.Helper()
	p := shell.New(b.config(argv...))
	t.Cleanup(p.Stop)
	for run := range 60 {
		wait, ended := p.Run(b.host)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		assert.Less(t, m.HeapAlloc, uint64(1<<30))
		if ended || want == "" && run == 1 {
			break
		}
		b.host.now = b.host.now.Add(wait)
	}
	assert.Less(t, p.MostSteps(), 2*shell.MaxSteps)
	assert.Contains(t, p.Log(), want)
	return p
}

// doubled makes x text again and again until it has 2^n times its length.
func doubled(text string, n string) string {
	return "x='" + text + "'; i=0; while [ $i -lt " + n + " ]; do x=\"$x$x\"; i=$((i+1)); done; "
}

func TestAHostileScriptNeitherHoldsUpTheSimulationNorTakesItsMemory(t *testing.T) {
	mib := doubled("a", "20")
	for name, script := range map[string]struct{ text, want string }{
		"arguments":              {`set -- $(seq 5000); while :; do set -- "$@" "$@"; done`, "a word that becomes more than 65536 words"},
		"large arguments":        {mib + `set -- "$x"; while :; do set -- "$@" "$@"; done`, "bytes"},
		"arguments of functions": {mib + `f() { f "$@" "$x"; }; f`, "variables of more than 8388608 bytes"},
		"local variables":        {doubled("a", "19") + `f() { local x$1="$x"; f $(($1+1)); }; f 1`, "variables of more than 8388608 bytes"},
		"variables of subshells": {mib + `y=$x z=$x v=$x w=$x u=$x t=$x; f() { (f); }; f`, "values, scripts and input of more than"},
		"background commands":    {mib + `while :; do x=$x sleep 1 & done`, "more than"},
		"one pattern":            {doubled("[", "20") + `case "$x" in $x) echo yes;; esac`, ""},
		"one pattern of classes": {doubled("[[:", "18") + `case "$x" in $x) echo yes;; esac`, ""},
		"a pattern in a value":   {mib + `echo ${#x} ${x##b} ${x%%b} ${x##*b} ${x%%b*} ${x%*a*a*a*b*}`, ""},
		"a large value":          {mib + `while :; do : "$x" $x; done`, ""},
		"a large line":           {mib + `echo "$x" > f; while :; do read y < f; done`, ""},
		"an expression":          {doubled("a", "19") + `echo "$x" | grep -E '(a?){900}b'`, ""},
		"parts of an expression": {doubled("a", "19") + `echo "$x" | grep -o 'a.*b'`, ""},
		"a large expression":     {`echo a | grep -E '((a{100}){100}){100}'`, "grep: "},
		"file names":             {`mkdir a b c d e f g h i j; echo */../*/../*/../*/../*/../*/../*/../*/../*`, "a pattern that matches names of more than"},
		"functions":              {doubled("echo a; ", "12") + `while :; do i=$((i+1)); eval "f$i() { $x }"; done`, "values, scripts and input of more than"},
		"nested blocks": {"f() { " + strings.Repeat("{ ", 900) + "f; " + strings.Repeat("};", 900) + "}; f",
			"more than 100 functions, subshells and scripts"},
		"more nested blocks":      {strings.Repeat("{ ", 5000) + ":; " + strings.Repeat("};", 5000), "more than 2000 commands and words in each other"},
		"parentheses":             {strings.Repeat("(", 60_000), "more than 1000 parentheses in each other"},
		"an expression's operand": {doubled("-+", "15") + "echo $((x))", "Illegal number"},
		"names for a command":     {doubled("{}", "19") + `touch a b c; find . -exec echo "$x" "$x" "$x" "$x" \;`, "find: -exec: a command of more than"},
		"formats":                 {doubled("*", "19") + `printf "%${x}d" 1`, "invalid directive"},
		"numbers": {`seq 9223372036854775806 9223372036854775807; seq -9223372036854775807 -1 -9223372036854775808`,
			"806\n9223372036854775807\n-9223372036854775807\n-9223372036854775808\n"},
		"many numbers": {`seq 1 9223372036854775807 > /dev/null`, ""},
		"reports":      {mib + `while :; do mkdir "$x"; done`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := runHostile(t, newBoxOn(t, disk.InMemory(time.Now)), script.want, "sh", "-c", script.text)
			size := 0
			for _, r := range p.Reports() {
				for _, word := range append(append(r.Argv, r.Paths...), r.Notes...) {
					size += len(word)
				}
			}
			assert.Less(t, size, 20<<20)
		})
	}
	for name, script := range map[string]struct{ text, want string }{
		"a replacement":      {mib + `y=${x//b/c}; echo ${#y}`, ""},
		"a long replacement": {mib + `y=${x//a/$x}`, "a value of more than"},
		"a slow replacement": {mib + `y=${x//a*b/c}`, ""},
		"open braces":        {"echo " + strings.Repeat("{", 60_000), "a word with more than 100 braces"},
		"braces of one word": {"echo " + strings.Repeat("{1..1}", 90) + "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "1"},
		"nested parentheses": {"echo $((" + strings.Repeat("(", 30_000) + "1" + strings.Repeat(")", 30_000) + "))", "more than 1000 parentheses"},
		"a pattern of [[ ]]": {doubled("[", "20") + `[[ $x == $x ]]`, ""},
		"a large comparison": {doubled("a", "19") + `[[ $x =~ (a?){900}b ]]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			runHostile(t, newBoxOn(t, disk.InMemory(time.Now)), script.want, "bash", "-c", script.text)
		})
	}
}

func TestFilesThatAScriptOpensAreBounded(t *testing.T) {
	b := newBox(t)
	require.NoError(t, b.node.WriteFile("/disk/large", make([]byte, 60<<20), 0o644))
	p := runHostile(t, b, strings.Repeat("62914560\n", 3), "sh", "-c",
		"wc -c < large; wc -c < large; exec 3<large; exec 3<large; exec 3<large; exec 3<large; exec 3<large; exec 3<&-; wc -c < large")
	require.Equal(t, strings.Repeat("62914560\n", 3), p.Log())
	runHostile(t, b, "values, scripts and input of more than 268435456 bytes", "sh", "-c", strings.Repeat("{ ", 10)+":; "+strings.Repeat("} < large; ", 10))
	runHostile(t, b, "an archive of more than 67108864 bytes", "sh", "-c", "tar cf - large large large > /dev/null")
	runHostile(t, b, "sort: lines of more than 8388608 bytes", "sh", "-c", "sort large")
}

// sparseArchive returns an archive of a few kilobytes, whose one member claims to have 64 GiB.
func sparseArchive(t *testing.T) []byte {
	t.Helper()
	const size = 64 << 30
	block := make([]byte, 512)
	copy(block[0:], "sparse")
	copy(block[100:], "0000644\x000000000\x000000000\x00")
	copy(block[124:], "00000000000\x0000000000000\x00        S")
	copy(block[257:], "ustar  \x00")
	copy(block[386:], "00000000000\x0000000000000\x00") // no data
	block[483] = 0x80                                   // the real size, in binary
	for i, shift := 494, 0; i > 486; i, shift = i-1, shift+8 {
		block[i] = byte(uint64(size) >> shift)
	}
	sum := 0
	for _, c := range block {
		sum += int(c)
	}
	copy(block[148:], []byte{byte('0' + sum>>15&7), byte('0' + sum>>12&7), byte('0' + sum>>9&7), byte('0' + sum>>6&7), byte('0' + sum>>3&7),
		byte('0' + sum&7), 0, ' '})
	archive := append(block, make([]byte, 4608)...)
	header, err := tar.NewReader(bytes.NewReader(archive)).Next()
	require.NoError(t, err)
	require.EqualValues(t, size, header.Size)
	return archive
}

func TestASparseArchiveIsRefused(t *testing.T) {
	b := newBox(t)
	require.NoError(t, b.node.WriteFile("/disk/a.tar", sparseArchive(t), 0o644))
	p := runHostile(t, b, "sparse files are not supported", "tar", "-xf", "a.tar")
	require.EqualValues(t, 2, p.ExitCode())
	require.Equal(t, []string{"a.tar"}, b.files())
}
