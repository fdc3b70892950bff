package provisioner_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/clustertest"
	"github.com/storagesim/storagesim/provisioner"
)

// ways are the ways to run a provisioner that matter for what a crash leaves.
func ways() map[string]func(*provisioner.Config) {
	return map[string]func(*provisioner.Config){
		"plain":             func(*provisioner.Config) {},
		"with finalizer":    func(c *provisioner.Config) { c.AddFinalizer = true },
		"with a queue":      queued,
		"with both of them": func(c *provisioner.Config) { c.AddFinalizer = true; queued(c) },
	}
}

func queued(c *provisioner.Config) {
	c.CreateProvisionedPVLimiter = &control.RateLimiter{Base: time.Second, Max: time.Minute}
}

// steps takes so many steps, or fewer if done holds before.
func (x *shelfRig) steps(t *testing.T, n int, done func() bool) (all bool) {
	t.Helper()
	for range n {
		if done() {
			return false
		}
		_, err := x.Step()
		require.NoError(t, err)
	}
	return true
}

// semantics: section 3 must 2, at every yield point there is.
func TestACrashAtAnyYieldPointOfProvisioningMakesOneVolume(t *testing.T) {
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			points := 0
			for ; ; points++ {
				x, err := newShelfRig(storagesim.Config{}, way)
				require.NoError(t, err)
				require.NoError(t, x.Apply(clustertest.ShelfClaim("data")))
				more := x.steps(t, points, func() bool { return x.bound("data") })
				require.NoError(t, x.Crash(clustertest.ShelfName))
				require.NoError(t, x.Settle())
				claim, err := x.Claim("data")
				require.NoError(t, err)
				require.True(t, x.bound("data"), "after a crash at step %d:\n%s", points, x.Story())
				require.Len(t, x.shelf.Holds, 1)
				require.Equal(t, 1, x.shelf.Made[x.volumeOf[string(claim.UID)]])
				require.NoError(t, x.Delete("pvc/data"))
				require.NoError(t, x.Settle())
				require.NoError(t, x.RequireNoLeaks(), "after a crash at step %d:\n%s", points, x.Story())
				require.Empty(t, x.shelf.Holds)
				require.NoError(t, x.safe())
				require.NoError(t, x.Close())
				if !more {
					break
				}
			}
			require.Greater(t, points, 10)
		})
	}
}

// semantics: section 3 must 10 and 11, at every yield point there is.
func TestACrashAtAnyYieldPointOfDeletionLeavesNothing(t *testing.T) {
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			points := 0
			for ; ; points++ {
				x, err := newShelfRig(storagesim.Config{}, way)
				require.NoError(t, err)
				require.NoError(t, x.Apply(clustertest.ShelfClaim("data")))
				require.NoError(t, x.Settle())
				require.NoError(t, x.Delete("pvc/data"))
				more := x.steps(t, points, func() bool { return len(x.volumeOf) == 0 })
				require.NoError(t, x.Crash(clustertest.ShelfName))
				require.NoError(t, x.Settle())
				require.NoError(t, x.RequireNoLeaks(), "after a crash at step %d:\n%s", points, x.Story())
				require.Empty(t, x.shelf.Holds)
				require.Empty(t, x.volumeOf)
				require.NoError(t, x.safe())
				require.NoError(t, x.Close())
				if !more {
					break
				}
			}
			require.Greater(t, points, 10)
		})
	}
}

// unlucky is one run in which the provisioner has every trouble there is, while
// two claims come and go.
type unlucky struct {
	*shelfRig
	rng *rand.Rand
	// held are actor and resource of caches that are behind.
	held [][2]string
	// lasting has no claim deleted before the trouble is over: then nothing at
	// all may leak.
	lasting bool
	lastPut map[string]int // volume -> crashes when Provision last put it there
}

func newUnlucky(c *explore.Cluster) (*unlucky, error) {
	x := &unlucky{rng: rand.New(rand.NewPCG(c.Seed(), 3)), lastPut: map[string]int{}}
	way := []string{"plain", "with finalizer", "with a queue", "with both of them"}[x.rng.IntN(4)]
	x.lasting = x.rng.IntN(2) == 0
	rig, err := shelfRigOf(c.Cluster, ways()[way], func(c *provisioner.Config) { c.FailedProvisionThreshold = -1 })
	if err != nil {
		return nil, err
	}
	x.shelfRig = rig
	x.shelf.OnPut = func(name string) { x.lastPut[name] = x.crashes() }
	return x, nil
}

