package csi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/engine"
)

// Upstream: operation_generator.go GenerateRegisterPluginFunc and csi_plugin.go RegisterPlugin.
func TestADriverThatCannotBeRegisteredIsToldWhyAndTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(w *world)
		want  string // what the registrar is told
	}{
		"no versions": {
			func(w *world) { w.registrar.info.SupportedVersions = nil },
			`RegisterPlugin error -- plugin validation failed with err: validation failed for CSI Driver disk.example.com at endpoint ` + endpoint +
				`: kubernetes.io/csi: ValidatePlugin for CSI driver "disk.example.com" failed. Plugin returned an empty list for supported versions`,
		},
		"a version to come": {
			func(w *world) { w.registrar.info.SupportedVersions = []string{"2.0.0"} },
			`None of the versions specified ["2.0.0"] are supported`,
		},
		"no version at all": {
			func(w *world) { w.registrar.info.SupportedVersions = []string{"newest"} },
			`None of the versions specified ["newest"] are supported`,
		},
		"a plugin of another kind": {
			func(w *world) { w.registrar.info.Type = "DevicePlugin" },
			`RegisterPlugin error -- no handler registered for plugin type: DevicePlugin at socket ` + regSocket,
		},
		"an endpoint where nobody is": {
			func(w *world) { w.registrar.info.Endpoint = "/none.sock" },
			`RegisterPlugin error -- plugin registration failed with err: rpc error: code = Unavailable`,
		},
		"an endpoint that is its own": {
			func(w *world) { w.registrar.info.Endpoint = "" },
			`RegisterPlugin error -- plugin registration failed with err: rpc error: code = Unimplemented`,
		},
		"an empty name": {
			func(w *world) { w.registrar.info.Name = "" },
			`RegisterPlugin error -- plugin registration failed with err: driver name is empty`,
		},
		"no node ID": {
			func(w *world) { w.driver.info.NodeId = "" },
			`RegisterPlugin error -- plugin registration failed with err: error adding CSI driver node info: driverNodeID must not be empty`,
		},
		"a topology that is no label": {
			func(w *world) {
				w.driver.info.AccessibleTopology = &csipb.Topology{Segments: map[string]string{"not a label": "z"}}
			},
			`RegisterPlugin error -- plugin registration failed with err: error updating Node object with CSI driver node info`,
		},
		"a topology that is another than the node's": {
			func(w *world) {
				w.driver.info.AccessibleTopology = &csipb.Topology{Segments: map[string]string{v1.LabelHostname: "moon"}}
			},
			`detected topology value collision: driver reported "kubernetes.io/hostname":"moon" but existing label is "kubernetes.io/hostname":"node-1"`,
		},
		"NodeGetInfo fails": {
			func(w *world) {
				w.driver.before = func(string, any) error { return status.Error(codes.FailedPrecondition, "no disk") }
			},
			`RegisterPlugin error -- plugin registration failed with err: rpc error: code = FailedPrecondition desc = no disk`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine.Config{})
			c.spoil(w)
			w.listen()
			w.run(10 * time.Second)
			require.Greater(t, len(w.registrar.told), 1, "it is tried again: %s", w.e.Trace().Story(engine.Start()))
			require.True(t, strings.HasPrefix(w.registrar.told[0], "false "), w.registrar.told[0])
			require.Contains(t, w.registrar.told[0], c.want)
			require.Empty(t, w.csiNode())
			require.NotContains(t, w.node().Annotations, "csi.volume.kubernetes.io/nodeid")
		})
	}
}

func TestADriverThatHangsOrBreaksWhileItRegistersIsTriedAgainUntilItAnswers(t *testing.T) {
	for _, method := range []string{"GetInfo", "NodeGetInfo", "NotifyRegistrationStatus"} {
		for name, fault := range map[string]call.Fault{
			"hangs": {Hang: true}, "breaks": {Code: codes.Unavailable}, "loses its answer": {After: true}, "is slow": {Delay: 3 * time.Minute},
		} {
			t.Run(method+" "+name, func(t *testing.T) {
				w := newWorld(t, engine.Config{})
				fault.Method, fault.Times = method, 3
				require.NoError(t, w.sockets.Inject(fault))
				w.listen()
				w.run(20 * time.Minute)
				require.Equal(t, "true ", w.registrar.told[len(w.registrar.told)-1])
				require.Len(t, w.csiNode(), 1)
			})
		}
	}
}

