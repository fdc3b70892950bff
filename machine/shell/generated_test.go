package shell_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writer makes scripts of all constructs, in which every loop ends.
type writer struct {
	*rand.Rand
	depth, functions int
}

func (w *writer) one(of ...string) string { return of[w.IntN(len(of))] }

func (w *writer) name() string { return w.one("a", "b", "c") }
func (w *writer) file() string { return w.one("f", "g", "d/f", "d/g", "d", "e", "'x y'", "d/.h") }

func (w *writer) value() string {
	return w.one(
		w.name(), "12", "0", `"two words"`, "'q  q'", "$"+w.name(), `"$`+w.name()+`"`, `"$@"`, "$*", "$#", "$?", "*", "d/*", "[df]*", `"*"`, `\*`,
		"${"+w.name()+":-none}", "${"+w.name()+"-x y}", "${"+w.name()+":+set}", "${#"+w.name()+"}", "${"+w.name()+"%"+w.pattern()+"}",
		"${"+w.name()+"##"+w.pattern()+"}",
		`"${`+w.name()+"#"+w.pattern()+`}"`, "$(("+w.sum()+"))", "$(echo "+w.name()+" '  z')", `"$(printf 'l1\nl2\n\n')"`, "$1", "${2}x", `"$2"`, "x$"+w.name()+"y",
		"${3+has}", "a=b", "--",
	)
}

func (w *writer) pattern() string { return w.one("*", "?", "[a-m]*", "*[0-9]", "1", "*w", "t*", "'*'") }

func (w *writer) sum() string {
	n := func() string { return w.one("1", "2", "3", "7", "n", "$#", "(n+1)") }
	return n() + w.one("+", "-", "*", "<", "==", "&&", "||", "%2+", "<<", "|") + n()
}

func (w *writer) simple() string {
	switch w.IntN(16) {
	case 0, 1, 2:
		return "echo " + w.value() + " " + w.value()
	case 3, 4:
		return w.name() + "=" + w.one(w.value(), `"$`+w.name()+`$`+w.name()+`"`, "")
	case 5:
		return "printf '[%s]' " + w.value() + " " + w.value() + "; echo"
	case 6:
		return w.one("mkdir ", "mkdir -p ", "touch ", "rm -f ", "rm -r ", "rmdir ", "cat ", "ls ", "ls -A ", "rm -rf ") + w.file() + " 2>/dev/null"
	case 7:
		return "echo " + w.value() + w.one(" > ", " >> ") + w.file()
	case 8:
		return w.one("cp -r "+w.one("f", "g", "d")+" e", w.one("cp ", "mv ")+w.file()+" "+w.file()) + " 2>/dev/null"
	case 9:
		return "test " + w.one("-e ", "-f ", "-d ", "-s ", "-n ", "-z ") + w.file()
	case 10:
		return "[ " + w.one(`"$a" = "$b"`, `"$a" != x`, "$# -gt 1", "! -e f", "1 -lt 2 -a 2 -lt $#", `"$b"`, `! "$c"`) + " ]"
	case 11:
		return w.one("true", "false", "(exit 3)", "! true", "set -- $a $b", "shift", "set -- one two three", "unset a", ": ${b:=assigned}")
	case 12:
		return w.one("while read x y; do echo \"<$x|$y>\"; done < ", "wc -l < ", "head -n 1 < ", "grep -c a ") + w.one("f", "g", "d/f") + " 2>/dev/null"
	case 13:
		return "find . " + w.one("-type f", "-type d", "-name 'f*'", "-mindepth 1 -maxdepth 1", "! -name g") + " | sort"
	case 14:
		return "echo " + w.value() + " | " + w.one("cat", "{ read x y; echo \"$y-$x\"; }", "wc -w", "grep a", "sort -r",
			"sed s/[a-m]/X/g", "cut -c2-", "tr a-m n-z", "uniq -c", "tee "+w.one("f", "g"))
	}
	return "cat <<END\nv $" + w.name() + " $((" + w.sum() + ")) \\$x ${" + w.name() + ":-none}\nEND\n"
}

// statement returns one of any kind.
func (w *writer) statement() string {
	if w.depth > 2 {
		return w.simple()
	}
	w.depth++
	defer func() { w.depth-- }()
	switch w.IntN(14) {
	case 0:
		return "if " + w.simple() + "\nthen\n" + w.list() + w.one("", "else\n"+w.list(), "elif "+w.simple()+"\nthen\n"+w.list()) + "fi"
	case 1:
		return "for i in " + w.value() + " " + w.value() + "\ndo\n" + w.list() + w.leave() + "done"
	case 2:
		v := fmt.Sprintf("n%d", w.depth)
		return v + "=0; while [ $" + v + " -lt 3 ]\ndo " + v + "=$((" + v + "+1))\n" + w.list() + w.leave() + "done"
	case 3:
		return "case " + w.value() + " in\n" + w.pattern() + "|" + w.name() + ") " + w.list() + ";;\n" + w.pattern() + ")\n" + w.list() + ";;\nesac"
	case 4:
		return "(\n" + w.list() + ")"
	case 5:
		return "{\n" + w.list() + "} " + w.one("", "> log", "2>/dev/null", "| cat")
	case 6:
		w.functions++ // each is called once, so that it ends
		name := fmt.Sprintf("f%d", w.functions)
		return name + "() {\n" + w.list() + w.one("return 2\n", "") + "}\n" + name + " " + w.value() + " 2>/dev/null"
	case 7:
		return w.name() + "=$(\n" + w.list() + ")"
	}
	return w.simple()
}

// leave returns a way out of a loop that may be taken.
func (w *writer) leave() string {
	return w.one("", "", "[ $# -gt 2 ] && break\n", "false && continue\n", "[ \"$a\" = a ] && continue\n")
}

func (w *writer) list() string {
	var b strings.Builder
	for range 1 + w.IntN(2) {
		s := w.statement()
		if !strings.Contains(s, "<<END") && w.IntN(3) == 0 {
			s += w.one(" && ", " || ") + w.statement()
		}
		b.WriteString(s + "\n")
	}
	return b.String()
}

func generated(seed uint64) string {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 7))}
	head := w.one("", "", "set -e\n", "set -u\n", "set -f\n")
	return head + "a=a1; b='two words'; n=4; mkdir d; echo x y > f\n" + w.list() + w.list() + "echo \"end $? [$a] [$b] [$c] $#\""
}

func TestAnyScriptDoesWhatItDoesInDash(t *testing.T) {
	needDash(t)
	n := uint64(300)
	if testing.Short() {
		n = 60
	}
	for seed := range n {
		script := generated(seed)
		want := inDash(t, script)
		got, p := inOurs(t, script)
		require.Equal(t, want, got, "seed %d\n%s\nprinted: %s", seed, script, p.Log())
	}
}
