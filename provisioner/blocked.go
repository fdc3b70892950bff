package provisioner

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// call is a call of the provisioner's code that has not returned.
type call struct {
	method string
	about  control.Object // the claim or volume
	since  time.Time
}

// foreign calls third-party code about a claim or volume. With an Env that implements
// control.Foreign, the rest of the cluster goes on if that code never returns, and this
// process ends if it panics.
func (ctrl *provisionController) foreign(method string, about control.Object, f func()) {
	c := &call{method: method, about: about, since: ctrl.env.Now()}
	ctrl.calls = append(ctrl.calls, c)
	defer func() {
		ctrl.calls = slices.DeleteFunc(ctrl.calls, func(other *call) bool { return other == c })
	}()
	env, ok := ctrl.env.(control.Foreign)
	if !ok {
		f()
		return
	}
	env.Foreign(method, refOf(about), f, func(took time.Duration) {
		ctrl.sayBlocked(c, fmt.Sprintf("it has blocked for %s of real time, on a lock or a channel perhaps; one worker of %d is lost", took, ctrl.cfg.Threadiness))
	})
}

func refOf(about control.Object) trace.Ref {
	if _, ok := about.(*v1.PersistentVolume); ok {
		return trace.RefOf("PersistentVolume", about)
	}
	return trace.RefOf("PersistentVolumeClaim", about)
}

// reportBlocked says of each call that has been under way for a whole resync
// period that it does not return.
func (ctrl *provisionController) reportBlocked() {
	for _, c := range ctrl.calls {
		if took := ctrl.env.Now().Sub(c.since); took >= ctrl.cfg.ResyncPeriod {
			ctrl.sayBlocked(c, fmt.Sprintf("it has been under way for %s", took))
		}
	}
}

func (ctrl *provisionController) sayBlocked(c *call, how string) {
	reason := "ProvisioningBlocked"
	if _, ok := c.about.(*v1.PersistentVolume); ok {
		reason = "VolumeDeleteBlocked"
	}
	ctrl.events.Eventf(c.about, v1.EventTypeWarning, reason, "provisioner %s does not return from %s: %s", ctrl.cfg.Name, c.method, how)
}
