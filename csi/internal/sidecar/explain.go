package sidecar

import (
	"slices"
	"strings"

	"github.com/storagesim/storagesim/trace"
)

// Waits says why a sidecar, the actor of that name, works on nothing: it still waits for its driver. Otherwise it
// returns "".
func Waits(actor string, log *trace.Log) string {
	for _, entry := range slices.Backward(log.Entries()) {
		if entry.Actor != actor {
			continue
		}
		switch r := entry.Record.(type) {
		case trace.Decision:
			if why, ok := strings.CutPrefix(r.Text, NotMet); ok {
				return "it cannot start: " + why
			}
			return ""
		case trace.RPC:
			if r.Routine && r.Code != "OK" {
				return "it waits for its driver: " + r.Method + " answers " + r.Code + ": " + r.Err
			}
			return ""
		case trace.Write, trace.Event, trace.Call:
			return ""
		}
	}
	return ""
}
