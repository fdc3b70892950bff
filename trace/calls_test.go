package trace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The story of a failure tells a provisioner's calls. Those of a CSI sidecar are told as the driver's.
func TestACallOfACSIProvisionerIsToldOnce(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	call := Call{Method: "Provision", About: Ref{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data"}}
	told := Tell([]Entry{{Time: at, Actor: "example.com/disks", Record: call}, {Time: at, Actor: "csi-provisioner/csi.storagesim.io", Record: call}},
		Telling{Calls: true})
	assert.Contains(t, told, "example.com/disks")
	assert.NotContains(t, told, "csi-provisioner")
}
