package provisioner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

// statusError is an error as google.golang.org/grpc/status makes them: it has a
// status, which has a code of a type of its own.
type statusError struct{ code statusCode }

type (
	statusCode uint32
	status     struct{ code statusCode }
)

func (e *statusError) Error() string       { return fmt.Sprintf("rpc error: code = %d", e.code) }
func (e *statusError) GRPCStatus() *status { return &status{e.code} }
func (s *status) Code() statusCode         { return s.code }

const invalidArgument statusCode = 3

// askedAfter returns the times of the calls of Provision, counted from the claim's creation.
func (w *world) askedAfter(begin time.Time) []time.Duration {
	var after []time.Duration
	for _, at := range w.backend.asked {
		after = append(after, at.Sub(begin))
	}
	return after
}

// semantics 3 must 13.
func TestAnInfeasibleClaimRestsFiveMinutesWhateverHappensToIt(t *testing.T) {
	w := newWorld(t, nil, func(c *provisioner.Config) { c.ResyncPeriod = 1000 * time.Hour })
	w.backend.fails = fmt.Errorf("creating: %w", &statusError{invalidArgument})
	w.backend.state = provisioner.ProvisioningInBackground // it is ignored
	begin := w.Now()
	w.claim()
	for i := range 4 {
		require.NoError(t, w.RunFor(time.Minute))
		w.touch(fmt.Sprint(i))
	}
	require.NoError(t, w.RunFor(10*time.Minute))
	// Retries at 15 s, 45 s, 105 s, 225 s and 465 s, as all failures, and a sync at
	// each minute: those within five minutes of an answer do not reach it.
	asked := w.askedAfter(begin)
	require.GreaterOrEqual(t, len(asked), 2)
	assert.Zero(t, asked[0])
	for i := 1; i < len(asked); i++ {
		assert.GreaterOrEqual(t, asked[i]-asked[i-1], 5*time.Minute)
	}
	assert.Contains(t, w.events("data")["ProvisioningFailed"],
		`Volume provisioning failed with infeasible error. Retries will be delayed. creating: rpc error: code = 3`)
}

func TestAnInfeasibleClaimIsTriedAtOnceUnderANewClass(t *testing.T) {
	w := newWorld(t, nil)
	w.backend.fails = &statusError{invalidArgument}
	w.claim()
	require.NoError(t, w.RunFor(time.Second))
	w.touch("in-vain")
	require.NoError(t, w.RunFor(time.Second))
	require.Len(t, w.backend.asked, 1)

	w.backend.fails = nil
	require.NoError(t, w.user.StorageV1().StorageClasses().Delete(context.Background(), "fast", metav1.DeleteOptions{}))
	w.class("fast", name) // of the same name, with another UID
	w.touch("now")
	require.NoError(t, w.RunFor(time.Second))
	assert.Len(t, w.backend.asked, 2)
	assert.Len(t, w.volumes(), 1)
}

func TestHowLongAnInfeasibleClaimRestsCanBeSet(t *testing.T) {
	w := newWorld(t, nil, func(c *provisioner.Config) { c.RetryIntervalMax = 40 * time.Second })
	w.backend.fails = &statusError{invalidArgument}
	begin := w.Now()
	w.claim()
	require.NoError(t, w.RunFor(100*time.Second))
	assert.Equal(t, []time.Duration{0, 45 * time.Second}, w.askedAfter(begin))
}

func TestTheRestsErrorsCountAsFailures(t *testing.T) {
	w := newWorld(t, nil, func(c *provisioner.Config) { c.FailedProvisionThreshold, c.ResyncPeriod = 2, 1000*time.Hour })
	w.backend.fails = &statusError{invalidArgument}
	w.claim()
	require.NoError(t, w.RunFor(time.Hour))
	assert.Len(t, w.backend.asked, 1, "two of three failures were spent resting")
}

// Only InvalidArgument is infeasible; gRPC's other codes are ordinary errors.
func TestOtherCodesAreOrdinaryErrors(t *testing.T) {
	for what, err := range map[string]error{
		"ResourceExhausted": &statusError{8},
		"no status":         errors.New("rpc error: code = 3"),
		"a status of nil":   &noStatus{},
	} {
		w := newWorld(t, nil)
		w.backend.fails = err
		w.claim()
		require.NoError(t, w.RunFor(time.Minute))
		assert.Len(t, w.backend.asked, 3, what)
	}
}

type noStatus struct{}

func (*noStatus) Error() string       { return "no status" }
func (*noStatus) GRPCStatus() *status { return nil }

func TestOneInfeasibleErrorAmongSeveralIsEnough(t *testing.T) {
	w := newWorld(t, nil)
	w.backend.fails = errors.Join(errors.New("x"), &statusError{invalidArgument})
	w.claim()
	require.NoError(t, w.RunFor(time.Minute))
	assert.Len(t, w.backend.asked, 1)
}
