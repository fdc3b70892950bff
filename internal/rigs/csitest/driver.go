// Package csitest has a CSI driver for tests of the sidecars. The test sets its answers, and it records its calls.
// Begin with Driver.
package csitest

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/storagesim/storagesim/control"
)

// Name is the driver's default name.
const Name = "plain.csi.example.com"

// A Failure makes calls of one method slow, or return an error.
type Failure struct {
	// Method is, for example, "CreateVolume".
	Method string
	// Code is the code of the answer; with OK and Takes the call is only slow.
	Code codes.Code
	// After makes the driver do the work before it fails.
	After bool
	// Times is the number of calls that fail; 0 means all.
	Times int
	// Takes is the time until the answer.
	Takes time.Duration
}

// Call is one call of the driver.
type Call struct {
	Method  string
	Request proto.Message
	At      time.Time
	Code    codes.Code
}

// Driver is a driver in memory, with the answers of the recordings' driver. It survives crashes of its callers.
type Driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedGroupControllerServer
	csi.UnimplementedNodeServer

	// Name is its name; New sets the constant Name.
	Name string
	// Services and Controller hold its capabilities.
	Services   []csi.PluginCapability_Service_Type
	Controller []csi.ControllerServiceCapability_RPC_Type
	// Size is the size of the volumes that it creates; default the requested one.
	Size int64
	// Topology is the topology of the volumes that it creates; default the first preferred one.
	Topology []*csi.Topology
	// NothingOnNodes makes volumes grow without any work on nodes.
	NothingOnNodes bool
	// Capacity, if set, answers GetCapacity.
	Capacity func(*csi.GetCapacityRequest) *csi.GetCapacityResponse
	// Node, if set, answers NodeGetInfo.
	Node *csi.NodeGetInfoResponse
	// NotReady makes Probe answer that the driver is not ready.
	NotReady bool
	// Failures are applied in order.
	Failures []*Failure
	// OnCall, if set, is called with each call in Calls before it is served.
	OnCall func(method string, req proto.Message)

	// Answer, if set, changes the answer to CreateVolume.
	Answer func(*csi.CreateVolumeResponse)

	// Volumes holds the names of its volumes, by ID, and Published the nodes of each.
	Volumes map[string]string
	// EndlessPage, if set, is the beginning of the one volume on each page of ListVolumes, which never end.
	EndlessPage string
	// SamePage, if set, is the next_token of each page of ListVolumes, which ignores starting_token.
	SamePage  string
	Published map[string][]string
	// Snapshots holds the volumes of its snapshots, by ID.
	Snapshots map[string]string
	// Groups holds the snapshots of its group snapshots, by ID; nil if it takes none.
	Groups map[string][]string
	// Unready is the number of calls of CreateSnapshot and CreateVolumeGroupSnapshot that answer that the snapshot
	// is not ready yet.
	Unready int
	// Calls lists the calls of the controller and group controller services, in order.
	Calls []Call
}

// New returns a driver with a controller service that creates and attaches volumes.
func New() *Driver {
	return &Driver{
		Name:     Name,
		Services: []csi.PluginCapability_Service_Type{csi.PluginCapability_Service_CONTROLLER_SERVICE},
		Controller: []csi.ControllerServiceCapability_RPC_Type{
			csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		},
		Volumes: map[string]string{}, Published: map[string][]string{}, Snapshots: map[string]string{},
	}
}

// Fail adds a failure.
func (d *Driver) Fail(f Failure) { d.Failures = append(d.Failures, &f) }

// Methods returns the methods called, in order, with the code of an error: "CreateVolume Internal".
func (d *Driver) Methods() []string {
	var methods []string
	for _, c := range d.Calls {
		text := c.Method
		if c.Code != codes.OK {
			text += " " + c.Code.String()
		}
		methods = append(methods, text)
	}
	return methods
}

// Last returns the last request of that type.
func Last[T proto.Message](d *Driver) T {
	for _, c := range slices.Backward(d.Calls) {
		if req, ok := c.Request.(T); ok {
			return req
		}
	}
	var none T
	return none
}

// Dial returns a connection to the driver. It is the Config.Dial of the sidecars.
func (d *Driver) Dial(env control.Env) grpc.ClientConnInterface { return conn{d, env} }

// conn calls the driver's methods through the tables that gRPC's servers use.
type conn struct {
	driver *Driver
	env    control.Env
}

func (c conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}

func (c conn) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	_ = c.env.Sleep(ctx, 0) // a call is a yield point
	service, name := path.Split(strings.TrimPrefix(method, "/"))
	for _, desc := range []grpc.ServiceDesc{csi.Identity_ServiceDesc, csi.Controller_ServiceDesc, csi.GroupController_ServiceDesc, csi.Node_ServiceDesc} {
		for _, m := range desc.Methods {
			if desc.ServiceName == path.Clean(service) && m.MethodName == name {
				return c.answer(ctx, m, args.(proto.Message), reply.(proto.Message), strings.HasSuffix(desc.ServiceName, "Controller"))
			}
		}
	}
	return status.Errorf(codes.Unimplemented, "unknown method %s", method)
}

func (c conn) answer(ctx context.Context, m grpc.MethodDesc, req, reply proto.Message, keep bool) error {
	at := len(c.driver.Calls)
	if keep && !strings.HasSuffix(m.MethodName, "GetCapabilities") {
		c.driver.Calls = append(c.driver.Calls, Call{Method: m.MethodName, Request: proto.Clone(req), At: c.env.Now()})
		if c.driver.OnCall != nil {
			c.driver.OnCall(m.MethodName, req)
		}
	}
	err := c.serve(ctx, m, req, reply)
	if at < len(c.driver.Calls) && c.driver.Calls[at].Method == m.MethodName {
		c.driver.Calls[at].Code = status.Code(err)
	}
	return err
}

func (c conn) serve(ctx context.Context, m grpc.MethodDesc, req, reply proto.Message) error {
	failure := c.driver.strikes(m.MethodName)
	if failure != nil && failure.Takes > 0 {
		if err := c.env.Sleep(ctx, failure.Takes); err != nil {
			return status.FromContextError(err).Err()
		}
	}
	fails := failure != nil && failure.Code != codes.OK
	if fails && !failure.After {
		return status.Error(failure.Code, "injected "+failure.Code.String())
	}
	answer, err := m.Handler(c.driver, ctx, func(in any) error { proto.Merge(in.(proto.Message), req); return nil }, nil)
	if err == nil {
		proto.Merge(reply, answer.(proto.Message))
	}
	if fails {
		return status.Error(failure.Code, "injected "+failure.Code.String())
	}
	return err
}

func (d *Driver) strikes(method string) *Failure {
	for i, f := range d.Failures {
		if f.Method == method {
			if f.Times--; f.Times == 0 {
				d.Failures = slices.Delete(d.Failures, i, i+1)
			}
			return f
		}
	}
	return nil
}

func gone(kind, id string) error {
	return status.Error(codes.NotFound, fmt.Sprintf("no %s %s", kind, id))
}
