package volume_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/volume"
)

// named is a plugin under another name, which may fail to start.
type named struct {
	volume.VolumePlugin
	name string
	err  error
}

func (n named) GetPluginName() string          { return n.name }
func (n named) Init(h volume.VolumeHost) error { return n.err }

func TestExactlyOnePluginTakesAVolume(t *testing.T) {
	slow := &volumetest.Slow{Driver: "slow.example.com"}
	pm, err := volume.InitPlugins([]volume.VolumePlugin{local.NewPlugin(), nfs.NewPlugin(), slow.NewPlugin()}, nil)
	require.NoError(t, err)
	for want, spec := range map[string]*volume.Spec{
		local.PluginName:      volumetest.PVSpec(v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/x"}}),
		nfs.PluginName:        volumetest.PVSpec(v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "s", Path: "/x"}}),
		volumetest.SlowPlugin: volumetest.PVSpec(v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: slow.Driver}}),
	} {
		plugin, err := pm.FindPluginBySpec(spec)
		require.NoError(t, err)
		require.Equal(t, want, plugin.GetPluginName())
	}
	_, err = pm.FindPluginBySpec(nil)
	require.ErrorContains(t, err, "volume spec is nil")
	_, err = pm.FindPluginBySpec(volumetest.PVSpec(v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}}))
	require.ErrorIs(t, err, volume.ErrNoPluginMatched)
	require.ErrorContains(t, err, `PersistentVolume "pv" of kind hostPath`)
	_, err = pm.FindPluginByName("example.com/none")
	require.ErrorContains(t, err, "no volume plugin matched name: example.com/none")
}

func TestTwoPluginsForOneVolumeAreAnErrorThatNamesThem(t *testing.T) {
	pm, err := volume.InitPlugins([]volume.VolumePlugin{local.NewPlugin(), named{local.NewPlugin(), "example.com/local", nil}}, nil)
	require.NoError(t, err)
	_, err = pm.FindPluginBySpec(volumetest.PVSpec(v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{}}))
	require.EqualError(t, err, "multiple volume plugins matched: example.com/local,kubernetes.io/local-volume")
}

func TestPluginNamesAreChecked(t *testing.T) {
	for name, want := range map[string]string{
		"local": "invalid name", "a/b/c": "invalid name", "exa mple/x": "invalid name", "": "invalid name",
		local.PluginName: "was registered more than once",
	} {
		_, err := volume.InitPlugins([]volume.VolumePlugin{local.NewPlugin(), named{local.NewPlugin(), name, nil}}, nil)
		require.ErrorContains(t, err, want, "%q", name)
	}
	_, err := volume.InitPlugins([]volume.VolumePlugin{named{local.NewPlugin(), "example.com/x", errors.New("no")}}, nil)
	require.EqualError(t, err, "failed to load volume plugin example.com/x, error: no")
}
