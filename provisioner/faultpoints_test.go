package provisioner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/storagesimtest"
)

// rigForTest returns a shelfRig that finds out soon that a call does not return.
func rigForTest(t *testing.T, change ...func(*provisioner.Config)) *shelfRig {
	t.Helper()
	return newShelfRig(t, storagesim.Config{Blocked: 100 * time.Millisecond}, change...)
}

func refusals(n int) engine.Fault {
	return engine.Fault{Actor: clustertest.ShelfName, Verb: "create", Resource: "pv", Times: n, Err: apierrors.NewInternalError(errors.New("etcd is down"))}
}

// ends deletes the claim, and then nothing may be left.
func (x *shelfRig) ends() {
	x.T.Helper()
	x.Delete("pvc/data")
	x.RunFor(30 * time.Minute)
	x.RequireNoLeaks()
	require.Empty(x.T, x.shelf.Holds)
	x.safe()
}

// The fault points, each on its own: what a test of a provisioner can have happen.
func TestTheFaultPointsOfAProvisioner(t *testing.T) {
	boom := errors.New("boom")
	tests := map[string]struct {
		inject func(x *shelfRig)
		says   []string // reasons of events on the claim that the fault adds
		failed int      // attempts counted as failed
	}{
		"the API refuses 4 creates of the volume": {func(x *shelfRig) { x.Inject(refusals(4)) }, nil, 0},
		"the API refuses 5, and the asset is cleaned up": {func(x *shelfRig) { x.Inject(refusals(5)) },
			[]string{"ProvisioningFailed"}, 1},
		"and cleaning up fails too": {func(x *shelfRig) {
			x.faulty.OnDelete(provisioner.Answer{Err: boom, Times: 5})
			x.Inject(refusals(5))
		}, []string{"ProvisioningCleanupFailed", "ProvisioningFailed"}, 1},
		"Provision fails finally": {func(x *shelfRig) {
			x.faulty.OnProvision(provisioner.Answer{Err: boom, Times: 2})
		}, []string{"ProvisioningFailed"}, 2},
		"Provision fails in background": {func(x *shelfRig) {
			x.faulty.OnProvision(provisioner.Answer{Err: boom, State: provisioner.ProvisioningInBackground})
		}, []string{"ProvisioningFailed"}, 1},
		"Provision succeeds and its answer is lost": {func(x *shelfRig) {
			x.faulty.OnProvision(provisioner.Answer{AnswerLost: true})
		}, []string{"ProvisioningFailed"}, 1},
		"Delete fails": {func(x *shelfRig) {
			x.faulty.OnDelete(provisioner.Answer{Err: boom, Times: 3})
		}, nil, 0},
		"Delete succeeds and its answer is lost": {func(x *shelfRig) {
			x.faulty.OnDelete(provisioner.Answer{AnswerLost: true})
		}, nil, 0},
		"the process dies in Provision": {func(x *shelfRig) {
			x.faulty.OnProvision(provisioner.Answer{Before: func() { _ = x.Cluster.Cluster.Crash(clustertest.ShelfName) }})
		}, nil, 0},
		"the process dies in Delete": {func(x *shelfRig) {
			x.faulty.OnDelete(provisioner.Answer{Before: func() { _ = x.Cluster.Cluster.Crash(clustertest.ShelfName) }})
		}, nil, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			x := rigForTest(t)
			tt.inject(x)
			x.Apply(clustertest.ShelfClaim("data"))
			x.RunFor(5 * time.Minute)
			require.True(t, x.bound("data"))
			require.Equal(t, append([]string{"ExternalProvisioning", "Provisioning"}, append(tt.says, "ProvisioningSucceeded")...), x.says("data"))
			counters, err := x.Lab().Counters(clustertest.ShelfName)
			require.NoError(t, err)
			require.Equal(t, tt.failed, counters.PersistentVolumeClaimProvisionFailedTotal.Sum())
			require.Equal(t, 1, counters.PersistentVolumeClaimProvisionTotal.Of(provisioner.Labels{Class: "shelf"}))
			x.ends()
		})
	}
}

