package provisioner

import (
	"cmp"

	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/trace"
)

// Explain says why a provisioner of this configuration works on nothing at all: it still waits
// for its driver. Otherwise it is "". What it decided of one claim is the library's to explain.
func Explain(cfg Config, log *trace.Log) string {
	return sidecar.Waits(cmp.Or(cfg.Actor, cfg.Driver), log)
}
