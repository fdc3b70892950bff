package socket

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/storagesim/storagesim/internal/fault"
)

// Fault is a deliberate failure of gRPC calls. Empty fields match anything. At most one of Code, Hang, Answer and
// Crash says what happens; Delay goes alone, or before a Code or an Answer. Without any, After must be set, and the
// answer is lost.
type Fault struct {
	// Caller is the actor that calls, "kubelet/node-1"; Machine the machine whose socket it uses,
	// "node/node-1"; Driver the name of the driver.
	Caller, Machine, Driver string
	// Method is the called method, "NodeStageVolume" or "csi.v1.Node/NodeStageVolume".
	Method string
	// Volume is the volume_id or, for CreateVolume, the name in the request.
	Volume string
	// Skip is the number of matching calls that pass first.
	Skip int
	// Times is the number of calls that it then strikes: default 1; if negative, all until Table.ClearFaults.
	Times int
	// After strikes after the driver has carried the call out, before the caller has its answer. Otherwise the
	// driver does not get the call.
	After bool

	// Code is the code that the caller gets, and Message the text with it.
	Code    codes.Code
	Message string
	// Answer changes the driver's answer, a pointer to a message such as *csi.CreateVolumeResponse; it needs After.
	Answer func(answer any)
	// Hang drops the answer: the caller waits for its deadline.
	Hang bool
	// Delay is the virtual time that the call takes: before the driver gets it, or with After until its answer
	// comes.
	Delay time.Duration
	// Crash ends the driver's process: the caller sees Unavailable. It starts again after
	// Restart, at once by default.
	Crash   bool
	Restart time.Duration
}

// Inject adds a fault, or returns an error if the fault is invalid. Of several that match a call, the one added first
// strikes, whether before the driver gets the call or after.
func (t *Table) Inject(f Fault) error {
	what := 0
	for _, set := range []bool{f.Code != codes.OK, f.Hang, f.Answer != nil, f.Crash} {
		if set {
			what++
		}
	}
	negative := cmp.Or(fault.NotNegative("call.Fault.Delay", f.Delay), fault.NotNegative("call.Fault.Restart", f.Restart),
		fault.NotNegative("call.Fault.Skip", f.Skip))
	switch {
	case negative != nil:
		return negative
	case f.Code > codes.Unauthenticated:
		return fmt.Errorf("call.Fault.Code: %d is not a gRPC code; those are 1 to %d", f.Code, codes.Unauthenticated)
	case what > 1 || f.Delay > 0 && (f.Hang || f.Crash):
		return errors.New("call.Fault: only one of Code, Hang, Answer and Crash can be set, and Delay only alone or with Code or Answer")
	case what == 0 && f.Delay == 0 && !f.After:
		return errors.New("call.Fault: one of Code, Hang, Delay, Answer, Crash and After must be set")
	case f.Answer != nil && !f.After:
		return errors.New("call.Fault.Answer: the driver must have answered before; set After, too")
	case f.Restart > 0 && !f.Crash:
		return errors.New("call.Fault.Restart: it is the downtime of a Crash, which is not set")
	case f.Message != "" && f.Code == codes.OK:
		return errors.New("call.Fault.Message: it is the text of a Code, which is not set")
	}
	if err := checkMethod(f.Method); err != nil {
		return err
	}
	t.faults.Add(f, f.Skip, f.Times)
	return nil
}

// ClearFaults removes all faults.
func (t *Table) ClearFaults() { t.faults.Clear() }

// MissedFaults returns the injected faults that have struck nothing so far.
func (t *Table) MissedFaults() []Fault { return t.faults.Missed() }

// String returns the fault in a few words, such as "fault of NodeStageVolume of kubelet/node-1".
func (f Fault) String() string {
	text := "fault of " + cmp.Or(f.Method, "any call")
	if f.Caller != "" {
		text += " of " + f.Caller
	}
	if f.Skip > 0 {
		text += fmt.Sprintf(" (number %d)", f.Skip+1)
	}
	return text
}

// Strike returns the first fault that matches, nil if none does, or if the first does not strike now.
func (t *Table) Strike(matches, now func(Fault) bool) *Fault {
	if !t.faults.Any() {
		return nil
	}
	f, struck := t.faults.StrikeNow(matches, now)
	if !struck {
		return nil
	}
	return &f
}
