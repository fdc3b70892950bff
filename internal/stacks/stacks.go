// Package stacks returns the stacks of goroutines that run a user's code: of one that panics, and of one that does not
// return.
package stacks

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"strings"
)

// Goroutine identifies a goroutine.
type Goroutine string

// Current returns the goroutine of the caller.
func Current() Goroutine {
	var buf [64]byte
	words := strings.Fields(string(buf[:runtime.Stack(buf[:], false)])) // "goroutine 17 [running]:"
	if len(words) < 2 {
		return ""
	}
	return Goroutine(words[1])
}

// most is the number of bytes of all stacks that are looked at.
const most = 16 << 20

// Of returns the stack of a goroutine, "" if it has ended. All goroutines stop for that moment.
func Of(g Goroutine) string {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < most {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	for part := range bytes.SplitSeq(buf[:n], []byte("\n\n")) {
		if bytes.HasPrefix(part, []byte("goroutine "+string(g)+" [")) {
			return ours(string(part))
		}
	}
	return ""
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
		if strings.Contains(line, "storagesim/engine.(*env).Foreign") || strings.Contains(line, "storagesim/csi/call.(*Listener).guard") {
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
