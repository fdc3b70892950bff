package conformance

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
)

func TestTheActorOfTheNextRecordedRequestIsPreferred(t *testing.T) {
	rec, err := load(t, `{"steps": [{"step": {"wait": 1}, "writes": [
		{"actor": "user", "verb": "create", "resource": "pods", "name": "default/p"},
		{"actor": "other", "verb": "create", "resource": "pods", "name": "default/q"},
		{"actor": "a", "verb": "update", "resource": "pods/status", "name": "default/p"},
		{"actor": "b", "verb": "update", "resource": "pods", "name": "default/p", "code": 409},
		{"actor": "c", "verb": "patch", "resource": "pods", "name": "default/p"},
		{"actor": "b", "verb": "patch", "resource": "pods", "name": "default/p"},
		{"actor": "a", "event": "Said", "object": "pod/default/p"}]}]}`)
	require.NoError(t, err)
	a := along{requests: requestsOf(rec.Steps[0], func(actor string) bool { return actor != "other" })}
	steps := []engine.Alternative{
		{Actor: "b", Hears: "pods"}, {Actor: "c", Does: "worker"}, {Actor: "b", Does: "worker"}, {Actor: "d"}, {Actor: "a", Does: "worker"},
	}
	prefer := func() (actors []string, own bool) {
		list, own := a.prefer(len(steps), func(i int) engine.Alternative { return steps[i] })
		for _, i := range list {
			actors = append(actors, steps[i].Actor+steps[i].Hears)
		}
		return actors, own
	}
	expect := func(own bool, actors ...string) {
		t.Helper()
		got, is := prefer()
		assert.Equal(t, actors, got)
		assert.Equal(t, own, is)
	}
	write := func(verb, actor, sub string, err error) {
		a.made(trace.Write{Actor: actor, Verb: verb, Subresource: sub, Err: err}, "pods default/p")
	}
	expect(true, "a")
	steps = steps[:4]
	expect(false, "d")
	write("update", "a", "", nil) // of the pod itself
	expect(false, "d")
	write("update", "a", "status", nil)
	expect(true, "c") // it won the race that the one before it lost
	write("patch", "c", "", nil)
	expect(true, "b")
	write("update", "b", "", nil) // that is to be refused
	expect(true, "b")
	steps = steps[:2]
	expect(true, "bpods") // it has nothing else
	write("update", "b", "", errors.New("conflict"))
	expect(true, "bpods")
	write("patch", "b", "", nil)
	expect(false)
}

func TestARequestThatIsNotMadeIsGivenUp(t *testing.T) {
	a := along{requests: []request{{actor: "none"}}}
	for range patient + 1 {
		a.requests = append(a.requests, request{actor: "a", verb: "patch", object: "pods default/p"})
	}
	for range patient {
		a.made(trace.Write{Actor: "a", Verb: "patch"}, "pods default/p")
	}
	assert.Equal(t, "none", a.requests[0].actor)
	a.made(trace.Write{Actor: "a", Verb: "patch"}, "pods default/p")
	assert.Empty(t, a.requests)
}

// In the second step of this recording the StatefulSet controller writes a claim before the PV controller, which then loses the race.
func TestAScheduleThatGoesAlongAgreesMoreOften(t *testing.T) {
	rec, err := Load("testdata/made/set_loses_two_races.json")
	require.NoError(t, err)
	const seeds = 96
	agreed := map[bool]int{}
	for seed := range uint64(seeds) {
		for _, along := range []bool{false, true} {
			differences, err := run(rec, Schedule{Phase: 12 * time.Second, Kubelets: 37, Turns: []Turn{{Step: 2, Seed: seed + 1, Along: along}}}, false)
			require.NoError(t, err)
			if len(differences) == 0 || differences[0].Step > 2 {
				agreed[along]++
			}
		}
	}
	t.Logf("of %d schedules %d agreed on the step, and %d along with the recording", seeds, agreed[false], agreed[true])
	assert.Greater(t, agreed[true], 2*agreed[false])
}
