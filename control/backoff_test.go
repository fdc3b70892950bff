package control_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/storagesim/storagesim/control"
)

// Upstream: apimachinery util/wait Jitter and Backoff, v0.37.2.
func TestAWaitIsLongerByAPartOfItsJitter(t *testing.T) {
	intervals := control.Backoff{First: time.Second, Factor: 2, Max: 3 * time.Second}
	never := func(int) int { t.Error("nothing is to be chosen"); return 0 }
	assert.Equal(t, time.Second, intervals.Wait(never))
	intervals.Jitter = 0.1
	last := func(n int) int { return n - 1 }
	var waits []time.Duration
	for range 3 {
		waits = append(waits, intervals.Wait(last))
		intervals = intervals.Next()
	}
	assert.Equal(t, []time.Duration{1100 * time.Millisecond, 2200 * time.Millisecond, 3300 * time.Millisecond}, waits)
	assert.Equal(t, 3*time.Second, intervals.Wait(func(int) int { return 0 }))
}
