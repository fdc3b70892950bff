//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPipesAndDevicesAreRefusedInWords(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for path, want := range map[string]string{
		pipe:               "it is a pipe; expected a file or a directory",
		"/dev/zero":        "it is a device; expected a file or a directory",
		filepath.Dir(pipe): "it is a pipe",
	} {
		code, _, errOut := command(t, "", "run", "-f", path)
		assert.Equal(t, exitError, code, path)
		assert.Contains(t, errOut, want, path)
	}
}
