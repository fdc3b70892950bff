package attacher

import (
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/trace"
)

// Explain says why the attacher that runs as an actor works on nothing at all: it still waits
// for its driver. Otherwise it is "". What it did with one VolumeAttachment is in the status of
// that.
func Explain(actor string, log *trace.Log) string { return sidecar.Waits(actor, log) }
