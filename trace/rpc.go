package trace

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// RPC is a gRPC call as its caller sees it.
type RPC struct {
	// Driver is the name of the CSI driver, and Machine the machine of the
	// socket, "node/node-1".
	Driver, Machine string
	// Service and Method are, for example, "csi.v1.Node" and "NodeStageVolume".
	Service, Method string
	// Request and Answer are the fields that were set, by their names in the protocol.
	// Secrets are replaced by Stripped.
	Request, Answer map[string]any
	// Code is the answer's code, "OK" or for example "Unavailable", and Err its message.
	Code, Err string
	// Took is the virtual time that the caller waited.
	Took time.Duration
	// Fault says what a fault did to the call, empty without one.
	Fault string
	// Stack is the stack of the driver's code if it panicked or did not return. No story tells it.
	Stack string
	// Routine is set for calls that are made again and again, such as Probe. They are
	// details as long as they succeed.
	Routine bool
	// Repeated is set if the caller's last call of this method failed with the same error. Such a
	// call is a detail, too.
	Repeated bool
}

// Stripped stands for a secret.
const Stripped = "***stripped***"

// Topic implements Record.
func (r RPC) Topic() string {
	if r.Routine && (r.Repeated || r.Code == "OK" && r.Fault == "") {
		return "call"
	}
	return "grpc"
}

func (r RPC) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "calls %s of %s", r.Method, r.Driver)
	if said := telling(r.Request); said != "" {
		b.WriteString(" with " + said)
	}
	b.WriteString(": " + r.Code)
	if r.Err != "" {
		b.WriteString(": " + r.Err)
	}
	if said := telling(r.Answer); said != "" && r.Code == "OK" {
		b.WriteString(", " + said)
	}
	if r.Took > 0 {
		fmt.Fprintf(&b, " after %s", r.Took)
	}
	if r.Fault != "" {
		fmt.Fprintf(&b, " (fault: %s)", r.Fault)
	}
	return b.String()
}

// telling returns the fields that a sentence shows, "volume_id vol-1, node_id node-1". Those of
// an inner message, such as the volume of an answer, are shown as its own.
func telling(fields map[string]any) string {
	var said []string
	shown := []string{"name", "volume_id", "snapshot_id", "node_id", "staging_target_path", "target_path", "volume_path", "available_capacity", "ready"}
	for _, key := range shown {
		if value, ok := fields[key]; ok {
			said = append(said, fmt.Sprintf("%s %v", key, value))
		}
	}
	for _, key := range []string{"volume", "snapshot"} {
		if inner, ok := fields[key].(map[string]any); ok {
			if text := telling(inner); !slices.Contains(said, text) && text != "" {
				said = append(said, text)
			}
		}
	}
	return strings.Join(said, ", ")
}
