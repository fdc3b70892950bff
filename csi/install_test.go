package csi_test

import (
	"context"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/internal/registrar"
	"github.com/storagesim/storagesim/csi/livenessprobe"
	"github.com/storagesim/storagesim/storagesimtest"
)

// plainController and plainNode are an author's servers.
type plainController struct {
	spec.UnimplementedControllerServer
}

type plainNode struct {
	spec.UnimplementedNodeServer
	id string
}

func (n *plainNode) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{NodeId: n.id}, nil
}

func plainDriver() csi.Driver {
	return csi.Driver{
		Name: "csi.example.com", Controller: &plainController{},
		Node: func(h csi.Host) (spec.NodeServer, error) { return &plainNode{id: "id-" + h.Node}, nil },
	}
}

// asCaller calls f as an actor of its own, and waits until it has returned.
func asCaller(t *testing.T, c *storagesim.Cluster, f func(ctx context.Context, env control.Env)) {
	t.Helper()
	name := "caller-" + c.Now().String()
	require.NoError(t, c.Engine().Add(name, func(env control.Env) error {
		env.Go("call", func(ctx context.Context) { f(ctx, env) })
		return nil
	}))
	require.NoError(t, c.Settle())
}

func TestAnInstalledDriverListensOnItsHostAndOnEveryNode(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1"), Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(plainDriver())
	c.AddNode(storagesim.Node{Name: "node-2"})
	c.Settle()
	object, err := c.Client().StorageV1().CSIDrivers().Get(t.Context(), "csi.example.com", metav1.GetOptions{})
	require.NoError(t, err)
	require.True(t, *object.Spec.AttachRequired)
	for _, at := range []string{"host/csi.example.com", "node/node-1", "node/node-2"} {
		socket := csi.NodeSocket("csi.example.com")
		if at == "host/csi.example.com" {
			socket = csi.ControllerSocket
		}
		asCaller(t, c.Cluster, func(ctx context.Context, env control.Env) {
			info, err := spec.NewIdentityClient(call.Dial(c.Lab().Sockets(), env, at, socket)).GetPluginInfo(ctx, &spec.GetPluginInfoRequest{})
			require.NoError(t, err)
			require.Equal(t, "csi.example.com", info.Name)
		})
		c.RunFor(time.Second)
	}
}

func TestTheRegistrarTellsTheKubeletWhoTheDriverIs(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, Only: []string{}})
	d := plainDriver()
	d.Identity = otherName{}
	c.InstallCSIDriver(d)
	c.RunFor(time.Second)
	// As upstream: the name that the driver says counts.
	sockets := c.Lab().Sockets().In("node/node-1", registrar.RegistryDir)
	require.Equal(t, []string{"/var/lib/kubelet/plugins_registry/other.example.com-reg.sock"}, sockets)
	asCaller(t, c.Cluster, func(ctx context.Context, env control.Env) {
		kubelet := registerapi.NewRegistrationClient(call.Dial(c.Lab().Sockets(), env, "node/node-1", sockets[0]))
		info, err := kubelet.GetInfo(ctx, &registerapi.InfoRequest{})
		require.NoError(t, err)
		require.Equal(t, "CSIPlugin other.example.com /var/lib/kubelet/plugins/csi.example.com/csi.sock 1.0.0",
			info.Type+" "+info.Name+" "+info.Endpoint+" "+info.SupportedVersions[0])
		_, err = kubelet.NotifyRegistrationStatus(ctx, &registerapi.RegistrationStatus{Error: "no"})
		require.NoError(t, err)
	})
	// A registrar that the kubelet refuses ends, and its container is started again.
	c.RunFor(2 * time.Second)
	require.Empty(t, c.Lab().Sockets().In("node/node-1", registrar.RegistryDir))
	c.RunFor(12 * time.Second)
	require.Equal(t, sockets, c.Lab().Sockets().In("node/node-1", registrar.RegistryDir))
}

type otherName struct {
	spec.UnimplementedIdentityServer
}

func (otherName) GetPluginInfo(context.Context, *spec.GetPluginInfoRequest) (*spec.GetPluginInfoResponse, error) {
	return &spec.GetPluginInfoResponse{Name: "other.example.com"}, nil
}

