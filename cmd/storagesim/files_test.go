package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/internal/manifest"
)

func TestFilesWithoutAnEndAreRefusedInWords(t *testing.T) {
	huge := filepath.Join(t.TempDir(), "huge.yaml")
	require.NoError(t, os.WriteFile(huge, nil, 0o600))
	require.NoError(t, os.Truncate(huge, 1<<40))
	for _, args := range [][]string{{"run", "-f", huge}, {"story", huge}} {
		code, _, errOut := command(t, "", args...)
		assert.Equal(t, exitError, code)
		assert.Contains(t, errOut, "huge.yaml: it is larger than 16 MiB", args)
	}
	code, _, errOut := command(t, strings.Repeat("#", manifest.MaxSize+1), "run", "-f", "-")
	assert.Equal(t, exitError, code)
	assert.Contains(t, errOut, "standard input: it is larger than 16 MiB")
}

func TestAFileThatIsNoManifestIsNotQuoted(t *testing.T) {
	code, _, errOut := command(t, "", "run", "-f", file(t, "passwd", "root:x:0:0:hunter2\n"))
	assert.Equal(t, exitError, code)
	assert.Contains(t, errOut, "passwd:1: this is text; expected an object with apiVersion, kind and metadata")
	assert.NotContains(t, errOut, "hunter2")
}

func TestAWrongCommandKeepsTheOutputsBeforeItAndTheScriptAfterIt(t *testing.T) {
	path := file(t, "a.txt", "get pv\n----\n\nsetle\n----\n\nget pvc\n----\n")
	code, _, errOut := command(t, "", "story", "-w", path)
	assert.Equal(t, exitError, code)
	assert.Contains(t, errOut, `a.txt:4: unknown command "setle" (did you mean "settle"?)`)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "get pv\n----\nNo resources found\n\nsetle\n----\n\nget pvc\n----\n", string(text))
}

func TestTranscriptsAreAsWideAsTheyAreAskedToBe(t *testing.T) {
	path := file(t, "all.yaml", manifests)
	for width, most := range map[string]int{"": 120, "80": 80} {
		args := []string{"run", "-f", path, "-o", "story"}
		if width != "" {
			args = append(args, "--width", width)
		}
		_, out, _ := command(t, "", args...)
		for line := range strings.Lines(out) {
			if len(strings.Fields(line)) > 1 && !strings.Contains(line, "annotations[") {
				assert.LessOrEqual(t, len(line), most+1, line)
			}
		}
	}
	for _, args := range []string{"run -f x --width 10", "story --width -1 x", "explain pvc/x --width 1"} {
		code, _, errOut := command(t, "", strings.Fields(args)...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, errOut, "expected at least 20, or 0 for no wrapping")
	}
}
