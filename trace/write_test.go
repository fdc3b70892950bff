package trace

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/explore/seedtest"
)

func TestAWriteTellsTheConditionsThatAreNew(t *testing.T) {
	condition := func(kind, status, message string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": "Why", "message": message}
	}
	was := []any{condition("PodScheduled", "False", "no room"), condition("Ready", "False", "")}
	for name, tt := range map[string]struct {
		is   []any
		want string
	}{
		"another status":  {[]any{condition("PodScheduled", "True", ""), was[1]}, "[PodScheduled=True (Why)]"},
		"another message": {[]any{condition("PodScheduled", "False", "no disk"), was[1]}, "[PodScheduled=False (Why)]"},
		"both":            {[]any{condition("PodScheduled", "False", "no disk"), condition("Ready", "True", "")}, "[Ready=True (Why)]"},
		"one less":        {was[:1], "[]"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, brief(newItems(was, tt.is))) })
	}
}

func TestTheChangesOfAWriteAreThoseOfTheWholeObjects(t *testing.T) {
	seedtest.Each(t, 300, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 3))
		word := func() string { return []string{"", "a", "b"}[rng.IntN(3)] }
		some := func() map[string]string {
			return []map[string]string{nil, {"a": word()}, {"a": "1", "b": word()}}[rng.IntN(3)]
		}
		conditions := func() (list []v1.PodCondition) {
			for range rng.IntN(3) {
				list = append(list, v1.PodCondition{Type: v1.PodConditionType(word()), Message: word(), ObservedGeneration: rng.Int64N(2)})
			}
			return list
		}
		random := func() runtime.Object {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: some(), Annotations: some(), ResourceVersion: word()}}
			p.Spec = v1.PodSpec{NodeName: word(), NodeSelector: some(), Containers: make([]v1.Container, rng.IntN(2))}
			p.Status = v1.PodStatus{Phase: v1.PodPhase(word()), Conditions: conditions(), ObservedGeneration: rng.Int64N(2)}
			if rng.IntN(2) == 0 {
				return p
			}
			return &v1.ConfigMap{ObjectMeta: p.ObjectMeta, Data: some()}
		}
		a, b := random(), random()
		require.Equal(t, diff(nil, toMap(a), toMap(b), nil), Write{Old: a, New: b}.Changes())
	})
}
