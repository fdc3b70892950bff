package museum

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Plans in which exhibits with their fix on once broke a rule, found by .ci/nightly.
func TestAFixHoldsInPlansThatOnceBrokeIt(t *testing.T) {
	plans := map[int][]string{
		36: {
			"x1;faults=1:csi-snapshotter/csi.storagesim.io:Probe:csi-hang",
			"x1;faults=2:csi-provisioner/csi.storagesim.io:CreateVolume:csi-hang",
			"x1;faults=2:csi-provisioner/csi.storagesim.io:update:volumesnapshots:crash-after",
			"x1;faults=1:csi-provisioner/csi.storagesim.io:get:volumesnapshotcontents:crash;" +
				"holds=1:csi-provisioner/csi.storagesim.io:get:volumesnapshotcontents:17s:csi-provisioner/csi.storagesim.io:persistentvolumeclaims",
		},
		39: {
			"x1;faults=1:snapshot-controller:get:persistentvolumeclaims:refused",
			"x1;faults=1..3:snapshot-controller:get:persistentvolumeclaims:refused",
		},
		40: {
			"x1;faults=1:csi-provisioner/csi.storagesim.io:Probe:csi-hang",
			"x1;faults=1..4:csi-provisioner/csi.storagesim.io:GetPluginInfo:csi-unavailable",
		},
		41: {
			"x1;faults=1:csi-resizer/csi.storagesim.io:Probe:csi-hang",
			"x1;faults=1..4:csi-resizer/csi.storagesim.io:GetPluginInfo:csi-unavailable",
		},
		43: {
			"x1;seed=3;order=random",
			"x1;faults=1:persistent-volume-binder:update:persistentvolumeclaims/status:crash;" +
				"holds=1:persistent-volume-binder:update:persistentvolumes:32s:persistent-volume-binder:persistentvolumes:past",
		},
	}
	for _, e := range Exhibits() {
		for _, plan := range plans[e.Number] {
			t.Run(fmt.Sprint(e.Number, " ", plan), func(t *testing.T) {
				e.Replay = plan
				require.NoError(t, e.Play(true))
			})
		}
	}
}