// semantics: section 3 must 4: what was made in the background is found even
// after the claim has been deleted, and deleted then.
func TestAnAnswerLostIsAskedForAgainAfterTheClaimIsGone(t *testing.T) {
	x := rigForTest(t)
	x.faulty.OnProvision(provisioner.Answer{AnswerLost: true})
	x.Apply(clustertest.ShelfClaim("data"))
	x.RunFor(time.Second)
	require.Len(t, x.shelf.Holds, 1)
	x.ends()
}

// semantics: section 3 must 6, through the cluster: the scheduler chooses again.
func TestARescheduleGoesBackToTheScheduler(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")})
	p := &provisioner.Faulty{Provisioner: clustertest.NewShelf()}
	c.AddProvisioner(clustertest.ShelfName, p)
	p.OnProvision(provisioner.Answer{Err: errors.New("no room here"), State: provisioner.ProvisioningReschedule})
	var removed int
	c.Engine().Server().OnWrite(countNodeRemovals(&removed))
	c.Apply(clustertest.ShelfClass+"volumeBindingMode: WaitForFirstConsumer", clustertest.ShelfClaim("data"), `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: nginx}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`)
	c.RunFor(10 * time.Minute)
	require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
	require.Equal(t, 1, removed)
}

func TestAProvisionerThatIsNotThereHasNoCounters(t *testing.T) {
	x := rigForTest(t)
	_, err := x.Lab().Counters("example.com/shelv")
	require.EqualError(t, err, `no provisioner is called "example.com/shelv" (did you mean "example.com/shelf"?); expected example.com/shelf`)
}

