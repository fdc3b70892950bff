package explain_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/storagesimtest"
)

// wrongDriver returns a cluster with a driver, changed so, and a pod that uses a volume of it. around is called with each request, and with the answer.
func wrongDriver(t *testing.T, change func(d *csi.Driver), around func(req, answer any)) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1"), Disks: storagesim.MemoryDisks})
	d, err := driver.New(driver.Config{})
	c.Must(err)
	d.Interceptors = append(d.Interceptors, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		answer, err := handler(ctx, req)
		if err == nil {
			around(req, answer)
		}
		return answer, err
	})
	change(&d)
	c.InstallCSIDriver(d)
	c.RunFor(5 * time.Second)
	c.Apply(csiClass, explainClaim("data", "1Gi", ofCSI), mountingPod)
	c.RunFor(time.Minute)
	return c
}

// The sidecar saves the volume later, again and again, and has no event for it.
func TestAVolumeThatTheServerRefusesIsToldOfItsClaim(t *testing.T) {
	c := wrongDriver(t, func(*csi.Driver) {}, func(_, answer any) {
		switch a := answer.(type) {
		case *spec.GetPluginCapabilitiesResponse:
			a.Capabilities = append(a.Capabilities, &spec.PluginCapability{Type: &spec.PluginCapability_Service_{
				Service: &spec.PluginCapability_Service{Type: spec.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS},
			}})
		case *spec.NodeGetInfoResponse:
			a.AccessibleTopology = &spec.Topology{Segments: map[string]string{"example.com/rack": "1"}}
		case *spec.CreateVolumeResponse:
			a.Volume.AccessibleTopology = []*spec.Topology{{}}
		}
	})
	why, err := c.Lab().Explanation("pvc/data")
	require.NoError(t, err)
	require.Equal(t, explain.ProvisioningFailed, why.Verdict.Code)
	require.Contains(t, why.Text, "provisioner csi.storagesim.io made a volume, and its pv is refused: ")
	require.Contains(t, why.Text, "must have at least one node selector term")
}

// The kubelet and the attacher say only that CSINode lacks the driver.
func TestADriverThatDoesNotRegisterHasItsCause(t *testing.T) {
	info := func(change func(*spec.NodeGetInfoResponse)) func(req, answer any) {
		return func(_, answer any) {
			if info, ok := answer.(*spec.NodeGetInfoResponse); ok {
				change(info)
			}
		}
	}
	for name, test := range map[string]struct {
		change func(d *csi.Driver)
		around func(req, answer any)
		want   string
	}{
		"it cannot start": {func(d *csi.Driver) {
			d.Node = func(csi.Host) (spec.NodeServer, error) { return nil, errors.New("no /dev/fuse") }
		}, func(_, _ any) {}, "driver csi.storagesim.io cannot start on node node-1: no /dev/fuse"},
		"it has no node_id": {func(*csi.Driver) {}, info(func(info *spec.NodeGetInfoResponse) { info.NodeId = "" }),
			"driver csi.storagesim.io is not registered on node node-1: error adding CSI driver node info: driverNodeID must not be empty " +
				"(NodeGetInfo answered no node_id)"},
		"its topology is no label": {func(*csi.Driver) {}, info(func(info *spec.NodeGetInfoResponse) {
			info.AccessibleTopology = &spec.Topology{Segments: map[string]string{"example.com/zone": "a b"}}
		}), "driver csi.storagesim.io is not registered on node node-1: error updating Node object with CSI driver node info: Node \"node-1\" is invalid: " +
			"metadata.labels: Invalid value: \"a b\""},
		"it panics": {func(*csi.Driver) {}, info(func(*spec.NodeGetInfoResponse) { panic("no such card") }),
			"driver csi.storagesim.io panics in NodeGetInfo, at explain/driver_test.go:"},
	} {
		t.Run(name, func(t *testing.T) {
			c := wrongDriver(t, test.change, test.around)
			why, err := c.Lab().Explanation("pod/web")
			require.NoError(t, err)
			require.Equal(t, explain.Ill, why.Verdict.Class)
			require.Equal(t, "actor/csi-driver/csi.storagesim.io/node-1", why.Verdict.Object)
			require.Contains(t, why.Text, test.want)
			attach := why.Findings[slices.IndexFunc(why.Findings, func(v explain.Verdict) bool { return v.Code == explain.AttachFailed })]
			require.Equal(t, "see that the driver registers on the node", attach.Do, "these words are the attacher's")
			require.NotContains(t, why.Text, "has not registered on node node-1 yet")
			require.LessOrEqual(t, strings.Count(strings.Join(why.Chain, "\n"), `"a b"`), 1, "not each try of the kubelet is told")
			node, err := c.Lab().Explanation("node/node-1")
			require.NoError(t, err)
			require.Equal(t, explain.Well, node.Verdict.Class)
			require.Contains(t, node.Text, test.want)
		})
	}
}

