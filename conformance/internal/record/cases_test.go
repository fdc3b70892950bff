package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/conformance"
)

func TestACaseIsThatOfItsSeed(t *testing.T) {
	for seed := range uint64(200) {
		data, err := json.Marshal(makeUp(seed))
		require.NoError(t, err)
		again, err := json.Marshal(makeUp(seed))
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))

		path := filepath.Join(t.TempDir(), "case.json")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		_, err = conformance.Load(path)
		require.NoError(t, err)
	}
}

func TestAProgramThatIsNotThereIsNamed(t *testing.T) {
	dir := t.TempDir()
	err := record(t.Context(), []string{dir}, "", dir, nil)
	require.EqualError(t, err, "there is no program server in "+dir)
}
