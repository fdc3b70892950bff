package scheduling

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	plugintesting "k8s.io/kubernetes/pkg/scheduler/framework/plugins/testing"
	schedruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/storagesim/storagesim/internal/schedworld"
)

var update = flag.Bool("update", false, "write the answers")

const worlds = 3000

// compare compares answers with those of a file of scheduler/testdata, or writes them.
func compare(t *testing.T, name string, lines []string) {
	t.Helper()
	path, text := "../../../scheduler/testdata/"+name, strings.Join(lines, "\n")+"\n"
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("%s differs from what upstream's plugin says now; go test . -update writes it", path)
	}
}

func TestInterPodAffinity(t *testing.T) {
	metrics.Register() // the plugin counts its goroutines
	var lines []string
	for seed := range uint64(worlds) {
		lines = append(lines, fmt.Sprintf("%d %s", seed, answer(t, schedworld.Affinity(seed))))
	}
	compare(t, "interpodaffinity.txt", lines)
}

// answer returns, for each node, why the pod may not be there, or its score of 0 to 100; "-" if the plugin has nothing to say.
func answer(t *testing.T, w *schedworld.World) string {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	objects := make([]runtime.Object, len(w.Namespaces))
	for i, ns := range w.Namespaces {
		objects[i] = ns
	}
	snapshot := cache.NewSnapshot(w.Placed, w.Nodes)
	features := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	p := plugintesting.SetupPluginWithInformers(ctx, t, schedruntime.FactoryAdapter(features, interpodaffinity.New),
		&config.InterPodAffinityArgs{HardPodAffinityWeight: 1}, snapshot, objects)
	infos := make([]fwk.NodeInfo, len(w.Nodes))
	for i, node := range w.Nodes {
		info, err := snapshot.Get(node.Name)
		if err != nil {
			t.Fatal(err)
		}
		infos[i] = info
	}
	state := framework.NewCycleState()
	filters := make([]string, len(infos))
	_, status := p.(fwk.PreFilterPlugin).PreFilter(ctx, state, w.Pod, infos)
	if !status.IsSkip() {
		if !status.IsSuccess() {
			t.Fatal(status)
		}
		for i, info := range infos {
			if s := p.(fwk.FilterPlugin).Filter(ctx, state, w.Pod, info); !s.IsSuccess() {
				filters[i] = fmt.Sprintf("%s: %s", s.Code(), s.Message())
			}
		}
	}
	scores := scored(ctx, t, p.(fwk.PreScorePlugin), p.(fwk.ScorePlugin), state, w.Pod, infos)
	for i, why := range filters {
		if why == "" {
			filters[i] = scores[i]
		}
	}
	return strings.Join(filters, "; ")
}

func scored(ctx context.Context, t *testing.T, pre fwk.PreScorePlugin, p fwk.ScorePlugin, state fwk.CycleState, pod *v1.Pod, infos []fwk.NodeInfo) []string {
	texts := make([]string, len(infos))
	status := pre.PreScore(ctx, state, pod, infos)
	if status.IsSkip() {
		for i := range texts {
			texts[i] = "-"
		}
		return texts
	}
	if !status.IsSuccess() {
		t.Fatal(status)
	}
	list := make(fwk.NodeScoreList, len(infos))
	for i, info := range infos {
		score, status := p.Score(ctx, state, pod, info)
		if !status.IsSuccess() {
			t.Fatal(status)
		}
		list[i] = fwk.NodeScore{Name: info.Node().Name, Score: score}
	}
	if status := p.ScoreExtensions().NormalizeScore(ctx, state, pod, list); !status.IsSuccess() {
		t.Fatal(status)
	}
	for i, s := range list {
		texts[i] = fmt.Sprint(s.Score)
	}
	return texts
}
