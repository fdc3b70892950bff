package trace_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/trace"
)

var update = flag.Bool("update", false, "write the table of docs/41-what-v1.37-loses.md")

func TestTheDocumentHasTheRegisterOfDeviations(t *testing.T) {
	const file, begin, end = "../docs/41-what-v1.37-loses.md", "<!-- from trace/deviates.go -->\n", "<!-- end of trace/deviates.go -->\n"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok)
	table, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+trace.DeviationsTable()+end+after), 0o644))
		return
	}
	require.Equal(t, trace.DeviationsTable(), table, "go test ./trace -update writes the table")
}

func TestADeviationSaysWhatHappensInBothPlaces(t *testing.T) {
	seen := map[trace.Situation]bool{}
	for _, d := range trace.Deviations() {
		require.False(t, seen[d.Situation], d.Situation)
		seen[d.Situation] = true
		for _, text := range []string{d.Upstream, d.Source, d.Here} {
			require.NotEmpty(t, text, d.Situation)
			require.NotContains(t, text, "|")
			require.False(t, strings.HasSuffix(text, "."), text)
		}
	}
}

func TestASituationIsKeptOnceAlsoWhenOldRecordsAreDropped(t *testing.T) {
	log := trace.New(2, 1<<20)
	first := trace.Deviate(trace.TaintRepeated, trace.Ref{Kind: "Node", Name: "n1"})
	log.Add(trace.Entry{Time: time.Unix(1, 0), Actor: "a", Record: first})
	log.Add(trace.Entry{Actor: "a", Record: trace.Deviate(trace.TaintRepeated, trace.Ref{Kind: "Node", Name: "n2"})})
	require.Len(t, log.Entries(), 1)
	for range 5 {
		log.Add(trace.Entry{Actor: "a", Record: trace.Decision{Text: "x"}})
	}
	require.Equal(t, []trace.Deviates{first}, log.Deviations())
	require.Equal(t, "deviates at node n1: upstream logs the error and writes the taint when the node changes next "+
		"(kubernetes v1.37.2 pkg/controller/nodelifecycle/node_lifecycle_controller.go:526); here the taint is written again after a backoff", first.String())
}
