package managers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
)

// play plays a scenario with our controllers and our scheduler.
func play(t *testing.T, s Scenario) *Recording {
	t.Helper()
	cluster, o := open(t, s)
	seen, err := s.Play(o, func(f func()) { f() }, func(least time.Duration) { require.NoError(t, cluster.RunFor(least+Rest)) })
	require.NoError(t, err)
	return seen
}

// open makes the cluster of a scenario.
func open(t *testing.T, s Scenario) (*storagesim.Cluster, *Observer) {
	t.Helper()
	cluster, o, err := s.Cluster(storagesim.Config{Rounds: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })
	require.NoError(t, cluster.RunFor(10*time.Second)) // a driver registers
	return cluster, o
}

func recorded(t *testing.T, name string) *Recording {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	require.NoError(t, err)
	r, err := Parse(string(text))
	require.NoError(t, err)
	return r
}

func TestOurControllersDoWhatUpstreamsDid(t *testing.T) {
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			for _, line := range Compare(recorded(t, s.Name), play(t, s)) {
				if !IsChance(s.Name, line) {
					t.Error(line)
				}
			}
		})
	}
}

func TestARecordingIsReadAsItWasWritten(t *testing.T) {
	for _, s := range Scenarios() {
		text, err := os.ReadFile(filepath.Join("testdata", s.Name+".txt"))
		require.NoError(t, err)
		assert.Equal(t, string(text), recorded(t, s.Name).String(), s.Name)
	}
}

func TestEachRecordingHasAScenario(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		assert.True(t, slices.ContainsFunc(Scenarios(), func(s Scenario) bool { return s.Name == name }), name)
	}
}
