package attacher

import (
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/trace"
)

// Explain says why the attacher that runs as an actor works on nothing: it still waits for its driver. Otherwise it
// returns "". The status of a VolumeAttachment says what the attacher did with it.
func Explain(actor string, log *trace.Log) string { return sidecar.Waits(actor, log) }