// The callers are told that the connection broke.
func TestAPanicOfADriverIsNamed(t *testing.T) {
	panicsAt := func(is func(req any) bool) func(req, answer any) {
		return func(req, _ any) {
			if is(req) {
				panic("assignment to entry in nil map")
			}
		}
	}
	for method, test := range map[string]struct {
		is          func(req any) bool
		ref, object string
	}{
		"NodePublishVolume": {func(req any) bool { _, ok := req.(*spec.NodePublishVolumeRequest); return ok }, "pod/web", "csi-driver/csi.storagesim.io/node-1"},
		"ControllerPublishVolume": {func(req any) bool { _, ok := req.(*spec.ControllerPublishVolumeRequest); return ok }, "pod/web",
			"csi-driver/csi.storagesim.io"},
		"CreateVolume": {func(req any) bool { _, ok := req.(*spec.CreateVolumeRequest); return ok }, "pvc/data", "csi-driver/csi.storagesim.io"},
	} {
		t.Run(method, func(t *testing.T) {
			why, err := wrongDriver(t, func(*csi.Driver) {}, panicsAt(test.is)).Lab().Explanation(test.ref)
			require.NoError(t, err)
			require.Equal(t, explain.Panicked, why.Verdict.Code, why.Text)
			require.Equal(t, "actor/"+test.object, why.Verdict.Object)
			require.Regexp(t, `driver csi\.storagesim\.io panics in `+method+`, at explain/driver_test\.go:\d+: assignment to entry in nil map`, why.Verdict.Cause)
		})
	}
	healed := wrongDriver(t, func(*csi.Driver) {}, func() func(req, answer any) {
		times := 0
		return panicsAt(func(req any) bool {
			_, publishes := req.(*spec.NodePublishVolumeRequest)
			if publishes {
				times++
			}
			return publishes && times == 1
		})
	}())
	require.NotContains(t, healed.Explain("pod/web"), "panics")
}

func TestADriverThatAnswersLessThanItWasAskedForIsNamed(t *testing.T) {
	c := wrongDriver(t, func(*csi.Driver) {}, func(_, answer any) {
		if grown, ok := answer.(*spec.ControllerExpandVolumeResponse); ok {
			grown.CapacityBytes = 1 << 30
		}
	})
	grow(c, "2Gi")
	c.RunFor(time.Minute)
	why, err := c.Lab().Explanation("pvc/data")
	require.NoError(t, err)
	require.Equal(t, explain.ResizeFailed, why.Verdict.Code)
	require.Equal(t, "it has 1Gi and asks for 2Gi: driver csi.storagesim.io answered ControllerExpandVolume with capacity_bytes 1073741824, "+
		"and required_bytes was 2147483648", why.Verdict.Cause)
}

// A kubelet takes the driver's word for it, and the pod stays as long as something is mounted in its directory.
func TestAPodOfADriverThatSaysItHasUnmountedNamesTheMountThatIsLeft(t *testing.T) {
	c := wrongDriver(t, func(d *csi.Driver) {
		d.Interceptors = append(d.Interceptors, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			if _, ok := req.(*spec.NodeUnpublishVolumeRequest); ok {
				return &spec.NodeUnpublishVolumeResponse{}, nil
			}
			return handler(ctx, req)
		})
	}, func(_, _ any) {})
	c.Delete("pod/web")
	c.RunFor(5 * time.Minute)
	text := c.Explain("pod/web")
	require.Contains(t, text, "is still mounted at /var/lib/kubelet/pods/")
	require.Contains(t, text, "though unmounting it succeeded: the kubelet waits and does not try again")
	require.Contains(t, text, "mend what unmounts it, such as NodeUnpublishVolume of its driver")
}
