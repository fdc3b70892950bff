package scheduler

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/schedworld"
)

// Upstream's plugin of v1.37.2 has written testdata/interpodaffinity.txt: conformance/interop/scheduling.
func TestInterPodAffinityAnswersAsUpstreamsPluginInRandomWorlds(t *testing.T) {
	text, err := os.ReadFile("testdata/interpodaffinity.txt")
	require.NoError(t, err)
	said := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var seed uint64
		number, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, err := fmt.Sscan(number, &seed)
		require.NoError(t, err)
		got := answer(schedworld.Affinity(seed))
		require.Equal(t, want, strings.Join(got, "; "), "world %d", seed)
		for _, word := range got {
			said[strings.Trim(word, "0123456789")]++
		}
	}
	for _, what := range []string{reasonPodAffinity, reasonPodAntiAffinity, reasonExistingAntiAffinity, ""} {
		found := 0
		for word, n := range said {
			if strings.HasSuffix(word, what) {
				found += n
			}
		}
		require.Greater(t, found, 200, "too few cases of: %q", what)
	}
}

// answer returns, for each node, why the pod may not be there, or its score of 0 to 100; "-" if InterPodAffinity has nothing to say.
func answer(w *schedworld.World) []string {
	var objects []runtime.Object
	for _, o := range w.Namespaces {
		objects = append(objects, o)
	}
	for _, o := range w.Nodes {
		objects = append(objects, o)
	}
	for _, o := range w.Placed {
		objects = append(objects, o)
	}
	s := stillScheduler(Config{}, append(objects, w.Pod))
	p, c := interPodAffinity{s.caches, s.cluster}, newCycle(w.Pod, &queuedPod{})
	answers := make([]string, len(w.Nodes))
	filters := !p.PreFilter(c).is(skip)
	scores := make([]int64, len(w.Nodes))
	scored := !p.PreScore(c, nil).is(skip)
	for i, n := range w.Nodes {
		node, _ := s.cluster.node(n.Name)
		if filters {
			answers[i] = words(p.Filter(c, node))
		}
		if scored {
			scores[i] = p.Score(c, node)
		}
	}
	if scored {
		p.NormalizeScore(scores)
	}
	for i, score := range scores {
		switch {
		case answers[i] != "":
		case scored:
			answers[i] = fmt.Sprint(score)
		default:
			answers[i] = "-"
		}
	}
	return answers
}

// words returns a refusal as upstream prints its status, "" for none.
func words(s *status) string {
	switch {
	case s.is(unschedulable):
		return "Unschedulable: " + s.message()
	case s.is(unresolvable):
		return "UnschedulableAndUnresolvable: " + s.message()
	}
	return s.message()
}
