// Package registrar is the node-driver-registrar: it asks a driver for its name and registers it with the kubelet,
// by a socket in the directory that the kubelet watches. Begin with run.
//
// Upstream: node-driver-registrar cmd/csi-node-driver-registrar, v2.17.
//
// Deviations: there is no HTTP server for health. Where upstream's process ends, so that its container is restarted,
// this one waits and begins again.
package registrar

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync/atomic"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/trace"
)

// RegistryDir is the directory in which kubelets look for registration sockets.
const RegistryDir = "/var/lib/kubelet/plugins_registry"

// operationTimeout is the time that the driver has to answer its name.
//
// Upstream: main.go --timeout, v2.17.
const operationTimeout = time.Second

// The time that a container which fails stays down: at first, at most, and the time after which one that ran begins anew.
//
// Upstream: kubelet.go initialCrashLoopBackOff and MaxCrashLoopBackOff, v1.37.
const (
	firstRestart = 10 * time.Second
	lastRestart  = 5 * time.Minute
	restartAnew  = 2 * lastRestart
)

// Config configures one registrar. All fields but Crash are required.
type Config struct {
	Sockets *call.Sockets
	// Machine is the node, "node/node-1", Socket the driver's socket there, and
	// KubeletPath the same as the kubelet sees it.
	Machine, Socket, KubeletPath string
	// Crash ends the registrar's process for a fault of a call to it; see call.Socket.
	Crash func(f call.Fault)
}

// RegistrationSocket returns the path of the socket on which a driver is registered.
//
// Upstream: node_register.go buildSocketPath, v2.17.
func RegistrationSocket(driver string) string { return path.Join(RegistryDir, driver+"-reg.sock") }

// New returns the factory of a registrar.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		r := &registrar{cfg: cfg, env: env}
		env.Go("register", r.run)
		return nil
	}
}

type registrar struct {
	cfg Config
	env control.Env
}

// run registers the driver, and begins again after a failure.
//
// Upstream: main.go main, v2.17.
func (r *registrar) run(ctx context.Context) {
	for delay := time.Duration(0); ctx.Err() == nil; {
		began := r.env.Now()
		if err := r.register(ctx); err != nil {
			r.env.Trace(trace.Decision{About: trace.Ref{Kind: "socket", Name: r.cfg.Socket}, Text: "is not registered: " + err.Error()})
		}
		if r.env.Now().Sub(began) > restartAnew {
			delay = 0
		}
		delay = min(max(2*delay, firstRestart), lastRestart)
		_ = r.env.Sleep(control.InBackground(ctx), delay)
	}
}

// register waits for the driver, asks for its name, and serves the kubelet until that refuses the driver.
func (r *registrar) register(ctx context.Context) error {
	// Upstream: csi-lib-utils connection.Connect, v0.22, which tries until a server listens.
	listening := func(context.Context) (bool, error) {
		return r.cfg.Sockets.Listening(r.cfg.Machine, r.cfg.Socket), nil
	}
	if ready, _ := listening(ctx); !ready {
		if err := r.env.Poll(ctx, time.Second, 0, listening); err != nil {
			return err
		}
	}
	driver := spec.NewIdentityClient(call.Dial(r.cfg.Sockets, r.env, r.cfg.Machine, r.cfg.Socket))
	info, err := driver.GetPluginInfo(control.WithTimeout(ctx, r.env, operationTimeout), &spec.GetPluginInfoRequest{})
	if err != nil {
		return fmt.Errorf("error retreiving CSI driver name: %w", err) // upstream's spelling
	}
	// Upstream: csi-lib-utils rpc.GetDriverName, v0.22.
	if info.GetName() == "" {
		return errors.New("error retreiving CSI driver name: driver name is empty")
	}
	return r.serve(ctx, info.GetName())
}

// serve runs the registration server until the kubelet refuses the driver.
//
// Upstream: node_register.go nodeRegister, v2.17.
func (r *registrar) serve(ctx context.Context, driver string) error {
	server := &registrationServer{driver: driver, endpoint: r.cfg.KubeletPath}
	l, err := call.Listen(r.cfg.Sockets, call.Socket{
		Machine: r.cfg.Machine, Path: RegistrationSocket(driver), Driver: "the registrar of " + driver,
		Crash:    r.cfg.Crash,
		Register: func(s grpc.ServiceRegistrar) { registerapi.RegisterRegistrationServer(s, server) },
	})
	if err != nil {
		return fmt.Errorf("failed to listen on socket: %w", err)
	}
	defer l.Kill()
	err = r.env.Poll(ctx, time.Second, 0, func(context.Context) (bool, error) { return server.refused.Load() != nil, nil })
	if err == nil {
		err = fmt.Errorf("registration process failed with error: %s", *server.refused.Load())
	}
	if closing := l.Close(); closing != nil {
		return closing
	}
	return err
}

// registrationServer answers the kubelet.
//
// Upstream: main.go registrationServer, v2.17.
type registrationServer struct {
	registerapi.UnimplementedRegistrationServer
	driver, endpoint string
	refused          atomic.Pointer[string] // the kubelet's reason to refuse the driver
}

// GetInfo returns the driver's name and endpoint.
func (s *registrationServer) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{
		Type: registerapi.CSIPlugin, Name: s.driver, Endpoint: s.endpoint, SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus receives the outcome of the registration. Upstream ends its process if the registration
// failed.
func (s *registrationServer) NotifyRegistrationStatus(_ context.Context,
	status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	if !status.GetPluginRegistered() {
		why := status.GetError()
		s.refused.Store(&why)
	}
	return &registerapi.RegistrationStatusResponse{}, nil
}
