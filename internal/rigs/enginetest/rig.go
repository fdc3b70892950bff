// Package enginetest has the parts that tests of single controllers share.
package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
)

// Rig is an API server and one actor: the test plays all others as User. When the test
// fails, it logs the story.
type Rig struct {
	testing.TB

	Engine *engine.Engine
	User   kubernetes.Interface
}

// New makes a Rig, which is closed when the test ends.
func New(t testing.TB, cfg engine.Config, actor string, factory control.Factory) *Rig {
	t.Helper()
	e := engine.New(cfg)
	t.Cleanup(e.Close)
	require.NoError(t, e.Add(actor, factory))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("\n" + e.Trace().Story(engine.Start()))
		}
	})
	return &Rig{TB: t, Engine: e, User: fake.New(e.Server(), "user")}
}

// Settle runs until the actor is at rest.
func (r *Rig) Settle() {
	r.Helper()
	require.NoError(r, r.Engine.Settle())
}

// AtEverySeed plays a scenario in order, and then in the orders of some seeds,
// usually so many. See seedtest.Each.
func AtEverySeed(t testing.TB, usual int, scenario func(t testing.TB, cfg engine.Config)) {
	t.Helper()
	scenario(t, engine.Config{})
	seedtest.Each(t, usual, func(t testing.TB, seed uint64) {
		t.Helper()
		scenario(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed})
	})
}
