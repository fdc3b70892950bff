package attacher_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/storagesim/storagesim/engine"
)

// At each yield point, the attacher crashes once while it attaches, or while it detaches a volume that is attached
// or about to be. No volume stays published without an object that records it.
func TestACrashAtAnyPointOfAttachAndDetachLosesNothing(t *testing.T) {
	attached := func(r *rig) bool { va := r.va(); return va != nil && va.Status.Attached }
	gone := func(r *rig) bool { return r.va() == nil }
	tests := map[string]struct {
		begin     func(r *rig, points int)
		done, end func(r *rig) bool
	}{
		"attach": {func(*rig, int) {}, attached, attached},
		"detach": {func(r *rig, _ int) { r.Settle(); r.detach() }, gone, gone},
		"detach while it attaches": {
			func(r *rig, points int) {
				r.step(t, points/2, func() bool { return attached(r) })
				r.detach()
			},
			gone, gone,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for points, more := 0, true; more; points++ {
				r := newRig(t, engine.Config{})
				r.driver.OnCall = func(method string, _ proto.Message) {
					if method == "ControllerPublishVolume" {
						require.Contains(t, r.va().Finalizers, finalizer)
					}
				}
				r.attach("pv-1")
				tt.begin(r, points)
				more = r.step(t, points, func() bool { return tt.done(r) }) || points < 40
				require.NoError(t, r.Engine.Crash(actor))
				require.NoError(t, r.Engine.RunFor(10*time.Second))
				require.True(t, tt.end(r), "after a crash at step %d", points)
				require.Equal(t, attached(r), len(r.driver.Published) == 1, "after a crash at step %d", points)
			}
		})
	}
}

// step takes n steps. It stops and returns false when done returns true.
func (r *rig) step(t *testing.T, n int, done func() bool) (all bool) {
	t.Helper()
	for range n {
		if done() {
			return false
		}
		_, err := r.Engine.Step()
		require.NoError(t, err)
	}
	return true
}