func TestADriverThatCannotBeIsRefused(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.InstallCSIDriver(plainDriver())
	for want, d := range map[string]csi.Driver{
		`csi.Driver.Name: a driver called "csi.example.com" is ` +
			`installed already`: plainDriver(),
		`csi.Driver.Name: "" is not the name of a driver: at most 63 letters, digits, dots, dashes and underscores, a letter or digit first and last`: {},
		`csi.Driver.Name: "a/b" is not the name of a driver: at most 63 letters, digits, dots, dashes and underscores, ` +
			`a letter or digit first and last`: {Name: "a/b"},
		`csi.Driver x: it has neither a controller (Controller, NewController, Endpoint) nor nodes (Node, NodeEndpoint)`: {Name: "x"},
		`csi.Driver x: only one of Controller, NewController and Endpoint can be set`: {Name: "x",
			Controller: &plainController{}, Endpoint: "unix:///x"},
	} {
		require.EqualError(t, c.Cluster.InstallCSIDriver(d), want)
	}
	require.ErrorContains(t, c.Cluster.Inject(call.Fault{Machine: "node/other", Hang: true}), `no node is called "other"`)
}

func TestACrashForgetsWhatADriverKeepsInMemory(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	made := 0
	d := plainDriver()
	d.Controller, d.NewController = nil, func(csi.Host) (spec.ControllerServer, error) { made++; return &plainController{}, nil }
	c.InstallCSIDriver(d)
	c.Settle()
	require.Equal(t, 1, made)
	c.Crash("csi-driver/csi.example.com")
	c.Settle()
	require.Equal(t, 2, made)
	c.Must(c.Engine().CrashFor("csi-driver/csi.example.com", time.Minute))
	require.False(t, c.Lab().Sockets().Listening("host/csi.example.com", csi.ControllerSocket))
	c.RunFor(2 * time.Minute)
	require.True(t, c.Lab().Sockets().Listening("host/csi.example.com", csi.ControllerSocket))
}

// probed is an identity whose Probe is a function.
type probed struct {
	spec.UnimplementedIdentityServer
	probe func() (*spec.ProbeResponse, error)
}

func (p probed) Probe(context.Context, *spec.ProbeRequest) (*spec.ProbeResponse, error) {
	return p.probe()
}

func TestALivenessprobeRestartsADriverThatIsNotReady(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	ready, made := true, 0
	d := plainDriver()
	d.Identity = probed{probe: func() (*spec.ProbeResponse, error) { return &spec.ProbeResponse{Ready: wrapperspb.Bool(ready)}, nil }}
	d.Liveness = &livenessprobe.Config{}
	d.Controller, d.NewController = nil, func(csi.Host) (spec.ControllerServer, error) { made++; return &plainController{}, nil }
	c.InstallCSIDriver(d)
	c.RunFor(time.Minute)
	require.Equal(t, 1, made)
	require.NotContains(t, c.Story(), "Probe", "what goes well is no news")
	ready = false
	c.RunFor(31 * time.Second)
	require.Equal(t, 2, made)
	require.Contains(t, c.Story(), "Liveness probe failed: HTTP probe failed with statuscode: 500: driver responded but is not ready")
	require.Contains(t, c.Story(), "Container failed liveness probe, will be restarted")
	ready = true
	c.Inject(call.Fault{Method: "Probe", Hang: true, Times: 2})
	c.RunFor(time.Minute)
	require.Equal(t, 2, made, "two failures are one too few")
}

func TestALivenessprobeRefusesANegativeNumberByName(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	d := plainDriver()
	d.Liveness = &livenessprobe.Config{FailureThreshold: -3}
	require.ErrorContains(t, c.Cluster.InstallCSIDriver(d),
		`livenessprobe of driver "`+d.Name+`": Config.FailureThreshold is -3; it must be positive, or 0 for the default`)
}

func TestADriversInterceptorsSeeTheCalls(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	var methods []string
	d := plainDriver()
	d.Interceptors = []grpc.UnaryServerInterceptor{func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		methods = append(methods, info.FullMethod)
		return handler(ctx, req)
	}}
	c.InstallCSIDriver(d)
	c.Settle()
	require.Contains(t, methods, "/csi.v1.Identity/GetPluginInfo")
}
