package scheduler

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/trace"
)

// A decision says of each volume of a claim's class why it was taken or passed over, in order of name, and counts those that are too many to tell. What one
// claim of the pod gets the next one cannot have.
func TestADecisionSaysWhyEachVolumeWasTakenOrPassedOver(t *testing.T) {
	node := testNode("node-1")
	objects := []runtime.Object{
		node, testClass(delayed, "kubernetes.io/no-provisioner"), testClaim("one", "5Gi", delayed), testClaim("two", "6Gi", delayed),
		testVolume("c-fits", "5Gi", delayed, "node-1"), testVolume("b-large", "9Gi", delayed, "node-1"), testVolume("a-small", "1Gi", delayed, "node-1"),
		testVolume("d-away", "9Gi", delayed, "node-2"), testVolume("e-other", "9Gi", "other", "node-1"),
	}
	choices := func(change func(*PodVolumes), claims ...string) []trace.Choice {
		s := stillScheduler(Config{}, objects)
		p, _ := s.volumeBinding()
		volumes, _ := found(t, p.binder, testPod("web", claims...), node)
		change(volumes)
		assert.Nil(t, s.weighVolumes(&cycle{node: "node-1"}, nil))
		return s.weighVolumes(&cycle{node: "node-1"}, volumes)
	}
	asFound := func(*PodVolumes) {}
	short := func(c trace.Choice) (list []string) {
		for _, candidate := range c.Candidates {
			list = append(list, fmt.Sprintf("%s %t %s", candidate.Name, candidate.OK, candidate.Filter))
		}
		return list
	}
	got := choices(asFound, "one", "two")
	if assert.Len(t, got, 2) {
		assert.Equal(t, []string{"default/one", "c-fits", "default/two", "b-large"}, []string{got[0].For, got[0].Chosen, got[1].For, got[1].Chosen})
		assert.Equal(t, []string{"a-small false TooSmall", "b-large true Outranked", "c-fits true ", "d-away false WrongNode"}, short(got[0]))
		assert.Equal(t, []string{"a-small false TooSmall", "b-large true ", "c-fits false Excluded", "d-away false WrongNode"}, short(got[1]))
		assert.Equal(t, got[0].Rule, got[0].Candidates[2].Reason)
		assert.NotEqual(t, got[0].Rule, got[0].Candidates[1].Reason)
	}
	twin := testVolume("c-twin", "5Gi", delayed, "node-1")
	objects = append(objects, twin)
	got = choices(func(volumes *PodVolumes) { volumes.StaticBindings[0].pv = twin }, "one")
	assert.Equal(t, []string{"a-small false TooSmall", "b-large true Outranked", "c-fits true ", "c-twin true ", "d-away false WrongNode"},
		short(got[0]), "equal ones")
	for i := range trace.MaxCandidates {
		objects = append(objects, testVolume(fmt.Sprint("many-", i), "1Gi", delayed, "node-1"))
	}
	got = choices(asFound, "one")
	assert.Len(t, got[0].Candidates, trace.MaxCandidates)
	assert.Equal(t, 5, got[0].More)
}
