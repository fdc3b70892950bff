package story

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the outputs of the stories in testdata")

func TestStoriesPrintWhatTheyDid(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 6)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			got, err := Run(file, string(want))
			require.NoError(t, err)
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			wanted, gotten := strings.Split(strings.ReplaceAll(string(want), "\r\n", "\n"), "\n"), strings.Split(got, "\n")
			for i := range min(len(wanted), len(gotten)) {
				require.Equal(t, wanted[i], gotten[i], "%s:%d; if this is as it should be: go test ./story -update", file, i+1)
			}
			require.Equal(t, len(wanted), len(gotten), "%s: number of lines", file)
		})
	}
}
