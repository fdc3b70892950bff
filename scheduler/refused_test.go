package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/trace"
)

// fourClaims returns a pod with two claims to bind and two to provision: BindPodVolumes
// writes the disks small and large, then the claims cache and logs.
func fourClaims(c *explore.Cluster) (*rig, *rack) {
	r := rigOf(c, "node-1")
	p := r.addRack()
	r.volume("small", "1Gi", "node-1")
	r.volume("large", "9Gi", "node-1")
	r.claim("little", "1Gi", "local")
	r.claim("much", "9Gi", "local")
	r.claim("cache", "5Gi", "made")
	r.claim("logs", "5Gi", "made")
	r.Settle()
	r.pod("web", "", "little", "much", "cache", "logs")
	return r, p
}

// binderWrites are the four writes of BindPodVolumes in order.
var binderWrites = []struct{ resource, name string }{
	{"persistentvolumes", "small"}, {"persistentvolumes", "large"}, {"persistentvolumeclaims", "cache"}, {"persistentvolumeclaims", "logs"},
}

// inAPI says which of the four are in the API.
func inAPI(r *rig) []string {
	var list []string
	for _, disk := range []string{"small", "large"} {
		if r.volumes[disk].Spec.ClaimRef != nil {
			list = append(list, disk)
		}
	}
	for _, claim := range []string{"cache", "logs"} {
		if r.claims["default/"+claim].Annotations[binding.AnnSelectedNode] != "" {
			list = append(list, claim)
		}
	}
	return list
}

// Whatever write fails, and however: those before it stay, those after it are not
// made, and the next attempt makes what is missing and nothing twice.
// semantics: section 2 must 12
func TestAnyRefusedWriteLeavesThoseBeforeItAndTheNextAttemptGoesOn(t *testing.T) {
	for says, fault := range map[string]engine.Fault{
		"the object has been modified": {Err: apierrors.NewConflict(control.Pods().GroupResource(), "x", errors.New("the object has been modified"))},
		"etcd is down":                 {Err: apierrors.NewInternalError(errors.New("etcd is down")), Times: 3},
		"the answer was lost":          {After: true},
	} {
		for i, write := range binderWrites {
			t.Run(fmt.Sprintf("%s at %s", says, write.name), func(t *testing.T) {
				t.Parallel()
				explore.Test(t, randomly(5, rigConfig()), func(c *explore.Cluster) {
					t, mine := c.T, fault
					r, p := fourClaims(c)
					mine.Actor, mine.Verb, mine.Resource, mine.Name = storagesim.Scheduler, "update", write.resource, write.name
					r.Inject(mine)
					failed := func() bool {
						return clustertest.ContainsLine(r.Story(), storagesim.Scheduler, "FailedScheduling", says)
					}
					r.RunUntil(failed)
					var want []string
					for _, w := range binderWrites[:i] {
						want = append(want, w.name)
					}
					if fault.After {
						want = append(want, write.name)
					}
					require.Equal(t, want, inAPI(r))

					r.Settle()
					r.RunFor(flushed)
					r.placed("web")
					r.consistent()
					require.Len(t, p.holds, 2)
					require.Equal(t, map[string]int{"small": 1, "large": 1, "cache": 1, "logs": 1}, decisionsWritten(r))
				})
			})
		}
	}
}

// decisionsWritten counts the writes of the scheduler that changed a volume or a claim.
func decisionsWritten(r *rig) map[string]int {
	n := map[string]int{}
	for _, entry := range r.Engine().Trace().Entries() {
		if w, ok := entry.Record.(trace.Write); ok && entry.Actor == storagesim.Scheduler && w.Err == nil && w.Old != w.New && w.Kind != "Pod" {
			n[w.Name]++
		}
	}
	return n
}

// What was taken in memory and not written is given back: another pod can have it.
// semantics: section 2 must 8
func TestAVolumeThatCouldNotBeWrittenIsFreeForOthers(t *testing.T) {
	r := newRig(t, storagesim.Config{}, "node-1")
	r.volume("disk", "5Gi", "node-1")
	r.claim("a", "5Gi", "local")
	r.claim("b", "5Gi", "local")
	r.Settle()
	r.Inject(engine.Fault{Actor: storagesim.Scheduler, Verb: "update", Resource: "pv", Err: errors.New("the network is down")})
	r.pod("first", "", "a")
	r.RunFor(500 * time.Millisecond)
	r.deletePod("first")
	r.pod("second", "", "b")
	r.Settle()
	r.placed("second")
	r.consistent()
	require.Equal(t, "b", r.volumes["disk"].Spec.ClaimRef.Name)
}

