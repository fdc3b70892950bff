package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/clustertest"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/trace"
)

// The scheduler's process ends anywhere in PreBind and starts again at once.
// semantics: section 2.3, no API rollback.
func TestASchedulerThatCrashesAnywhereInPreBindGoesOn(t *testing.T) {
	everyStep(t, func(x *prebind) error {
		written := x.written()
		if err := errors.Join(x.Crash(storagesim.Scheduler), x.settled()); err != nil {
			return err
		}
		if now := x.written(); !strings.HasPrefix(now, written) {
			return fmt.Errorf("before the crash %q was written, and in the end it is %q", written, now)
		}
		return x.cleared()
	})
}

// Before a call or after it, and back at once, after some polls, or when the wait
// would have timed out.
func TestASchedulerThatCrashesAtAnyCallAndComesBackLaterGoesOn(t *testing.T) {
	for _, down := range []time.Duration{0, 5 * time.Second, 11 * time.Minute} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("down %s after=%v", down, after), func(t *testing.T) {
				t.Parallel()
				seedtest.Each(t, 2, func(t testing.TB, seed uint64) {
					for skip, crashed := 0, true; crashed; skip++ {
						x, err := newPrebind(seed)
						require.NoError(t, err)
						require.NoError(t, x.Inject(engine.Fault{Actor: storagesim.Scheduler, Skip: skip, After: after, Crash: true, Restart: down}))
						require.NoError(t, x.settled(), "crash at call %d\n%s", skip, x.Story())
						crashed = clustertest.ContainsLine(x.Story(), storagesim.Scheduler, "starts again")
						require.NoError(t, x.cleared(), "crash at call %d\n%s", skip, x.Story())
						require.NoError(t, x.Close())
						require.True(t, crashed || skip >= 4, "nomination, disk, cache, binding: %d calls", skip)
					}
				})
			})
		}
	}
}

func TestANodeDeletedAnywhereInPreBind(t *testing.T) {
	everyStep(t, func(x *prebind) error {
		node := x.chosen()
		if err := x.Client().CoreV1().Nodes().Delete(context.Background(), node, metav1.DeleteOptions{}); err != nil {
			return err
		}
		if err := errors.Join(x.stopsWaiting(fmt.Sprintf("failed to get node %q", node)), x.Settle(), x.RunFor(flushed)); err != nil {
			return err
		}
		// What had been written ties the pod to the node that is gone; without that it
		// finds another.
		if x.nodeOf("web") == "" {
			if x.written() == "" {
				return errors.New("nothing ties the pod to the node, and it goes to no other")
			}
			if err := x.node(node); err != nil {
				return err
			}
		}
		return errors.Join(x.settled(), x.cleared())
	})
}

// semantics: section 2 must 7
func TestAPodDeletedAnywhereInPreBind(t *testing.T) {
	everyStep(t, func(x *prebind) error {
		bound := x.nodeOf("web") != ""
		if err := x.deletePod("web"); err != nil {
			return err
		}
		if !bound {
			if err := x.stopsWaiting("pod does not exist any more", `pods "web" not found`); err != nil {
				return err
			}
		}
		return errors.Join(x.Settle(), x.RunFor(flushed), x.consistent(), x.pod("web", "", "disk", "cache"), x.settled(), x.cleared())
	})
}

// Deleted and made anew in one moment, as by a StatefulSet: what was decided for the
// old pod is not used for the new one, which may go to one node only.
// bugs: 19
func TestAPodReplacedAnywhereInPreBind(t *testing.T) {
	for _, only := range []string{"", "node-1", "node-2"} {
		t.Run("for "+only, func(t *testing.T) {
			everyStep(t, func(x *prebind) error {
				if err := errors.Join(x.deletePod("web"), x.pod("web", only, "disk", "cache"), x.Settle(), x.RunFor(flushed)); err != nil {
					return err
				}
				if x.nodeOf("web") == "" {
					why, err := x.Explain("pod/web")
					if err != nil || only == "" || !strings.Contains(x.written(), "node-") {
						return fmt.Errorf("the new pod has no node, and %q is written: %s: %w", x.written(), why, err)
					}
					// Its volumes are on the other node, where they stay.
					err = errors.Join(x.deletePod("web"), x.pod("web", "", "disk", "cache"))
					if err != nil {
						return err
					}
				} else if node := x.nodeOf("web"); only != "" && node != only {
					return fmt.Errorf("the new pod is on %s", node)
				}
				return errors.Join(x.settled(), x.cleared())
			})
		})
	}
}

func TestAClaimDeletedAnywhereInPreBind(t *testing.T) {
	for _, name := range []string{"disk", "cache"} {
		t.Run(name, func(t *testing.T) {
			everyStep(t, func(x *prebind) error {
				if err := x.Delete("pvc/" + name); err != nil {
					return err
				}
				says := []string{
					fmt.Sprintf("persistentvolumeclaims \"default/%s\" not found", name),
					fmt.Sprintf("persistentvolumeclaims %q not found", name),
					fmt.Sprintf("Operation cannot be fulfilled on persistentvolumeclaims %q: the object has been modified", name), // by its deletion
				}
				if err := errors.Join(x.stopsWaiting(says...), x.Settle(), x.RunFor(flushed)); err != nil {
					return err
				}
				if x.tooLate(name) {
					x.unsafe = nil
					if err := errors.Join(x.deletePod("web"), x.pod("web", "", "disk", "cache")); err != nil {
						return err
					}
				}
				if err := x.consistent(); err != nil {
					return err
				}
				if x.nodeOf("web") == "" {
					if err := x.claimAnew(name); err != nil {
						return err
					}
				}
				return errors.Join(x.settled(), x.cleared())
			})
		})
	}
}

// tooLate: the claim went after the scheduler's last look and before the pod's binding,
// which comes next and at the same time. Nobody stops that, upstream neither: a
// pod without a node does not protect its claims. It has a node then and never its
// volume, until somebody deletes it.
func (x *prebind) tooLate(claim string) bool {
	for _, entry := range x.Engine().Trace().Since(x.mark) {
		if entry.Actor != storagesim.Scheduler {
			continue
		}
		w, ok := entry.Record.(trace.Write)
		struck := x.Engine().Trace().Since(x.mark)[0].Time
		return ok && w.Subresource == "binding" && entry.Time.Equal(struck) &&
			slices.Equal(x.unsafe, []string{fmt.Sprintf("pod web is bound to %s, and claim %s is not bound", x.nodeOf("web"), claim)})
	}
	return false
}

// claimAnew makes the claim again. Its old disk is free again when somebody says so;
// what the rack had made is gone by itself.
func (x *prebind) claimAnew(name string) error {
	for _, disk := range []string{"disk-1", "disk-2"} {
		if x.volumes[disk].Status.Phase == v1.VolumeReleased {
			if err := x.free(disk); err != nil {
				return err
			}
		}
	}
	return x.claim(name, "5Gi", map[string]string{"disk": "local", "cache": "made"}[name])
}
