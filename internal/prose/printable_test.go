package prose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/prose"
)

func TestControlCharactersBecomeEscapes(t *testing.T) {
	require.Equal(t, "plain\n\ttext, wörter", prose.Printable("plain\n\ttext, wörter"))
	require.Equal(t, `\x1b]0;owned\x07 \x0d\x9b31m\x7f`, prose.Printable("\x1b]0;owned\x07 \r\u009b31m\x7f"))
}

func TestAWriterForATerminalSeesCharactersThatComeInParts(t *testing.T) {
	var b strings.Builder
	w := prose.PrintableWriter(&b)
	for _, part := range []string{"w\xc3", "\xb6r\x1b", "[31m\xc2", "\x9b"} {
		_, err := fmt.Fprint(w, part)
		require.NoError(t, err)
	}
	require.Equal(t, `wör\x1b[31m\x9b`, b.String())
}
