package workload_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/workload"
)

// testdata/hashes.jsonl has 50 random templates, some with a number of collisions, and the hashes that ComputeHash of
// k8s.io/kubernetes/pkg/controller v1.37.2 gave them.
func TestTheHashOfATemplateIsUpstreams(t *testing.T) {
	file, err := os.Open("testdata/hashes.jsonl")
	require.NoError(t, err)
	defer file.Close()
	seen, collided := map[string]bool{}, 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var row struct {
			Template   v1.PodTemplateSpec
			Collisions *int32
			Hash       string
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		require.Equal(t, row.Hash, workload.ComputeHash(&row.Template, row.Collisions), lines.Text())
		seen[row.Hash] = true
		if row.Collisions != nil {
			collided++
		}
	}
	require.NoError(t, lines.Err())
	require.Len(t, seen, 50)
	require.Greater(t, collided, 5)
}