// trouble has the API, the backend and the process fail.
func (x *unlucky) trouble() error {
	down := apierrors.NewInternalError(errors.New("etcd is down"))
	create := engine.Fault{Actor: clustertest.ShelfName, Verb: "create", Resource: "persistentvolumes"}
	if x.rng.IntN(2) == 0 {
		create.Times, create.Err = 1+x.rng.IntN(7), down
	} else {
		create.After = true
	}
	errs := []error{x.Inject(create)}
	for range x.rng.IntN(3) {
		errs = append(errs, x.Inject(engine.Fault{
			Actor: clustertest.ShelfName, Skip: x.rng.IntN(6), After: x.rng.IntN(2) == 0, Crash: true, Restart: time.Duration(x.rng.IntN(40)) * time.Second,
		}))
	}
	boom := errors.New("boom")
	x.faulty.OnProvision([]provisioner.Answer{
		{Err: boom, Times: 1 + x.rng.IntN(3)},
		{AnswerLost: true, Times: 1 + x.rng.IntN(3)},
		{Err: boom, State: provisioner.ProvisioningInBackground},
		{Before: func() { _ = x.Crash(clustertest.ShelfName) }},
		{Panic: "oh"},
	}[x.rng.IntN(5)])
	x.faulty.OnDelete([]provisioner.Answer{
		{Err: boom, Times: 1 + x.rng.IntN(3)},
		{AnswerLost: true},
		{Before: func() { _ = x.Crash(clustertest.ShelfName) }},
		{Panic: "oh"},
	}[x.rng.IntN(4)])
	if x.rng.IntN(3) == 0 {
		hold := [2]string{clustertest.ShelfName, []string{"persistentvolumes", "persistentvolumeclaims"}[x.rng.IntN(2)]}
		x.held = append(x.held, hold)
		errs = append(errs, x.Hold(hold[0], hold[1]))
	}
	return errors.Join(errs...)
}

// act does what a user may do, or has the process die.
func (x *unlucky) act() error {
	name := []string{"a", "b"}[x.rng.IntN(2)]
	switch x.rng.IntN(4) {
	case 0:
		return x.Apply(clustertest.ShelfClaim(name))
	case 1:
		if x.lasting {
			return nil
		}
		return clustertest.IgnoreMissing(x.Delete("pvc/" + name))
	case 2:
		return x.Crash(clustertest.ShelfName)
	}
	return x.trouble()
}

// calm ends all trouble and lets time pass.
func (x *unlucky) calm() error {
	x.Engine().ClearFaults()
	x.faulty.Clear()
	for _, hold := range x.held {
		if err := x.Release(hold[0], hold[1]); err != nil {
			return err
		}
	}
	x.held = nil
	return errors.Join(x.RunFor(20*time.Minute), x.Settle())
}

func (x *unlucky) play() error {
	if err := errors.Join(x.trouble(), x.Apply(clustertest.ShelfClaim("a"), clustertest.ShelfClaim("b"))); err != nil {
		return err
	}
	for range 2 + x.rng.IntN(5) {
		for range x.rng.IntN(25) {
			if _, err := x.Step(); err != nil {
				return err
			}
		}
		if err := errors.Join(x.RunFor(time.Duration(x.rng.IntN(30000))*time.Millisecond), x.act()); err != nil && !apierrors.IsForbidden(err) {
			return err
		}
	}
	if err := errors.Join(x.calm(), x.Apply(clustertest.ShelfClaim("a"), clustertest.ShelfClaim("b")), x.Settle()); err != nil {
		return err
	}
	for _, name := range []string{"a", "b"} {
		if !x.bound(name) {
			return fmt.Errorf("claim %s is not bound in the end", name)
		}
	}
	if err := errors.Join(x.Delete("pvc/a", "pvc/b"), x.Settle(), x.RunFor(20*time.Minute), x.safe()); err != nil {
		return err
	}
	return x.unlessForgotten(x.RequireNoLeaks())
}

// unlessForgotten takes from the leaks those volumes that nobody remembers (bug 1,
// kubernetes-csi/external-provisioner 486): the process died after it had made
// one and before it had saved its object, and when it was back the claim was
// gone.
func (x *unlucky) unlessForgotten(err error) error {
	var found *storagesim.LeakError
	if x.lasting || !errors.As(err, &found) {
		return err
	}
	var rest []storagesim.Leak
	for _, leak := range found.Leaks {
		var uid string
		_, scanErr := fmt.Sscanf(leak.What, "volume pvc-%36s in the backend", &uid)
		crashed := x.crashes() > x.lastPut["pvc-"+uid]
		if scanErr != nil || x.hadOne[uid] || x.claims[uid] != nil || !crashed {
			rest = append(rest, leak)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return &storagesim.LeakError{Leaks: rest}
}

// semantics: section 3 must 1, 2, 4, 8, 9, 10 and 11. CI tries more seeds.
func TestAnUnluckyProvisionerLeaksNothingAndMakesNothingTwice(t *testing.T) {
	t.Parallel()
	explore.Test(t, clustertest.Randomly(300, shelfConfig()), func(c *explore.Cluster) {
		x, err := newUnlucky(c)
		require.NoError(c.T, err)
		require.NoError(c.T, x.play())
	})
}
