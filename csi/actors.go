package csi

import (
	"context"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/internal/registrar"
	"github.com/storagesim/storagesim/csi/livenessprobe"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// ControllerActors returns the actors of the driver's Deployment, on its host.
func (d Driver) ControllerActors(w World, h Host) []Actor {
	if !d.HasController() {
		return nil
	}
	name := "csi-driver/" + d.Name
	socket := call.Socket{
		Machine: h.Machine.String(), Path: ControllerSocket, Driver: d.Name, Interceptors: d.Interceptors, Address: d.Endpoint, Outside: d.SidecarSocket,
	}
	dial := dialer(w.Sockets, socket.Machine, socket.Path)
	actors := []Actor{server(w, name, socket, func() (servers, error) { return d.controllerServers(h) })}
	if d.SidecarSocket == "" {
		actors = append(actors, d.sidecars(dial)...)
	}
	if d.Liveness != nil {
		cfg := *d.Liveness
		cfg.Driver, cfg.Dial, cfg.Restart = d.Name, dial, func() { w.Crash(name, 0) }
		actors = append(actors, Actor{Name: "csi-livenessprobe/" + d.Name, Factory: livenessprobe.New(cfg)})
	}
	return actors
}

// SnapshotActors returns the actors of the driver's Deployment that need the definitions of snapshots.
func (d Driver) SnapshotActors(w World, h Host) []Actor {
	return []Actor{d.snapshotter(dialer(w.Sockets, h.Machine.String(), ControllerSocket))}
}

// NodeActors returns the actors of the driver's DaemonSet on one node.
func (d Driver) NodeActors(w World, h Host) []Actor {
	if !d.HasNodes() {
		return nil
	}
	name, registers := "csi-driver/"+d.Name+"/"+h.Node, "csi-registrar/"+d.Name+"/"+h.Node
	socket := call.Socket{Machine: h.Machine.String(), Path: NodeSocket(d.Name), Driver: d.Name, Interceptors: d.Interceptors}
	if d.NodeEndpoint != nil {
		socket.Address = d.NodeEndpoint(h.Node)
	}
	if d.NodeEndpoint != nil || d.RealPaths {
		socket.Root = h.Machine.Dir()
	}
	if d.NodeController != nil && d.SidecarSocket != "" {
		socket.Outside = d.NodeSidecarSocket(h.Node)
	}
	actors := []Actor{
		server(w, name, socket, func() (servers, error) { return d.nodeServers(h) }),
		{Name: registers, Factory: registrar.New(registrar.Config{
			Sockets: w.Sockets, Machine: socket.Machine, Socket: socket.Path, KubeletPath: socket.Path,
			Crash: func(f call.Fault) { w.Crash(registers, f.Restart) },
		})},
	}
	if d.NodeController != nil && d.SidecarSocket == "" {
		actors = append(actors, d.nodeProvisioner(h.Node, dialer(w.Sockets, socket.Machine, socket.Path)))
	}
	return actors
}

// nodeProvisioner returns the provisioner beside a controller on a node.
func (d Driver) nodeProvisioner(node string, dial func(env control.Env) grpc.ClientConnInterface) Actor {
	cfg := d.ProvisionerConfig(dial)
	cfg.Actor = ProvisionerActor(d.Name) + "/" + node
	if cfg.NodeDeployment == nil {
		cfg.NodeDeployment = &provisioner.NodeDeployment{}
	}
	onNode := *cfg.NodeDeployment
	onNode.Node, cfg.NodeDeployment = node, &onNode
	return Actor{Name: cfg.Actor, Factory: provisioner.New(cfg)}
}

// dialer returns the function by which sidecars connect to a socket.
func dialer(sockets *call.Sockets, machine, path string) func(env control.Env) grpc.ClientConnInterface {
	return func(env control.Env) grpc.ClientConnInterface { return call.Dial(sockets, env, machine, path) }
}

// servers holds the gRPC servers of one process. A field is nil if the process does not have that server.
type servers struct {
	identity   spec.IdentityServer
	controller spec.ControllerServer
	groups     spec.GroupControllerServer
	node       spec.NodeServer
}

// controllerServers makes the servers of the Deployment's process.
func (d Driver) controllerServers(h Host) (s servers, err error) {
	s = servers{identity: d.identity(), controller: d.Controller}
	if d.NewController != nil {
		s.controller, err = d.NewController(h)
	}
	s.groups, _ = s.controller.(spec.GroupControllerServer)
	return s, err
}

// nodeServers makes the servers of the DaemonSet's process on a node.
func (d Driver) nodeServers(h Host) (s servers, err error) {
	if d.Node == nil {
		return s, nil // they run at NodeEndpoint
	}
	s.identity = d.identity()
	s.node, err = d.Node(h)
	if err == nil && d.NodeController != nil {
		s.controller, err = d.NodeController(h)
	}
	return s, err
}

// register adds the servers to a gRPC server.
func (s servers) register(to grpc.ServiceRegistrar) {
	spec.RegisterIdentityServer(to, s.identity)
	if s.controller != nil {
		spec.RegisterControllerServer(to, s.controller)
	}
	if s.groups != nil {
		spec.RegisterGroupControllerServer(to, s.groups)
	}
	if s.node != nil {
		spec.RegisterNodeServer(to, s.node)
	}
}

// forever is longer than any run.
const forever = 1000 * 24 * time.Hour

// server returns the actor that is a driver's process: it makes its servers and listens.
func server(w World, actor string, socket call.Socket, build func() (servers, error)) Actor {
	socket.Crash = func(f call.Fault) { w.Crash(actor, f.Restart) }
	socket.Panicked = func(string, any, string) { w.Crash(actor, time.Second) }
	return Actor{Name: actor, Factory: func(env control.Env) error {
		env.Go("serve", func(ctx context.Context) {
			for {
				l, err := listen(env, w.Sockets, socket, build)
				if err != nil {
					env.Trace(trace.Decision{About: trace.Ref{Kind: "CSIDriver", Name: socket.Driver}, Text: "cannot start: " + err.Error()})
					_ = env.Sleep(control.InBackground(ctx), 10*time.Second) // then its container is started again
					continue
				}
				wait(ctx, env, l)
			}
		})
		return nil
	}}
}

// listen makes the servers, by code of the driver's author, and starts to listen.
func listen(env control.Env, sockets *call.Sockets, socket call.Socket, build func() (servers, error)) (*call.Listener, error) {
	var made servers
	var err error
	run := func() { made, err = build() }
	if foreign, ok := env.(control.Foreign); ok {
		foreign.Foreign("the start of the driver", trace.Ref{Kind: "CSIDriver", Name: socket.Driver}, run, func(time.Duration) {})
	} else {
		run()
	}
	if err != nil {
		return nil, err
	}
	socket.Register, socket.Env = made.register, env
	return call.Listen(sockets, socket)
}

// wait keeps the process alive. When it ends, so does its listener.
func wait(ctx context.Context, env control.Env, l *call.Listener) {
	defer l.Kill()
	for ctx.Err() == nil {
		_ = env.Sleep(control.InBackground(ctx), forever)
	}
}
