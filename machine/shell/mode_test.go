package shell

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestModesAreOctalOrSymbolic(t *testing.T) {
	for text, want := range map[string]fs.FileMode{
		"0777": 0o777, "750": 0o750, "2770": 0o770 | fs.ModeSetgid, "1777": 0o777 | fs.ModeSticky, "4755": 0o755 | fs.ModeSetuid,
		"g+s": 0o777 | fs.ModeSetgid, "u=rwx,go=rx": 0o755, "o-rwx": 0o770, "a-w": 0o555, "-w": 0o555, "+t": 0o777 | fs.ModeSticky, "g=,o=": 0o700,
	} {
		mode, err := parseMode(text, 0)
		require.NoError(t, err, text)
		assert.Equal(t, want, mode, text)
	}
	for _, text := range []string{"", "9", "77777", "g", "z+w", "g+z", "g+s,", "rwx", "-1"} {
		_, err := parseMode(text, 0)
		assert.ErrorContains(t, err, "invalid mode", text)
	}
}
