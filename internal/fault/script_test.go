package fault_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/fault"
)

// play lets things happen one after the other. It returns a word for each fault that strikes,
// and a dot for no fault.
func play(s *fault.Script[string], things ...string) string {
	var said []string
	for _, thing := range things {
		f, struck := s.Strike(func(f string) bool { return strings.HasPrefix(thing, f) })
		if !struck {
			f = "."
		}
		said = append(said, f)
	}
	return strings.Join(said, " ")
}

func TestAFaultLetsSomePassAndStrikesSomeAndIsGone(t *testing.T) {
	var s fault.Script[string]
	require.False(t, s.Any())
	require.Equal(t, ".", play(&s, "a"))
	s.Add("a", 0, 0)
	require.True(t, s.Any())
	require.Equal(t, ". a .", play(&s, "b", "a", "a"), "once unless it says more")
	require.False(t, s.Any())
	s.Add("a", 1, 2)
	require.Equal(t, ". . a a .", play(&s, "a", "b", "a", "a", "a"), "what it does not match does not count")
	s.Add("a", 0, -1)
	require.Equal(t, "a a a a", play(&s, "a", "a", "a", "a"))
	s.Clear()
	require.Equal(t, ".", play(&s, "a"))
}

func TestOfSeveralFaultsTheFirstStrikesThatHasNothingToLetPass(t *testing.T) {
	var s fault.Script[string]
	s.Add("ab", 1, 1)
	s.Add("a", 1, 2)
	s.Add("", 0, -1)
	require.Equal(t, " ab a a ", play(&s, "ab", "ab", "a", "abc", "ab"), "one that lets something pass counts it, also if another strikes")
}
