package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Upstream: client-go util/flowcontrol Backoff, v1.37, with kubelet.go's
// MaxCrashLoopBackOff of 5 minutes.
func TestABackOffDoublesUpToFiveMinutesAndIsForgottenAfterTen(t *testing.T) {
	now := time.Unix(0, 0)
	b := backOffs{}
	_, known := b.get("c", now)
	assert.False(t, known)
	var delays []time.Duration
	for range 7 {
		b.next("c", now, now, "")
		e, _ := b.get("c", now)
		delays = append(delays, e.delay/time.Second)
		now = now.Add(e.delay)
	}
	assert.Equal(t, []time.Duration{10, 20, 40, 80, 160, 300, 300}, delays)
	updated := b["c"].updated
	_, known = b.get("c", updated.Add(10*time.Minute))
	assert.True(t, known)
	later := updated.Add(10*time.Minute + time.Second)
	_, known = b.get("c", later)
	assert.False(t, known, "it ran for more than ten minutes")
	b.next("c", later, later, "")
	assert.Equal(t, 10*time.Second, b["c"].delay)
}
