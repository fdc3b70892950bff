package volume_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/volume"
)

func TestAPluginThatWaitsEndsWithItsContextAndHasDoneNothing(t *testing.T) {
	h, slow := volumetest.NewNode(t), &volumetest.Slow{Driver: "slow.example.com", Takes: 3 * time.Second}
	m, err := h.MounterOf(slow.NewPlugin(), volumetest.PVSpec(v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: slow.Driver}}), "a")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, m.SetUp(ctx, volume.MounterArgs{}), context.Canceled)
	_, err = h.FS.Stat(m.GetPath())
	require.Error(t, err)

	before := h.Now()
	require.NoError(t, m.SetUp(context.Background(), volume.MounterArgs{}))
	require.Equal(t, before.Add(3*time.Second), h.Now())
	_, err = h.FS.Stat(m.GetPath())
	require.NoError(t, err)
}

func TestAHostPollsUntilItsTimeIsUp(t *testing.T) {
	h, asked := volumetest.NewNode(t), 0
	ask := func(context.Context) (bool, error) { asked++; return asked == 5, nil }
	require.ErrorIs(t, h.Poll(context.Background(), time.Second, 3*time.Second, ask), control.ErrTimeout)
	require.Equal(t, 3, asked)
	require.NoError(t, h.Poll(context.Background(), time.Second, 0, ask))
	require.Equal(t, 5, asked)
}
