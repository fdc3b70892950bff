package bounded_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/bounded"
)

func TestALongTextIsCutBetweenCharacters(t *testing.T) {
	require.Equal(t, "abc", bounded.Text("abc", 3))
	require.Equal(t, "ab... 1 bytes more", bounded.Text("abc", 2))
	require.Equal(t, "a... 3 bytes more", bounded.Text("a€", 3))
	require.Equal(t, "... 3 bytes more", bounded.Text("€", 1))
}

func TestABufferCountsWhatItDoesNotKeep(t *testing.T) {
	b := &bounded.Buffer{Most: 4}
	for range 3 {
		n, err := fmt.Fprint(b, "abc")
		require.NoError(t, err)
		require.Equal(t, 3, n)
	}
	require.Equal(t, "abca... 5 bytes more", b.String())
}
