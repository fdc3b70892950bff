package csi

import (
	"context"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/livenessprobe"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/csi/registrar"
	"github.com/storagesim/storagesim/csi/snapshotter"
	"github.com/storagesim/storagesim/trace"
)

// ControllerActors are the actors of the driver's Deployment, on its host.
func (d Driver) ControllerActors(w World, h Host) []Actor {
	if !d.HasController() {
		return nil
	}
	name := "csi-driver/" + d.Name
	socket := call.Socket{Machine: h.Machine.String(), Path: ControllerSocket, Driver: d.Name, Options: d.Options, Address: d.Endpoint, Outside: d.SidecarSocket}
	crashes(w, &socket, name)
	dial := dialer(w, h)
	build := func() (func(grpc.ServiceRegistrar), error) {
		server := d.Controller
		if d.NewController != nil {
			var err error
			if server, err = d.NewController(h); err != nil {
				return nil, err
			}
		}
		return func(s grpc.ServiceRegistrar) {
			spec.RegisterIdentityServer(s, d.identity())
			if server != nil {
				spec.RegisterControllerServer(s, server)
			}
			if groups, ok := server.(spec.GroupControllerServer); ok {
				spec.RegisterGroupControllerServer(s, groups)
			}
		}, nil
	}
	actors := []Actor{{Name: name, Factory: serve(w, socket, build)}}
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

// dialer connects the sidecars on a driver's host with it.
func dialer(w World, h Host) func(env control.Env) grpc.ClientConnInterface {
	machine := h.Machine.String()
	return func(env control.Env) grpc.ClientConnInterface {
		return call.Dial(w.Sockets, env, machine, ControllerSocket)
	}
}

// SnapshotActors are the actors of the driver's Deployment that need the definitions of snapshots.
func (d Driver) SnapshotActors(w World, h Host) []Actor {
	return []Actor{{Name: SnapshotterActor(d.Name), Factory: snapshotter.New(d.SnapshotterConfig(dialer(w, h)))}}
}

// NodeActors are the actors of the driver's DaemonSet on one node.
func (d Driver) NodeActors(w World, h Host) []Actor {
	if !d.HasNodes() {
		return nil
	}
	name := "csi-driver/" + d.Name + "/" + h.Node
	socket := call.Socket{Machine: h.Machine.String(), Path: NodeSocket(d.Name), Driver: d.Name, Options: d.Options}
	if d.NodeEndpoint != nil {
		socket.Address, socket.Root = d.NodeEndpoint(h.Node), h.Machine.Dir()
	}
	if d.NodeController != nil && d.SidecarSocket != "" {
		socket.Outside = d.NodeSidecarSocket(h.Node)
	}
	crashes(w, &socket, name)
	build := func() (func(grpc.ServiceRegistrar), error) {
		if d.Node == nil {
			return nil, nil
		}
		server, err := d.Node(h)
		var controller spec.ControllerServer
		if err == nil && d.NodeController != nil {
			controller, err = d.NodeController(h)
		}
		return func(s grpc.ServiceRegistrar) {
			spec.RegisterIdentityServer(s, d.identity())
			spec.RegisterNodeServer(s, server)
			if controller != nil {
				spec.RegisterControllerServer(s, controller)
			}
		}, err
	}
	registers := "csi-registrar/" + d.Name + "/" + h.Node
	actors := []Actor{
		{Name: name, Factory: serve(w, socket, build)},
		{Name: registers, Factory: registrar.New(registrar.Config{
			Sockets: w.Sockets, Machine: socket.Machine, Socket: socket.Path, KubeletPath: socket.Path,
			Crash: func(f call.Fault) { w.Crash(registers, f.Restart) },
		})},
	}
	if d.NodeController == nil || d.SidecarSocket != "" {
		return actors
	}
	cfg := d.ProvisionerConfig(func(env control.Env) grpc.ClientConnInterface {
		return call.Dial(w.Sockets, env, socket.Machine, socket.Path)
	})
	cfg.Actor = ProvisionerActor(d.Name) + "/" + h.Node
	if cfg.NodeDeployment == nil {
		cfg.NodeDeployment = &provisioner.NodeDeployment{}
	}
	onNode := *cfg.NodeDeployment
	onNode.Node, cfg.NodeDeployment = h.Node, &onNode
	return append(actors, Actor{Name: cfg.Actor, Factory: provisioner.New(cfg)})
}

// crashes has a server's process be the actor.
func crashes(w World, socket *call.Socket, actor string) {
	socket.Crash = func(f call.Fault) { w.Crash(actor, f.Restart) }
	socket.Panicked = func(string, any, string) { w.Crash(actor, time.Second) }
}

// forever is a time that does not come.
const forever = 1000 * 24 * time.Hour

// serve is a process with one server: it makes what it serves, and listens.
func serve(w World, socket call.Socket, build func() (func(grpc.ServiceRegistrar), error)) control.Factory {
	return func(env control.Env) error {
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
	}
}

// listen makes the server, which is code of the driver's author, and has it listen.
func listen(env control.Env, sockets *call.Sockets, socket call.Socket, build func() (func(grpc.ServiceRegistrar), error)) (l *call.Listener, err error) {
	made := func() { socket.Register, err = build() }
	if foreign, ok := env.(control.Foreign); ok {
		foreign.Foreign("the start of the driver", trace.Ref{Kind: "CSIDriver", Name: socket.Driver}, made, func(time.Duration) {})
	} else {
		made()
	}
	if err != nil {
		return nil, err
	}
	return call.Listen(sockets, socket)
}

// wait keeps the process alive. Its listener ends with it.
func wait(ctx context.Context, env control.Env, l *call.Listener) {
	defer l.Kill()
	for ctx.Err() == nil {
		_ = env.Sleep(control.InBackground(ctx), forever)
	}
}
