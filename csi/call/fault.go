package call

import (
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/csi/socket"
)

// Fault is a deliberate failure of gRPC calls.
type Fault = socket.Fault

// strike returns the fault that strikes a call, nil if none does.
func (c *invocation) strike(after bool) *Fault {
	full := strings.TrimPrefix(c.method, "/")
	short, volume := full[strings.LastIndex(full, "/")+1:], volumeOf(c.req)
	matches := func(want, got string) bool { return want == "" || want == got }
	return c.sockets.Strike(func(f Fault) bool {
		wanted := strings.TrimPrefix(f.Method, "/")
		return (f.After || !after) && matches(f.Caller, c.env.Name()) && matches(f.Machine, c.at.Machine) &&
			matches(f.Driver, c.driver) && (matches(wanted, full) || wanted == short) && matches(f.Volume, volume)
	}, func(f Fault) bool { return f.After == after })
}

// outcome returns what happened in words, for the trace, and the error for the caller.
func outcome(f *Fault) (words string, answer error) {
	when := "before the driver gets it"
	if f.After {
		when = "after the driver has done it"
	}
	switch {
	case f.Hang:
		return "it hangs " + when, status.Error(codes.DeadlineExceeded, "context deadline exceeded")
	case f.Crash:
		return "the driver crashes " + when, errBroken()
	case f.Code != codes.OK:
		message := f.Message
		if message == "" {
			message = "injected fault"
		}
		if f.Delay > 0 {
			when += ", after " + f.Delay.String()
		}
		return "it is refused " + when, status.Error(f.Code, message)
	case f.Answer != nil:
		return "the answer is another than the driver's", nil
	case f.Delay > 0:
		return "it takes " + f.Delay.String(), nil
	}
	return "the answer is lost", errBroken()
}

// errBroken returns the error for a caller whose connection breaks during a call.
func errBroken() error { return status.Error(codes.Unavailable, "error reading from server: EOF") }
