package apivolume_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/kubelet/internal/apivolume"
	"github.com/storagesim/storagesim/kubelet/internal/emptydir"
	"github.com/storagesim/storagesim/volume"
)

// A ConfigMap's volume is made with an emptyDir's.
func TestAPluginOfVolumesMadeWithAnothersFindsThatOneInTheHost(t *testing.T) {
	h := volumetest.NewNode(t)
	h.Objects = map[volume.ObjectRef]runtime.Object{{Kind: "ConfigMap", Name: "settings"}: &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "blue"},
	}}
	spec := volumetest.PodSpec("cfg", v1.VolumeSource{
		ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "settings"}},
	})
	pm, err := volume.InitPlugins(apivolume.NewPlugins(), h)
	require.NoError(t, err)
	plugin, err := pm.FindPluginBySpec(spec)
	require.NoError(t, err)
	m, err := h.MounterOf(plugin, spec, "a")
	require.NoError(t, err)
	require.ErrorIs(t, m.SetUp(context.Background(), volume.MounterArgs{}), volume.ErrNoPluginMatched)

	h.Plugins = []volume.VolumePlugin{emptydir.NewPlugin()}
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	data, err := h.FS.ReadFile(m.GetPath() + "/color")
	require.NoError(t, err)
	require.Equal(t, "blue", string(data))
	u, err := plugin.NewUnmounter("cfg", "a")
	require.NoError(t, err)
	require.NoError(t, u.TearDown(context.Background()))
	_, err = h.FS.Lstat(m.GetPath())
	require.Error(t, err)
}
