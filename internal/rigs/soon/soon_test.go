package soon_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/rigs/soon"
)

// ending is a test whose binary is about to be ended.
type ending struct{ *testing.T }

func (ending) Deadline() (time.Time, bool) { return time.Now(), true }

func TestWaitingEndsWithTheConditionOrShortlyBeforeTheTestBinary(t *testing.T) {
	looks := 0
	third := func() bool { looks++; return looks == 3 }
	require.True(t, soon.Is(t, third))
	require.Equal(t, 3, looks)
	require.False(t, soon.Is(ending{t}, func() bool { return false }))
	require.True(t, soon.Is(ending{t}, func() bool { return true }), "what holds already is seen in any case")
}
