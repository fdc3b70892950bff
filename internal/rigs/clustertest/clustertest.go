package clustertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// ContainsLine reports whether one line of the text has all parts.
func ContainsLine(text string, parts ...string) bool {
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return true
		}
	}
	return false
}

// RequireLeaks requires that the cluster has these leaks, in this order, and no others.
func RequireLeaks(t *testing.T, c *storagesimtest.Cluster, want ...string) {
	t.Helper()
	var found *storagesim.LeakError
	require.ErrorAs(t, c.Cluster.RequireNoLeaks(), &found)
	var lines []string
	for _, leak := range found.Leaks {
		lines = append(lines, leak.String())
	}
	require.Equal(t, want, lines)
}

// Strikes returns the machines' faults that struck, a line each.
func Strikes(c *storagesim.Cluster) (list []string) {
	for _, entry := range c.Engine().Trace().Entries() {
		if struck, ok := entry.Record.(trace.MachineStruck); ok {
			list = append(list, entry.Actor+" "+struck.String())
		}
	}
	return list
}

// Randomly returns a configuration for scenarios that cause trouble of their own, by the seed: no
// two runs do the same, and the scenario itself checks what is left.
func Randomly(runs int, cluster storagesim.Config) explore.Config {
	return explore.Config{Runs: runs, Cluster: cluster, Strategies: []string{explore.Random},
		Except: []string{explore.Liveness, explore.NothingLeaks, explore.PlainRun}}
}

// IgnoreMissing returns the error, or nil if it says that an object was not found.
func IgnoreMissing(err error) error {
	if err != nil && strings.Contains(err.Error(), "not found") {
		return nil
	}
	return err
}
