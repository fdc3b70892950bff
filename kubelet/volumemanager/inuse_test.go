package volumemanager

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Each reason alone keeps a volume in use; a volume that is being mounted must not be detached, even if its pod has gone.
func TestAVolumeIsInUseForEachOfFourReasons(t *testing.T) {
	const name, other v1.UniqueVolumeName = "csi/one", "csi/other"
	for reason, because := range map[string]func(a *attachments){
		"a pod wants it":       func(a *attachments) { a.desired.volumes.users[name] = []types.UID{"pod"} },
		"a pod has it":         func(a *attachments) { a.actual.volumes.users[name] = []types.UID{"pod"} },
		"the node has it":      func(a *attachments) { a.actual.devices[name] = &mountedDevice{} },
		"it is being mounted":  func(a *attachments) { a.actual.mounting[podVolume{pod: "pod", volume: name}] = true },
		"nothing":              func(*attachments) {},
		"another one's mounts": func(a *attachments) { a.actual.mounting[podVolume{pod: "pod", volume: "csi/third"}] = true },
	} {
		a := &attachments{
			given: &given{}, states: &states{desired: newDesiredStateOfWorld(), actual: newActualStateOfWorld()},
			attachable: map[v1.UniqueVolumeName]bool{name: true, other: true},
		}
		because(a)
		var want []v1.UniqueVolumeName
		if reason != "nothing" && reason != "another one's mounts" {
			want = []v1.UniqueVolumeName{name}
		}
		require.Equal(t, want, a.volumesInUse(), reason)
	}
}
