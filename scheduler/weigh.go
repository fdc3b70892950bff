package scheduler

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// weigh returns the values of a cycle's decision: each node that was looked at, with the plugin that turned it down or its scores, and
// for each claim that gets a volume on the chosen node the volumes. feasible is empty if
// no node fits. It asks the plugins for their scores again, which changes nothing.
func (s *scheduler) weigh(c *cycle, feasible []*nodeInfo, volumes *PodVolumes) *trace.Choice {
	choice := &trace.Choice{Function: "schedulePod", File: "pkg/scheduler/schedule_one.go", More: c.diagnosis.excluded}
	for _, n := range feasible {
		choice.Candidates = append(choice.Candidates, trace.Candidate{Name: n.node.Name, OK: true})
	}
	if len(feasible) > 1 {
		s.addScores(c, feasible, choice.Candidates)
	}
	for _, v := range c.diagnosis.nodes {
		choice.Candidates = append(choice.Candidates, trace.Candidate{Name: v.node, Filter: v.status.plugin, Reason: v.status.message()})
	}
	slices.SortStableFunc(choice.Candidates, func(a, b trace.Candidate) int { return cmp.Compare(a.Name, b.Name) })
	if len(feasible) > 0 {
		choice.Chosen = c.node
		choice.Volumes = s.weighVolumes(c, volumes)
	}
	choice.Cut()
	return choice
}

// addScores adds the scores of the plugins to the candidates, which are the nodes in the same order.
func (s *scheduler) addScores(c *cycle, feasible []*nodeInfo, candidates []trace.Candidate) {
	totals := s.runScorePlugins(c, feasible, func(plugin string, weight int64, scores []int64) {
		for i, score := range scores {
			if candidates[i].Scores == nil {
				candidates[i].Scores = map[string]int64{}
			}
			candidates[i].Scores[plugin] = weight * score
		}
	})
	for i := range candidates {
		candidates[i].Score = totals[i]
	}
}

// weighVolumes returns the choice of a volume for each claim that gets one on the chosen node.
func (s *scheduler) weighVolumes(c *cycle, volumes *PodVolumes) (choices []trace.Choice) {
	if volumes == nil {
		return nil
	}
	p, _ := s.volumeBinding() // which has found the volumes
	n, _ := s.caches.nodes.Get(c.node)
	given := map[string]*v1.PersistentVolume{} // to the claims before, as in the search
	for _, bound := range volumes.StaticBindings {
		choice := trace.Choice{
			For: control.Key(bound.pvc), Rule: "the smallest that fits on the node", Chosen: bound.pv.Name,
			Function: "FindMatchingVolume", File: "staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go",
		}
		for _, v := range p.searchedWithout(bound.pvc, n, given) {
			candidate := trace.Candidate{Name: v.Volume, OK: v.Chosen || v.Filter == binding.Outranked, Reason: v.Reason}
			switch {
			case v.Volume == bound.pv.Name:
				candidate.OK, candidate.Reason = true, choice.Rule
			case v.Filter != binding.Passed:
				candidate.Filter = v.Filter.String()
			}
			choice.Candidates = append(choice.Candidates, candidate)
		}
		choice.Cut()
		choices = append(choices, choice)
		given[bound.pv.Name] = bound.pv
	}
	return choices
}
