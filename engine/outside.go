package engine

import (
	"time"

	"github.com/storagesim/storagesim/control"
)

var _ control.Outside = (*env)(nil)

// Await implements control.Outside.
func (v *env) Await(ask func() <-chan struct{}) bool {
	t := v.task("Await")
	t.pause()
	answered := ask()
	if answered == nil {
		return true
	}
	select {
	case <-answered:
		return true
	default:
	}
	limit := v.engine().cfg.Blocked
	if limit < 0 {
		<-answered
		return true
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-answered:
		return true
	case <-timer.C:
		return false
	}
}
