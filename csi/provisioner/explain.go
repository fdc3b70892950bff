package provisioner

import (
	"cmp"

	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/trace"
)

// Explain says why a provisioner of this configuration works on nothing: it still waits for its driver. Otherwise it
// returns "". The library explains its decisions on a claim.
func Explain(cfg Config, log *trace.Log) string {
	return sidecar.Waits(cmp.Or(cfg.Actor, cfg.Driver), log)
}
