package stacks_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/stacks"
)

// Two goroutines are in the same function: each is found by its own mark, as long as it runs, and knows only that one.
func TestAMarkFindsItsGoroutineWhileItsCallRuns(t *testing.T) {
	t.Parallel()
	one, two := stacks.NewMark(), stacks.NewMark()
	begun, end, ended := make(chan bool, 2), make(chan bool), make(chan bool, 2)
	for _, m := range []stacks.Mark{one, two} {
		go func() {
			stacks.Marked(m, func() {
				begun <- one.IsHere() == (m == one) && two.IsHere() == (m == two)
				if m == one {
					waitsHere(end)
				}
			})
			ended <- true
		}()
	}
	require.True(t, <-begun)
	require.True(t, <-begun)
	<-ended // two
	require.Empty(t, two.Stack())
	require.False(t, one.IsHere())
	stack := one.Stack()
	require.Contains(t, stack, "waitsHere\n\t")
	require.NotContains(t, stack, "Marked")
	require.NotContains(t, stack, "0x", "no addresses: %s", stack)
	require.Len(t, strings.Split(stack, "\n"), 4, "this function and that which calls it: %s", stack)
	close(end)
	<-ended
	require.Empty(t, one.Stack())
}

//go:noinline
func waitsHere(end <-chan bool) { <-end }
