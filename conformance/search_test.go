package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestASearchVariesTheStepsThatWroteWhatDiffers(t *testing.T) {
	wrote := func(names ...string) (s Step) {
		for _, name := range names {
			s.Writes = append(s.Writes, Entry{Name: name})
		}
		return s
	}
	rec := &Recording{Steps: []Step{wrote("n"), wrote("default/p1", "pv-1"), wrote("default/p11"), wrote(), wrote("default/p1"), wrote("default/p1")}}
	s := newSearch(rec, nil)
	differs := Difference{Step: 6, Object: "events", Wanted: "nothing more", Got: "kube-scheduler Warning FailedScheduling pod/default/p1: no node"}
	assert.Equal(t, []int{2, 5}, s.originsOf(differs, 6))
	assert.Empty(t, s.originsOf(Difference{Object: "pods default/p"}, 6))

	from := &start{step: 6, origins: []int{2, 5}}
	ways := map[int]map[uint64]bool{} // of choosing, by the step that is varied
	s.earlier = true
	for range 400 {
		from.tries++
		s.tried++
		turn := s.variant(from).Turns[0]
		if ways[turn.Step] == nil {
			ways[turn.Step] = map[uint64]bool{}
		}
		ways[turn.Step][turn.Seed%4] = true
	}
	for step := 1; step <= 6; step++ {
		assert.Len(t, ways[step], 4, "step %d", step)
	}
}
