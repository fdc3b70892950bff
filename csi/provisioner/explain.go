package provisioner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/csi/sidecar"
	"github.com/storagesim/storagesim/trace"
)

// Explain says why a provisioner of this configuration works on nothing at all: it still waits
// for its driver. Otherwise it is "". What it decided of one claim is the library's to explain.
func Explain(cfg Config, log *trace.Log) string {
	for _, entry := range slices.Backward(log.Entries()) {
		if entry.Actor != cmp.Or(cfg.Actor, cfg.Driver) {
			continue
		}
		switch r := entry.Record.(type) {
		case trace.Decision:
			if why, ok := strings.CutPrefix(r.Text, sidecar.NotMet); ok {
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
