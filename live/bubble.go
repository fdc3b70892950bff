package live

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Bubble runs f in a bubble of testing/synctest, as synctest.Test does: time jumps
// when all goroutines wait. synctest panics when f returns and goroutines of the bubble
// are still there. Some libraries cannot stop all of theirs; leftBehind names those
// that are known and harmless, by a part of a function's full name in their stack,
// for example "k8s.io/client-go/tools/record.". Any other goroutine that is left
// fails the test, which prints it.
//
// Goroutines left behind never run again: their bubble's time has ended.
//
// The first call changes a global of client-go for good: utilruntime.ErrorHandlers keep
// the one that logs, and lose the others. The one that limits the rate of errors
// sleeps in the goroutine that reports an error. That goroutine would still exist if the bubble
// ended meanwhile, and the limit would compare the times of different bubbles.
func Bubble(t *testing.T, f func(t *testing.T), leftBehind ...string) {
	t.Helper()
	tame()
	var bubble string
	defer func() {
		thrown := recover()
		if thrown == nil {
			return
		}
		if err, ok := thrown.(error); !ok || !strings.HasPrefix(err.Error(), "deadlock: main bubble goroutine has exited") {
			panic(thrown)
		}
		for _, stack := range goroutines(bubble) {
			if !containsAny(stack, leftBehind) {
				t.Errorf("a goroutine is left behind:\n%s", stack)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		bubble = bubbleOf(goroutines("")[0])
		f(t)
	})
}

var tame = sync.OnceFunc(func() {
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] // that which logs
})

// goroutines returns the stacks of all goroutines in that bubble, the caller's first;
// of all at all for "".
func goroutines(bubble string) []string {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	var found []string
	for stack := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		if bubble == "" || bubbleOf(stack) == bubble {
			found = append(found, stack)
		}
	}
	return found
}

// bubbleOf reads "7" off "goroutine 12 [chan receive (durable), synctest bubble 7]:".
func bubbleOf(stack string) string {
	header, _, _ := strings.Cut(stack, "\n")
	_, after, _ := strings.Cut(header, "synctest bubble ")
	id, _, _ := strings.Cut(after, "]")
	id, _, _ = strings.Cut(id, ",")
	return id
}

func containsAny(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// ClientGo returns the goroutines, for Bubble, that programs of client-go and controller-runtime
// leave behind: those of event broadcasters, which these programs never shut down.
func ClientGo() []string {
	return []string{
		"k8s.io/client-go/tools/record.",
		"k8s.io/client-go/tools/events.",
		"k8s.io/apimachinery/pkg/watch.(*Broadcaster)",
	}
}