// The first volume is bound, the second refused, and before the pod tries again another
// takes the second: the pod is stuck with half of its volumes until there is a volume
// more. Upstream has no answer to this, and neither has this scheduler.
// bugs: 20 (k/k 73263)
func TestAPodThatGotHalfOfItsVolumesIsStuckWhenAnotherTakesTheRest(t *testing.T) {
	r := newRig(t, storagesim.Config{}, "node-1")
	for _, disk := range []string{"disk-1", "disk-2", "disk-3"} {
		r.volume(disk, "5Gi", "node-1")
	}
	for _, claim := range []string{"a", "b", "c", "d", "e"} {
		r.claim(claim, "5Gi", "local")
	}
	r.Settle()
	second := engine.Fault{Actor: storagesim.Scheduler, Verb: "update", Resource: "pv", Skip: 1, Err: errors.New("the network is down")}
	for _, pod := range [][]string{{"first", "a", "b"}, {"second", "c", "d"}} { // each gets half
		r.Inject(second)
		r.pod(pod[0], "", pod[1:]...)
		r.RunFor(100 * time.Millisecond)
	}
	r.pod("third", "", "e")
	r.Settle()
	r.RunFor(24 * time.Hour)
	r.placed("third")
	r.consistent()
	var owners []string
	for _, disk := range []string{"disk-1", "disk-2", "disk-3"} {
		owners = append(owners, r.volumes[disk].Spec.ClaimRef.Name)
	}
	require.Equal(t, []string{"a", "c", "e"}, owners)
	for _, pod := range []string{"first", "second"} {
		require.ErrorContains(t, r.placement(pod), "didn't find available persistent volumes to bind", "stuck for good")
	}

	r.volume("disk-4", "5Gi", "node-1")
	r.volume("disk-5", "5Gi", "node-1")
	r.Settle()
	r.placed("first", "second")
	r.consistent()
}

// playHalves has a pod that needs two volumes and one that needs one race for two, while
// writes of volumes are refused. One always runs, and with a volume more both do.
func playHalves(c *explore.Cluster) {
	r := rigOf(c, "node-1", "node-2")
	seed := c.Lab().Seed()
	r.volume("disk-1", "5Gi", "node-1")
	r.volume("disk-2", "5Gi", "node-1")
	r.claim("a", "5Gi", "local")
	r.claim("b", "5Gi", "local")
	r.claim("c", "5Gi", "local")
	r.Inject(engine.Fault{Actor: storagesim.Scheduler, Verb: "update", Resource: "pv", Skip: int(seed % 3), Times: int(seed % 4), After: seed%5 == 0,
		Err: errors.New("the network is down")})
	r.pod("two", "", "a", "b")
	r.pod("one", "", "c")
	r.Settle()
	r.RunFor(flushed)
	r.consistent()
	if r.nodeOf("one") == "" && r.nodeOf("two") == "" {
		r.T.Fatal("neither runs")
	}
	r.volume("disk-3", "5Gi", "node-1")
	r.Settle()
	r.RunFor(flushed)
	r.placed("one", "two")
	r.consistent()
}

func TestPodsRacingForTwoVolumesAreNeverBothStuck(t *testing.T) {
	t.Parallel()
	explore.Test(t, randomly(100, rigConfig()), playHalves)
}

// A provisioner whose node is full gives it back until the pod is on a node with room.
// What exists already, or was made first, keeps the pod where it is.
// semantics: section 2 must 4
func TestAProvisionerThatGivesTheNodeBackIsAskedForAnother(t *testing.T) {
	explore.Test(t, randomly(40, rigConfig()), func(c *explore.Cluster) {
		if c.Lab().Seed() == 0 {
			return // in order, the first of equal nodes is taken again and again
		}
		t := c.T
		r := rigOf(c, "node-1", "node-2", "node-3")
		p := r.addRack("node-1", "node-3")
		r.claim("cache", "5Gi", "made")
		r.pod("web", "", "cache")
		r.Settle()
		r.RunFor(2 * time.Hour)
		r.placed("web")
		r.consistent()
		require.Equal(t, "node-2", r.nodeOf("web"))
		require.Equal(t, "node-2", p.asked[len(p.asked)-1])
		require.Equal(t, 1, countOf(p.asked, "node-2"), "asked once where there is room")
		r.RequireNoLeaks()
	})
}

func countOf(list []string, s string) int {
	return len(slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other != s }))
}

func TestAProvisionerThatGivesTheNodeBackIsAskedThereAgainIfADiskTiesThePod(t *testing.T) {
	explore.Test(t, randomly(4, rigConfig()), func(c *explore.Cluster) {
		t := c.T
		r := rigOf(c, "node-1", "node-2")
		p := r.addRack("node-1")
		r.volume("disk", "5Gi", "node-1")
		r.claim("disk", "5Gi", "local")
		r.claim("cache", "5Gi", "made")
		r.Settle()
		r.pod("web", "", "disk", "cache")
		r.Settle()
		r.RunFor(flushed)
		r.consistent()
		require.Empty(t, r.nodeOf("web"))
		require.Equal(t, v1.ClaimBound, r.claims["default/disk"].Status.Phase, "what is written stays")
		require.NotContains(t, p.asked, "node-2")
		require.Greater(t, len(p.asked), 5)
		delete(p.full, "node-1")
		r.RunFor(flushed)
		r.placed("web")
		r.consistent()
		r.RequireNoLeaks()
	})
}
