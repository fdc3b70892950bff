package scheduler_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/scheduler"
)

// A claim that changes between Filter and Reserve, which take no time unless Config.Late, ends the cycle with an error; the next one is right.
func TestAClaimThatChangesDuringACycleIsOutOfSync(t *testing.T) {
	outOfSync := func(late bool) (times int) {
		for seed := range uint64(40) {
			w := newWorldOf(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed}, scheduler.Config{Late: late}, node("node-1"))
			w.class("made", "example.com/made", storagev1.VolumeBindingWaitForFirstConsumer)
			w.claim("data", "1Gi", "made")
			require.NoError(t, w.e.Add("owner", func(env control.Env) error {
				pods := control.NewCache[*v1.Pod](env, control.Pods())
				queue := env.Queue(control.QueueConfig{Name: "pods", Reconcile: func(ctx context.Context, _ string) error {
					_, err := env.Client().CoreV1().PersistentVolumeClaims("default").Patch(ctx, "data", types.MergePatchType,
						[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
					return err
				}})
				pods.Handle(control.Handler[*v1.Pod]{Add: func(pod *v1.Pod) { queue.Add(control.Key(pod)) }})
				return nil
			}))
			w.pod("web", "data")
			require.NoError(t, w.e.RunFor(20*time.Second))
			require.Equal(t, "node-1", w.getClaim("data").Annotations[binding.AnnSelectedNode])
			for _, message := range w.said("web") {
				if strings.Contains(message, `running Reserve plugin "VolumeBinding": "default/data" is out of sync (stored: `) {
					times++
				}
			}
		}
		return times
	}
	assert.NotZero(t, outOfSync(true))
	assert.Zero(t, outOfSync(false))
}
