package workload

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// expectationsTimeout is the time after which a controller goes on although its cache does not show all that it has done.
// Upstream: controller_utils.go ExpectationsTimeout, v1.37.
const expectationsTimeout = 5 * time.Minute

// Expectations says of each object of a controller what its cache of pods does not show yet: pods that were created, and pods that were
// deleted. Until it does, the controller makes no more: it would count wrong.
// Upstream: controller_utils.go UIDTrackingControllerExpectations, v1.37.
type Expectations struct {
	now func() time.Time
	of  map[string]*expected
}

// expected holds the changes that one object waits for. creations >= 0.
type expected struct {
	creations int
	deletions map[types.UID]bool
	since     time.Time
}

// NewExpectations returns expectations of nothing. now is the controller's clock.
func NewExpectations(now func() time.Time) *Expectations {
	return &Expectations{now: now, of: map[string]*expected{}}
}

// Satisfied reports whether the cache shows all that was done for the object, or has had the time to.
func (e *Expectations) Satisfied(key string) bool {
	x := e.of[key]
	return x == nil || x.creations == 0 && len(x.deletions) == 0 || e.now().Sub(x.since) > expectationsTimeout
}

// Expect notes what is about to be done for the object, in place of what was noted before.
func (e *Expectations) Expect(key string, creations int, deletions ...types.UID) {
	x := &expected{creations: creations, deletions: map[types.UID]bool{}, since: e.now()}
	for _, uid := range deletions {
		x.deletions[uid] = true
	}
	e.of[key] = x
}

// CreationObserved notes that the cache shows a new pod of the object, or that n pods will not come.
func (e *Expectations) CreationObserved(key string, n int) {
	if x := e.of[key]; x != nil {
		x.creations = max(x.creations-n, 0)
	}
}

// DeletionObserved notes that the cache shows that a pod goes, or that it will not.
func (e *Expectations) DeletionObserved(key string, uid types.UID) {
	if x := e.of[key]; x != nil {
		delete(x.deletions, uid)
	}
}

// Forget forgets an object that is gone.
func (e *Expectations) Forget(key string) { delete(e.of, key) }
