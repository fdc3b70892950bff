package scheduler

// maxNodeScore is the best score of a plugin. Upstream: framework.MaxNodeScore.
const maxNodeScore = 100

// selectHost takes a node with the best score. Among equals Env.Choose decides:
// in order the first by name, otherwise any, as upstream's random choice.
// Upstream: schedule_one.go prioritizeNodes and selectHost, v1.36.
func (s *scheduler) selectHost(c *cycle, feasible []*nodeInfo) (node string, equals int) {
	if len(feasible) == 1 {
		return feasible[0].node.Name, 1
	}
	best := s.best[:0]
	var top int64
	plugins := of[scorePlugin](s.plugins)
	for _, n := range feasible {
		score := runScorePlugins(plugins, c, n)
		if len(best) == 0 || score > top {
			best, top = best[:0], score
		}
		if score == top {
			best = append(best, n)
		}
	}
	s.best = best
	i := s.env.Choose(len(best))
	return best[i].node.Name, len(best)
}

func runScorePlugins(plugins []scorePlugin, c *cycle, node *nodeInfo) int64 {
	var total int64
	for _, p := range plugins {
		total += p.Weight() * p.Score(c, node)
	}
	return total
}
