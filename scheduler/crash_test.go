package scheduler_test

import (
	"context"
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
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/trace"
)

// The scheduler's process ends anywhere in PreBind and starts again at once.
// semantics: section 2.3, no API rollback.
func TestASchedulerThatCrashesAnywhereInPreBindGoesOn(t *testing.T) {
	everyStep(t, func(x *prebind) {
		written := x.written()
		x.Crash(storagesim.Scheduler)
		x.settled()
		if now := x.written(); !strings.HasPrefix(now, written) {
			x.T.Fatalf("before the crash %q was written, and in the end it is %q", written, now)
		}
		x.cleared()
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
						err := seedtest.Try(t, func(t testing.TB) {
							x := newPrebind(t, seed)
							x.Inject(engine.Fault{Actor: storagesim.Scheduler, Skip: skip, After: after, Crash: true, Restart: down})
							x.settled()
							crashed = clustertest.ContainsLine(x.Story(), storagesim.Scheduler, "starts again")
							x.cleared()
						})
						require.NoError(t, err, "crash at call %d", skip)
						require.True(t, crashed || skip >= 4, "nomination, disk, cache, binding: %d calls", skip)
					}
				})
			})
		}
	}
}

func TestANodeDeletedAnywhereInPreBind(t *testing.T) {
	everyStep(t, func(x *prebind) {
		node := x.chosen()
		x.Must(x.Client().CoreV1().Nodes().Delete(context.Background(), node, metav1.DeleteOptions{}))
		x.stopsWaiting(fmt.Sprintf("failed to get node %q", node))
		x.Settle()
		x.RunFor(flushed)
		// What had been written ties the pod to the node that is gone; without that it
		// finds another.
		if x.nodeOf("web") == "" {
			require.NotEmpty(x.T, x.written(), "nothing ties the pod to the node, and it goes to no other")
			x.node(node)
		}
		x.settled()
		x.cleared()
	})
}

// semantics: section 2 must 7
func TestAPodDeletedAnywhereInPreBind(t *testing.T) {
	everyStep(t, func(x *prebind) {
		bound := x.nodeOf("web") != ""
		x.deletePod("web")
		if !bound {
			x.stopsWaiting("pod does not exist any more", `pods "web" not found`)
		}
		x.Settle()
		x.RunFor(flushed)
		x.consistent()
		x.pod("web", "", "disk", "cache")
		x.settled()
		x.cleared()
	})
}

// Deleted and made anew in one moment, as by a StatefulSet: what was decided for the
// old pod is not used for the new one, which may go to one node only.
// bugs: 19
func TestAPodReplacedAnywhereInPreBind(t *testing.T) {
	for _, only := range []string{"", "node-1", "node-2"} {
		t.Run("for "+only, func(t *testing.T) {
			everyStep(t, func(x *prebind) {
				x.replaced(only)
				x.Settle()
				x.RunFor(flushed)
				if x.nodeOf("web") == "" {
					why := x.Explain("pod/web")
					if only == "" || !strings.Contains(x.written(), "node-") {
						x.T.Fatalf("the new pod has no node, and %q is written: %s", x.written(), why)
					}
					x.replaced("") // its volumes are on the other node, where they stay
				} else if node := x.nodeOf("web"); only != "" && node != only {
					x.T.Fatalf("the new pod is on %s", node)
				}
				x.settled()
				x.cleared()
			})
		})
	}
}

// The old pod's wait goes on for the new one's volumes, as the pod's name is all that it looks at. Which of the two
// is bound first is a race of two polls: if the new pod is, the failure of the old one is written into its status.
func TestAFailureOfThePodBeforeIsWrittenIntoThePodThatTookItsName(t *testing.T) {
	for _, byUID := range []bool{false, true} {
		var blamed int
		for at := 3100 * time.Millisecond; at < 5*time.Second; at += 100 * time.Millisecond {
			r := newRig(t, storagesim.Config{Scheduler: scheduler.Config{WaitByUID: byUID}}, "node-1")
			r.addRack()
			r.Inject(engine.Fault{Actor: rackName, Verb: "create", Resource: "pv", Delay: 5200 * time.Millisecond})
			r.claim("cache", "5Gi", "made")
			r.pod("web", "", "cache")
			r.RunFor(at)
			r.deletePod("web")
			r.pod("web", "", "cache")
			r.RunFor(time.Minute)
			require.Equal(t, "node-1", r.nodeOf("web"))
			for _, c := range r.pods["default/web"].Status.Conditions {
				if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse {
					require.Equal(t, v1.PodReasonSchedulerError, c.Reason)
					require.Contains(t, c.Message, "binding rejected: ")
					require.Contains(t, c.Message, "Precondition failed: UID in precondition: ")
					blamed++
				}
			}
		}
		require.Equal(t, !byUID, blamed > 0, "WaitByUID %v: %d", byUID, blamed)
	}
}

func TestAClaimDeletedAnywhereInPreBind(t *testing.T) {
	for _, name := range []string{"disk", "cache"} {
		t.Run(name, func(t *testing.T) {
			everyStep(t, func(x *prebind) {
				x.Delete("pvc/" + name)
				x.stopsWaiting(
					fmt.Sprintf("persistentvolumeclaims \"default/%s\" not found", name),
					fmt.Sprintf("persistentvolumeclaims %q not found", name),
					fmt.Sprintf("Operation cannot be fulfilled on persistentvolumeclaims %q: the object has been modified", name), // by its deletion
				)
				x.Settle()
				x.RunFor(flushed)
				if x.tooLate(name) {
					x.unsafe = nil
					x.replaced("")
				}
				x.consistent()
				if x.nodeOf("web") == "" {
					x.claimAnew(name)
				}
				x.settled()
				x.cleared()
			})
		})
	}
}

// tooLate: the claim went after the scheduler's last look and before the pod's binding,
// which comes next and at the same time. Nothing prevents that, upstream neither: a
// pod without a node does not protect its claims. It has a node then and never its
// volume, until a user deletes it.
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

// claimAnew makes the claim again. Its old disk is free again when the administrator says so;
// what the rack had made is gone by itself.
func (x *prebind) claimAnew(name string) {
	for _, disk := range []string{"disk-1", "disk-2"} {
		if x.volumes[disk].Status.Phase == v1.VolumeReleased {
			x.free(disk)
		}
	}
	x.claim(name, "5Gi", map[string]string{"disk": "local", "cache": "made"}[name])
}