// Bad input: an event on the claim that names what is wrong, and the rest of the
// cluster goes on, among it the same provisioner's other claims.
func TestARogueProvisionerHarmsOnlyItsOwnClaim(t *testing.T) {
	never := make(chan bool)
	t.Cleanup(func() { close(never) })
	tests := map[string]struct {
		provision func(*v1.PersistentVolume) (*v1.PersistentVolume, error)
		reason    string
		says      string
	}{
		"blocks": {func(*v1.PersistentVolume) (*v1.PersistentVolume, error) { <-never; return nil, nil },
			"ProvisioningBlocked", "provisioner example.com/shelf does not return from Provision"},
		"returns nil": {func(*v1.PersistentVolume) (*v1.PersistentVolume, error) { return nil, nil },
			"ProvisioningFailed", "provisioner example.com/shelf returned neither a volume nor an error"},
		"returns somebody else's volume": {func(v *v1.PersistentVolume) (*v1.PersistentVolume, error) { v.Name = "precious"; return v, nil },
			"ProvisioningFailed", `provisioner example.com/shelf returned a volume named "precious"; it must be named "pvc-`},
		"returns unknown access modes": {func(v *v1.PersistentVolume) (*v1.PersistentVolume, error) {
			v.Spec.AccessModes = []v1.PersistentVolumeAccessMode{"ReadWriteSometimes"}
			return v, nil
		}, "ProvisioningFailed", `spec.accessModes: Unsupported value: "ReadWriteSometimes"`},
		"returns no capacity": {func(v *v1.PersistentVolume) (*v1.PersistentVolume, error) { v.Spec.Capacity = nil; return v, nil },
			"ProvisioningFailed", "spec.capacity: Required value"},
		"returns no source": {func(v *v1.PersistentVolume) (*v1.PersistentVolume, error) {
			v.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{}
			return v, nil
		}, "ProvisioningFailed", "must specify a volume type"},
		"returns an unknown reclaim policy": {func(v *v1.PersistentVolume) (*v1.PersistentVolume, error) {
			v.Spec.PersistentVolumeReclaimPolicy = "Forget"
			return v, nil
		}, "ProvisioningFailed", `spec.persistentVolumeReclaimPolicy: Unsupported value: "Forget"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			x := rigForTest(t)
			x.faulty.Provisioner = &clustertest.Rogue{Shelf: x.shelf, Change: tt.provision}
			x.Apply(clustertest.ShelfClaim("bad"), clustertest.ShelfClaim("data"))
			x.RunFor(5 * time.Minute)
			require.True(t, x.bound("data"))
			require.False(t, x.bound("bad"))
			require.Contains(t, x.lastMessage(t, "bad", tt.reason), tt.says)
			x.ends()
		})
	}
}

// A volume that already belongs to a claim is not taken from it.
func TestAProvisionerCannotTakeAVolumeByItsClaimRef(t *testing.T) {
	x := rigForTest(t)
	x.faulty.Provisioner = &clustertest.Rogue{Shelf: x.shelf, Change: func(v *v1.PersistentVolume) (*v1.PersistentVolume, error) {
		v.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data", UID: "not-yours"}
		v.Spec.StorageClassName = "another"
		return v, nil
	}}
	x.Apply(clustertest.ShelfClaim("data"), clustertest.ShelfClaim("bad"))
	x.RunFor(5 * time.Minute)
	require.True(t, x.bound("data"))
	require.True(t, x.bound("bad"), "the library knows better what it asked for")
}

// A panic ends the provisioner's process, as it would. What it was at is forgotten, and
// it starts again as a Deployment's pod does: at once, and then after 10s, 20s, 40s.
func TestAPanicInProvisionEndsTheProvisionersProcessAndTheStorySaysWhere(t *testing.T) {
	x := rigForTest(t)
	calls := 0
	x.faulty.Provisioner = &clustertest.Rogue{Shelf: x.shelf, Change: func(v *v1.PersistentVolume) (*v1.PersistentVolume, error) {
		if calls++; calls <= 3 {
			panic("oh")
		}
		return v, nil
	}}
	began := x.Now()
	x.Apply(clustertest.ShelfClaim("bad"))
	x.Settle()
	story := x.Story()
	for _, again := range []string{"at once", "in 10s", "in 20s"} {
		assert.Regexp(t, `panics in Provision of pvc default/bad, at [\w.-]+/faultpoints_test\.go:\d+: oh; its process ends, and starts again `+again,
			strings.Join(strings.Fields(story), " "))
	}
	assert.NotContains(t, story, "ProvisioningFailed", "nobody is left to say so")
	assert.Equal(t, 30*time.Second, x.Now().Sub(began).Truncate(10*time.Second))
	assert.True(t, x.bound("bad"))
}

func TestAProvisionerThatAlwaysPanicsDoesNotRunForEver(t *testing.T) {
	for name, panics := range map[string]func(provisioner.Provisioner) provisioner.Provisioner{
		"ShouldProvision": func(p provisioner.Provisioner) provisioner.Provisioner { return panicsAsked{p} },
		"SupportsBlock":   func(p provisioner.Provisioner) provisioner.Provisioner { return panicsOnBlock{p} },
	} {
		t.Run(name, func(t *testing.T) {
			c := storagesimtest.New(t, storagesim.Config{})
			c.AddProvisioner("example.com/shelf", panics(clustertest.NewShelf()))
			c.Apply(clustertest.ShelfClass, strings.Replace(clustertest.ShelfClaim("bad"), "spec:", "spec:\n  volumeMode: Block", 1))
			began := c.Now()
			c.Settle()
			assert.Less(t, c.Now().Sub(began), 2*time.Minute)
			assert.Equal(t, 5, strings.Count(c.Story(), "panics in "+name+" of pvc default/bad"), "at 0s, 0s, 10s, 30s and 70s")
			c.RunFor(time.Hour)
			assert.Less(t, strings.Count(c.Story(), "panics in "), 20)
		})
	}
}

type panicsAsked struct{ provisioner.Provisioner }

func (panicsAsked) ShouldProvision(context.Context, *v1.PersistentVolumeClaim) bool {
	none := map[string]*int{}
	*none["x"]++
	return true
}

type panicsOnBlock struct{ provisioner.Provisioner }

func (panicsOnBlock) SupportsBlock(context.Context) bool { panic(errors.New("no idea")) }

// Two replicas of a provisioner have its name and actors of their own.
func TestASecondReplicaHasAnActorOfItsOwn(t *testing.T) {
	x := rigForTest(t)
	cfg := provisioner.Config{Name: "example.com/shelf", Provisioner: x.shelf}
	require.ErrorContains(t, x.Cluster.Cluster.AddProvisionController(cfg), `actor "example.com/shelf" exists already`)
	cfg.Actor = "shelf-1"
	require.NoError(t, x.Cluster.Cluster.AddProvisionController(cfg))
	require.Contains(t, x.Engine().Actors(), "shelf-1")
}
