// Package stacks returns the stacks of goroutines that run a user's code: of one that panics, and of one that does not
// return.
package stacks

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

// A Mark identifies one call of Marked. It costs nothing until the stack is asked for. Being an array, it is passed in memory and not in a
// register, so that a stack trace shows its value.
type Mark [2]uint64

var marks atomic.Uint64

// NewMark returns a mark that no other call has.
func NewMark() Mark { return Mark{marks.Add(1)} }

// Marked calls f. While f runs, the mark finds its goroutine.
//
//go:noinline
func Marked(_ Mark, f func()) { f() }

// marked begins the line of a call of Marked in a stack trace.
var marked = reflect.TypeFor[Mark]().PkgPath() + ".Marked("

// line returns the beginning of the line of the call in a stack trace.
func (m Mark) line() []byte { return fmt.Appendf(nil, "\n%s{%#x,", marked, m[0]) }

// most is the number of bytes of all stacks that are looked at.
const most = 16 << 20

// IsHere reports whether the caller runs in the call of the mark, on its goroutine.
func (m Mark) IsHere() bool { return bytes.Contains(traces(false), m.line()) }

// Stack returns the stack of the call of the mark, "" if it has ended. All goroutines stop for that moment.
func (m Mark) Stack() string {
	line := m.line()
	for part := range bytes.SplitSeq(traces(true), []byte("\n\n")) {
		if bytes.Contains(part, line) {
			return ours(string(part))
		}
	}
	return ""
}

// traces returns the stack of the caller or those of all goroutines.
func traces(all bool) []byte {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, all)
	for n == len(buf) && n < most {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, all)
	}
	return buf[:n]
}

// OfPanic returns the stack of the code that panicked, for a deferred function that has recovered.
func OfPanic() string {
	stack := string(debug.Stack())
	if i := strings.LastIndex(stack, "\npanic("); i >= 0 {
		_, stack, _ = strings.Cut(stack[i+1:], "\n") // "panic(...)"
		_, stack, _ = strings.Cut(stack, "\n")       // its file
	}
	return ours(stack)
}

// ours leaves out the lines from which the library called the user's code, the goroutine's title, and addresses that
// differ between two runs.
func ours(stack string) string {
	var lines []string
	for line := range strings.Lines(stack) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, marked) || strings.Contains(line, "storagesim/csi/call.(*Listener).guard") {
			break
		}
		if strings.HasPrefix(line, "goroutine ") {
			continue
		}
		if i := strings.LastIndex(line, " +0x"); i >= 0 && strings.HasPrefix(line, "\t") {
			line = line[:i]
		} else if i := strings.LastIndex(line, "("); i > 0 && !strings.HasPrefix(line, "\t") {
			line = line[:i]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
