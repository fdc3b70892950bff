package storagesim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/unfinished"
	"github.com/storagesim/storagesim/trace"
)

// A cluster is at rest when nothing can run and no retry is near. In order that is also the end of
// what was asked for. In another order it need not be: an actor that looked at a stale cache does
// nothing until its next periodic work, on a real cluster and here, and a test that then finds the
// claim Pending would blame the program under test. So where the order is not the usual one, Settle
// lets periodic work have its turns while something is unfinished.
const (
	// roundSlice is the time after which Settle looks again: the period of the PV controller.
	roundSlice = 15 * time.Second
	// round is the time in which each actor has a turn of its periodic work, unless all have one in less; that of some, such as looking for
	// what was missed each five minutes, is not waited for. If a round brings no news, Settle ends.
	round = time.Minute
	// settleTime is the time that all rounds of one Settle may take, less than the 300 s after which
	// pods are evicted from a node that is not ready.
	settleTime = 3 * time.Minute
	// recovery is the time that the Require functions wait, where the order is not the usual one: the
	// longest backoffs are of some minutes.
	recovery = 20 * time.Minute
)

// Settle runs until the cluster is at rest: see package engine for what that
// means. It fails if an actor's own code fails, and reports a livelock.
//
// Settle does not wait for what a component does only once some time is over, since a cluster would never be at rest then: the pods of
// a node that was deleted go 40 to 60 s later, when the pod garbage collector finds them; a node whose kubelet is stopped becomes
// NotReady after 50 s, and its pods are evicted after 300 s more; a Job is deleted at the end of its ttlSecondsAfterFinished, a CronJob
// is due at its time. For these let the time pass with RunFor(time.Minute), or wait for what is to come with RunUntil.
//
// With a Config.Seed, Policy or Rounds it goes on while something is unfinished: a claim is not
// Bound or has not grown, a volume is released and to be deleted, an object is being deleted, a pod
// is not Ready, an attachment is not done. It then lets periodic work have its rounds, as a cluster
// would, until all is finished, a round has brought no news, or 3 minutes of virtual time have
// passed. A round takes a minute, or less if the longest period of what runs is shorter. Events,
// leases, heartbeats and restarts of containers are no news. Steps of these rounds are taken in
// order.
func (c *Cluster) Settle() error { return c.rested(c.settle()) }

func (c *Cluster) settle() error {
	if err := c.engine.Settle(); err != nil || c.progress == nil {
		return err
	}
	p, end := c.progress, c.Now().Add(settleTime)
	patience := min(round, max(roundSlice, c.engine.LongestPeriod()))
	for heard, at := p.news, c.Now(); len(p.unfinished) > 0 && c.Now().Before(end) && c.Now().Before(at.Add(patience)); {
		if err := c.pass(roundSlice); err != nil {
			return err
		}
		if p.news != heard {
			heard, at = p.news, c.Now()
		}
	}
	return nil
}

// unfinishedShown is the number of objects that an error names, or one more if that is all.
const unfinishedShown = 5

// withUnfinished adds to an error, in lines of their own, the objects that are not finished, and why.
func (c *Cluster) withUnfinished(err error) error {
	var refs []string
	for _, obj := range c.server().Objects(true) {
		kinds, _, failed := scheme.Scheme.ObjectKinds(obj)
		if failed == nil && unfinished.Object(obj) {
			refs = append(refs, trace.RefOf(kinds[0].Kind, obj).Path())
		}
	}
	slices.Sort(refs)
	for i, ref := range refs {
		if i == unfinishedShown && len(refs) > i+1 { // one more is named, too
			return fmt.Errorf("%w\nand %d more objects are not finished", err, len(refs)-i)
		}
		why, failed := c.Explain(ref)
		if why, _, _ = strings.Cut(why, "\n"); failed != nil {
			why = ref + " is not finished"
		}
		err = fmt.Errorf("%w\n%s", err, why)
	}
	return err
}

// rested calls the function of Lab.OnRest, unless there is an error, which it returns.
func (c *Cluster) rested(err error) error {
	if err == nil && c.onRest != nil {
		c.onRest()
	}
	return err
}

// pass lets time pass and what begins in it come to rest, in order.
func (c *Cluster) pass(d time.Duration) error {
	return c.engine.Ordered(func() error {
		if err := c.engine.RunFor(d); err != nil {
			return err
		}
		return c.engine.Settle()
	})
}

// eventually returns nil as soon as check does. Where Settle has rounds it lets time pass until
// then, at most for recovery.
func (c *Cluster) eventually(check func() error) error {
	err := check()
	if c.progress == nil || c.closed {
		return err
	}
	for wait, left := roundSlice, recovery; err != nil && left > 0; wait *= 2 {
		wait = min(wait, left)
		left -= wait
		if err := c.pass(wait); err != nil {
			return err
		}
		err = check()
	}
	_ = c.rested(nil)
	return err
}

// RunFor lets d of virtual time pass.
func (c *Cluster) RunFor(d time.Duration) error { return c.rested(c.engine.RunFor(d)) }

// RunUntil runs until cond holds. It returns an error that says what is unfinished if cond does not hold within an hour of virtual time.
func (c *Cluster) RunUntil(cond func() bool) error {
	err := c.engine.RunUntil(time.Hour, cond)
	if missed, ok := errors.AsType[*engine.ConditionError](err); ok {
		err = c.withUnfinished(missed)
	}
	return c.rested(err)
}
