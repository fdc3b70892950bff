package scheduler

import "slices"

// maxNodeScore is the best score of a plugin. Upstream: framework.MaxNodeScore.
const maxNodeScore = 100

// selectHost takes a node with the best score. Among equals Env.Choose decides: in order
// the first that was looked at. Upstream's first depends on which of its threads is
// faster, so that a pod whose volumes could not be made on one node comes to another in the end: here the first
// is then, after two failures, the one that follows that node.
// Upstream: schedule_one.go prioritizeNodes, framework.SortedScoredNodes, v1.37.
func (s *scheduler) selectHost(c *cycle, feasible []*nodeInfo) (node string, equals int) {
	if len(feasible) == 1 {
		return feasible[0].node.Name, 1
	}
	scores := s.runScorePlugins(c, feasible, nil)
	top, best := slices.Max(scores), s.best[:0]
	for i, n := range feasible {
		if scores[i] == top {
			best = append(best, n)
		}
	}
	s.best = best
	if at := slices.IndexFunc(best, func(n *nodeInfo) bool { return c.entry.leaves(n.node.Name) }); at >= 0 {
		slices.Reverse(best[:at+1])
		slices.Reverse(best[at+1:])
		slices.Reverse(best)
	}
	return best[s.env.Choose(len(best))].node.Name, len(best)
}

// runScorePlugins adds up what the plugins think of each node, by their weight. tell, if set, is called with each plugin's part.
// Upstream: runtime/framework.go RunScorePlugins, v1.37.
func (s *scheduler) runScorePlugins(c *cycle, feasible []*nodeInfo, tell func(plugin string, weight int64, scores []int64)) []int64 {
	totals, scores := zeros(s.totals, len(feasible)), zeros(s.scores, len(feasible))
	for _, p := range s.plugins.score {
		if c.unscored[p.Name()] {
			continue
		}
		for i, n := range feasible {
			scores[i] = p.Score(c, n)
		}
		if p, ok := p.(normalizer); ok {
			p.NormalizeScore(scores)
		}
		for i, score := range scores {
			totals[i] += p.Weight() * score
		}
		if tell != nil {
			tell(p.Name(), p.Weight(), scores)
		}
	}
	s.totals, s.scores = totals, scores
	return totals
}

// zeros returns a list of n zeros, in list's memory if there is enough.
func zeros(list []int64, n int) []int64 {
	list = slices.Grow(list[:0], n)[:n]
	clear(list)
	return list
}

// defaultNormalizeScore stretches the scores so that the greatest is maxNodeScore;
// reverse turns them round, so that the least is best.
// Upstream: plugins/helper DefaultNormalizeScore, v1.37.
func defaultNormalizeScore(scores []int64, reverse bool) {
	most := max(slices.Max(scores), 0)
	for i, score := range scores {
		if most > 0 {
			score = maxNodeScore * score / most
		}
		if reverse {
			score = maxNodeScore - score
		}
		scores[i] = score
	}
}
