package errno

import (
	"errors"
	"io/fs"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// On Linux the table says what the system says, so it changes nothing there.
func TestTheWordsAreLinuxs(t *testing.T) {
	for number, text := range words {
		got := Linux(number)
		require.EqualError(t, got, text)
		require.ErrorIs(t, got, number)
		if runtime.GOOS == "linux" {
			require.Equal(t, number, got)
		}
	}
	require.ErrorIs(t, worded{syscall.ENOENT, "elsewhere"}, fs.ErrNotExist)
	other := errors.New("other")
	require.Equal(t, other, Linux(other))
	require.NoError(t, Linux(nil))
}
