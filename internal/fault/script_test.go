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

func TestAFaultWhoseMomentIsStillToComeHasItsTurnBeforeThoseAfterIt(t *testing.T) {
	var s fault.Script[string]
	s.Add("before 1", 0, 1)
	s.Add("after 2", 0, 1)
	s.Add("before 3", 0, 1)
	s.Add("after skips", 1, 1)
	s.Add("before skips", 2, 1)
	at := func(moment string) string {
		f, _ := s.StrikeNow(func(f string) bool { return moment == "before" || strings.HasPrefix(f, moment) },
			func(f string) bool { return strings.HasPrefix(f, moment) })
		return f
	}
	require.Equal(t, "before 1", at("before"))
	require.Empty(t, at("before"), "the turn is that of the one after the call")
	require.Equal(t, "after 2", at("after"))
	require.Equal(t, "before 3", at("before"))
	require.Empty(t, at("before"), "it lets this one pass, as it did the one that was struck after")
	require.Empty(t, at("after"), "it lets one pass")
	require.Empty(t, at("before"), "the turn is that of the one that strikes after")
	require.Equal(t, "after skips", at("after"))
	require.Equal(t, "before skips", at("before"))
}