// Upstream: csi_plugin.go validateVersions.
func TestTheSecondOfTwoDriversOfOneNameIsRefused(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	second := &registrar{info: w.registrar.info}
	first := w.registrar
	w.registrar = second
	l, err := call.Listen(w.sockets, w.registration(regSocket+".second"))
	require.NoError(t, err)
	w.run(5 * time.Second)
	require.Equal(t, []string{"true "}, first.told)
	require.Contains(t, second.told[0], `Another driver with the same name is already registered with a higher supported version: "1.0.0"`)
	require.NoError(t, l.Close())
	w.run(5 * time.Second)
	require.Len(t, w.csiNode(), 1, "the first one is there")
}

// Upstream: csi_plugin.go DeRegisterPlugin.
func TestADriverWhoseSocketIsRemovedIsNotRegisteredAnyMore(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	require.Equal(t, []storagev1.CSINodeDriver{{Name: driverName, NodeID: "id-1"}}, w.csiNode())
	require.Equal(t, `{"disk.example.com":"id-1"}`, w.node().Annotations["csi.volume.kubernetes.io/nodeid"])
	require.NoError(t, w.listening[1].Close())
	w.run(5 * time.Second)
	require.Empty(t, w.csiNode())
	require.NotContains(t, w.node().Annotations, "csi.volume.kubernetes.io/nodeid")
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.Contains(t, w.events("web")[0], "driver name disk.example.com not found in the list of registered CSI drivers")
	_, err := call.Listen(w.sockets, w.registration(regSocket))
	require.NoError(t, err)
	w.run(20 * time.Second)
	require.Equal(t, v1.PodRunning, w.phase("web"))
}

func TestALimitThatIsNoneIsLeftOut(t *testing.T) {
	for most, want := range map[int64]*int32{0: nil, -3: nil, 7: limit(7), 1 << 40: limit(1<<31 - 1)} {
		w := newWorld(t, engine.Config{})
		w.driver.info.MaxVolumesPerNode = most
		w.listen()
		w.run(5 * time.Second)
		if got := w.csiNode()[0].Allocatable; want == nil {
			require.Nil(t, got)
		} else {
			require.Equal(t, *want, *got.Count)
		}
	}
}

func limit(n int32) *int32 { return &n }

// What a driver does at each call of a volume's life: whatever it is, the pod comes to run
// when it stops, and nothing is left in the end.
func TestWhateverGoesWrongInADriverNothingIsLeft(t *testing.T) {
	for _, method := range []string{"NodeGetCapabilities", "NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume"} {
		for name, fault := range map[string]call.Fault{
			"hangs": {Hang: true}, "hangs when it is done": {Hang: true, After: true}, "breaks": {Code: codes.Unavailable},
			"refuses": {Code: codes.Internal}, "refuses what it has done": {Code: codes.Internal, After: true}, "loses its answer": {After: true},
		} {
			t.Run(method+" "+name, func(t *testing.T) {
				w := withDriver(t, engine.Config{}, noAttach())
				fault.Method, fault.Times = method, 2
				require.NoError(t, w.sockets.Inject(fault))
				w.boundVolume("data", nil)
				w.create(pod("web", claim("data")))
				w.run(10 * time.Minute)
				require.Equal(t, v1.PodRunning, w.phase("web"))
				w.delete("web")
				w.run(10 * time.Minute)
				require.Equal(t, v1.PodPhase("gone"), w.phase("web"))
				w.requireNothingLeft()
			})
		}
	}
}

func TestADriverThatPanicsEndsItsOwnProcessOnly(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	w.driver.before = func(method string, _ any) error {
		if method == "NodeStageVolume" {
			panic("out of luck")
		}
		return nil
	}
	w.boundVolume("data", nil)
	w.create(pod("web", claim("data")))
	w.run(5 * time.Second)
	require.Contains(t, w.events("web")[0], "MountVolume.MountDevice failed for volume \"pv-data\" : rpc error: code = Unavailable")
	w.driver.before = nil
	require.NoError(t, w.listening[1].Close())
	w.listening = nil
	w.listen()
	w.run(time.Minute)
	require.Equal(t, v1.PodRunning, w.phase("web"))
}

func TestAVolumeWithAnEmptyHandleOrDriverIsRefusedByTheAPI(t *testing.T) {
	w := withDriver(t, engine.Config{}, noAttach())
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: driverName}
	_, err := w.user.CoreV1().PersistentVolumes().Create(context.Background(), pv, metav1.CreateOptions{})
	require.ErrorContains(t, err, "spec.csi.volumeHandle: Required value")
}
