package shell_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scripts returns those of testdata/scripts.txt, one construct or two each.
func scripts(t *testing.T) []string {
	data, err := os.ReadFile("testdata/scripts.txt")
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(data), "\n----\n"), "\n----\n")
}

func TestAScriptDoesWhatItDoesInDash(t *testing.T) {
	needDash(t)
	for _, script := range scripts(t) {
		t.Run(script, func(t *testing.T) {
			want := inDash(t, script)
			got, p := inOurs(t, script)
			assert.Equal(t, want, got, "printed: %s", p.Log())
		})
	}
}
