package pvcontroller_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/pvcontroller"
)

func TestAVolumeThatNoPluginCanReclaimIsExplained(t *testing.T) {
	volume := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disk"}}}}
	volume.Name = "disk"
	for policy, want := range map[v1.PersistentVolumeReclaimPolicy]string{
		v1.PersistentVolumeReclaimDelete: `the PV controller cannot delete it, so it becomes Failed: error getting deleter volume plugin for volume "disk": ` +
			`no volume plugin matched`,
		v1.PersistentVolumeReclaimRecycle: "no recycler plugin of the PV controller takes it, so it becomes Failed",
		"Burn":                            "the PV controller does not know that policy, so it becomes Failed",
	} {
		volume.Spec.PersistentVolumeReclaimPolicy = policy
		text, provisioner := pvcontroller.Explain(pvcontroller.Config{}, volume)
		require.Equal(t, want, text)
		require.Empty(t, provisioner)
	}
}
