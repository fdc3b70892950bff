package explore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Workers play runs beside the one that fails: how many depends on the machine, and a report must not.
func TestRunsBehindTheLastOneDoNotCount(t *testing.T) {
	c := newCovered()
	see := func(run int, order uint64, states ...uint64) {
		s := &seen{states: map[uint64]bool{}, order: order}
		for _, state := range states {
			s.states[state] = true
		}
		c.add(run, Plan{}, &recorded{seen: s}, true)
	}
	see(3, 30, 1, 5, 6)
	see(1, 10, 1, 2)
	see(2, 10, 2, 3)
	require.Equal(t, Coverage{States: 3, Orders: 1, NewState: 2, NewOrder: 1}, c.coverage(2))
	require.Equal(t, Coverage{States: 5, Orders: 2, NewState: 3, NewOrder: 3}, c.coverage(3))
}
