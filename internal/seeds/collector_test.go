package seeds

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// percent returns GOGC.
func percent() int {
	is := debug.SetGCPercent(usualPercent)
	debug.SetGCPercent(is)
	return is
}

func TestTheGarbageCollectorRunsLessOftenWhileSeedsAreTriedAndAsBeforeAfterwards(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	first := collectLess()
	second := collectLess()
	require.Equal(t, seedsPercent, percent())
	first()
	require.Equal(t, seedsPercent, percent(), "somebody else is still trying seeds")
	second()
	require.Equal(t, usualPercent, percent())
}

// Many searches keep much between them, so that less garbage waits beside it.
func TestTheGarbageCollectorRunsMoreOftenWhereManySearchesGoOn(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	var ends []func()
	for users, want := range []int{400, 400, 266, 200, 160, 133, 114, 100, 100, 100} {
		ends = append(ends, collectLess())
		require.Equal(t, want, percent(), "%d searches", users+1)
	}
	for _, end := range ends {
		end()
	}
	require.Equal(t, usualPercent, percent())
}

func TestAProgramKeepsTheGOGCThatItHasChosen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	done := collectLess()
	require.Equal(t, 50, percent())
	done()
	require.Equal(t, 50, percent())
}
