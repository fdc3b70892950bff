package sidecar_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/attacher"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/csi/resizer"
)

func dial(control.Env) grpc.ClientConnInterface { return nil }

func TestDefaultsReplaceZeroAndNothingElse(t *testing.T) {
	workers, timeout, resync := 0, time.Duration(0), time.Hour
	require.NoError(t, sidecar.Check("resizer", "d", dial, sidecar.Number{Name: "Workers", Value: &workers, Default: 10},
		sidecar.Time{Name: "Timeout", Value: &timeout, Default: time.Second}, sidecar.Time{Name: "Resync", Value: &resync, Default: time.Minute}))
	require.Equal(t, 10, workers)
	require.Equal(t, time.Second, timeout)
	require.Equal(t, time.Hour, resync)
}

func TestAllSidecarsRefuseTheSameOfTheirConfigsInTheSameWords(t *testing.T) {
	for want, factory := range map[string]control.Factory{
		"csi/provisioner.Config.Driver is empty; it must be the name of a CSI driver": provisioner.New(provisioner.Config{Dial: dial}),
		"attacher.Config.Driver is empty; it must be the name of a CSI driver": attacher.New(
			attacher.Config{Common: sidecar.Common{Dial: dial}}),
		"resizer.Config.Driver is empty; it must be the name of a CSI driver": resizer.New(
			resizer.Config{Common: sidecar.Common{Dial: dial}}),
		`csi/provisioner of driver "d": Config.Dial must be set`: provisioner.New(provisioner.Config{Driver: "d"}),
		`attacher of driver "d": Config.Dial must be set`: attacher.New(
			attacher.Config{Common: sidecar.Common{Driver: "d"}}),
		`resizer of driver "d": Config.Dial must be set`: resizer.New(
			resizer.Config{Common: sidecar.Common{Driver: "d"}}),
		`csi/provisioner of driver "d": Config.WorkerThreads is -1; it must be positive, ` +
			`or 0 for the default`: provisioner.New(provisioner.Config{Driver: "d", Dial: dial, WorkerThreads: -1}),
		`attacher of driver "d": Config.RetryIntervalMax is -1s; it must be positive, ` +
			`or 0 for the default`: attacher.New(attacher.Config{Common: sidecar.Common{Driver: "d", Dial: dial, RetryIntervalMax: -time.Second}}),
		`resizer of driver "d": Config.RetryIntervalStart is -1m0s; it must be positive, ` +
			`or 0 for the default`: resizer.New(resizer.Config{Common: sidecar.Common{Driver: "d", Dial: dial, RetryIntervalStart: -time.Minute}}),
	} {
		require.EqualError(t, factory(nil), want)
	}
}
