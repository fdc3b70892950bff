package remote

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// env is the control.Env of an actor.
type env struct{ *process }

var (
	_ control.Env     = (*env)(nil)
	_ control.Outside = (*env)(nil)
)

func (v *env) Name() string                 { return v.name }
func (v *env) Client() kubernetes.Interface { return v.client }
func (v *env) Objects() control.Objects     { return v.objects }
func (v *env) Now() time.Time               { return time.Now().UTC() }

func (v *env) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if left, ends := control.Remaining(ctx, v.Now()); ends && left < d {
		v.wait(ctx, left)
		return cmp.Or(ctx.Err(), context.DeadlineExceeded)
	}
	v.wait(ctx, d)
	return ctx.Err()
}

func (v *env) Poll(ctx context.Context, interval, timeout time.Duration, cond func(context.Context) (bool, error)) error {
	return control.PollFor(ctx, v, interval, timeout, cond)
}

func (v *env) PollBackoff(ctx context.Context, intervals control.Backoff, cond func(context.Context) (bool, error)) error {
	for ; ; intervals = intervals.Next() {
		if err := v.Sleep(ctx, intervals.Wait(v.Choose)); err != nil {
			return err
		}
		if done, err := cond(ctx); done || err != nil {
			return err
		}
	}
}

func (v *env) Every(name string, period time.Duration, f func(context.Context)) {
	v.every(name, period, f, v.spawn)
}

func (v *env) Heartbeat(name string, period time.Duration, f func(context.Context)) {
	v.every(name, period, f, v.spawnAtOnce)
}

// every starts a task with spawn that calls f each period.
func (v *env) every(name string, period time.Duration, f func(context.Context), spawn func(doing string, f func(ctx context.Context))) {
	if period <= 0 {
		panic(fmt.Sprintf("%s: Every %s: the period %s is not positive", v.name, name, period))
	}
	spawn(name, func(ctx context.Context) {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			v.outside(func() {
				select {
				case <-ticker.C:
				case <-v.ctx.Done():
				}
			})
			f(ctx)
		}
	})
}

func (v *env) Go(name string, f func(context.Context)) { v.spawn(name, f) }

func (v *env) Trace(r trace.Record) { v.run.tell(v.name, r) }

func (v *env) Choose(n int) int { return rand.IntN(n) }

// IsLive implements control.Outside.
func (v *env) IsLive() bool { return true }

// Await implements control.Outside. It waits until the time that ctx leaves has passed.
func (v *env) Await(ctx context.Context, ask func() <-chan struct{}) (answered bool) {
	answer := ask()
	if answer == nil {
		return true
	}
	var late <-chan time.Time
	if left, ends := control.Remaining(ctx, v.Now()); ends {
		timer := time.NewTimer(left)
		defer timer.Stop()
		late = timer.C
	}
	v.outside(func() {
		select {
		case <-answer:
			answered = true
		case <-late:
		case <-v.ctx.Done():
		}
	})
	return answered
}
