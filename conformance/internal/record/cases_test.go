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

func TestARecordingThatIsNotThereIsNamed(t *testing.T) {
	_, err := choose("../../testdata", "^no such$", 1, 1)
	require.EqualError(t, err, `no recording in ../../testdata has a name that matches "^no such$"`)
	_, err = choose("../../testdata", "(", 1, 1)
	require.ErrorContains(t, err, "missing closing )")
	cases, err := choose("../../testdata", "^prebound_volume$", 1, 1)
	require.NoError(t, err)
	require.Len(t, cases, 1)
}
