package trace

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyALogThatIsAskedToKeepsValues(t *testing.T) {
	weighed := 0
	decision := Decision{About: Ref{Kind: "Pod", Name: "web"}, Text: "takes node-1", Weigh: func() *Choice {
		weighed++
		return &Choice{Chosen: "node-1"}
	}}
	plain, full := New(10, 1<<20), New(10, 1<<20)
	full.KeepValues()
	for _, log := range []*Log{plain, full} {
		log.Add(Entry{Record: decision})
		log.Deliver(Delivery{RV: 7})
	}
	require.Equal(t, 1, weighed)
	require.Equal(t, Decision{About: decision.About, Text: decision.Text}, plain.Entries()[0].Record)
	require.Empty(t, plain.Deliveries())
	require.Equal(t, &Choice{Chosen: "node-1"}, full.Entries()[0].Record.(Decision).Choice)
	require.Equal(t, []Delivery{{After: 1, RV: 7}}, full.Deliveries())
	require.Equal(t, plain.String(), full.String(), "sentences are the same")

	line, err := json.Marshal(full.Entries()[0])
	require.NoError(t, err)
	require.Contains(t, string(line), `"choice":{"chosen":"node-1"}`)
}

func TestDeliveriesAreBoundedAsRecordsAre(t *testing.T) {
	log := New(10, 1<<20)
	log.KeepValues()
	for i := range 100 {
		log.Deliver(Delivery{RV: uint64(i)})
	}
	require.LessOrEqual(t, len(log.Deliveries()), 10)
	require.Equal(t, uint64(99), log.Deliveries()[len(log.Deliveries())-1].RV)
}

func TestAChoiceKeepsTheChosenOfManyCandidates(t *testing.T) {
	choice := Choice{Chosen: "node-90", More: 1}
	for i := range 100 {
		choice.Candidates = append(choice.Candidates, Candidate{Name: fmt.Sprintf("node-%d", i)})
	}
	choice.Cut()
	require.Len(t, choice.Candidates, MaxCandidates)
	require.Equal(t, "node-90", choice.Candidates[MaxCandidates-1].Name)
	require.Equal(t, 51, choice.More)
}
