package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/storagesim/storagesim/conformance"
)

// drivers are the CSI drivers of a recording, and what is to fail.
type drivers struct {
	byName map[string]conformance.RecordedDriver

	mu       sync.Mutex
	failures []conformance.Failure
	calls    []call
	// work lets the drivers do one thing at a time.
	work sync.Mutex
}

// call is a call at a driver.
type call struct {
	conformance.DriverCall
	at    time.Time
	ended time.Time // zero while it lasts
}

func newDrivers() *drivers {
	d := &drivers{byName: map[string]conformance.RecordedDriver{}}
	for _, name := range conformance.DriverNames() {
		d.byName[name] = conformance.NewDriver(name)
	}
	return d
}

// serve serves on a socket until the returned server is stopped.
func serve(socket string, register func(*grpc.Server), options ...grpc.ServerOption) (*grpc.Server, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(socket); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	s := grpc.NewServer(options...)
	register(s)
	go func() { _ = s.Serve(l) }()
	return s, nil
}

// controller serves a driver's controller on a socket.
func (d *drivers) controller(name, socket string) (*grpc.Server, error) {
	return serve(socket, func(s *grpc.Server) {
		csipb.RegisterIdentityServer(s, d.byName[name])
		csipb.RegisterControllerServer(s, d.byName[name])
	}, grpc.UnaryInterceptor(d.intercept(name, "controller")))
}

// node serves a driver on a node and registers it with the kubelet.
func (d *drivers) node(name string, n *node) (servers []*grpc.Server, err error) {
	root := filepath.Join(n.dir, "kubelet")
	own, err := serve(filepath.Join(root, "plugins", name, "csi.sock"), func(s *grpc.Server) {
		csipb.RegisterIdentityServer(s, d.byName[name])
		csipb.RegisterNodeServer(s, &nodeServer{name: name, driver: d.byName[name], node: n})
	}, grpc.UnaryInterceptor(d.intercept(name, n.name)))
	if err != nil {
		return nil, err
	}
	registrar, err := serve(filepath.Join(root, "plugins_registry", name+"-reg.sock"), func(s *grpc.Server) {
		registerapi.RegisterRegistrationServer(s, registrar{name: name})
	})
	return []*grpc.Server{own, registrar}, err
}

// registrar answers a kubelet's questions about a driver.
type registrar struct {
	registerapi.UnimplementedRegistrationServer
	name string
}

// GetInfo implements registerapi.RegistrationServer.
func (r registrar) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: r.name, Endpoint: path.Join("/var/lib/kubelet/plugins", r.name, "csi.sock"),
		SupportedVersions: []string{"1.0.0"}}, nil
}

// NotifyRegistrationStatus implements registerapi.RegistrationServer.
func (registrar) NotifyRegistrationStatus(context.Context, *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, nil
}

// routine are the calls that recordings leave out.
var routine = []string{"Probe", "GetPluginInfo", "GetPluginCapabilities", "ControllerGetCapabilities", "NodeGetCapabilities", "NodeGetInfo"}

// intercept notes calls and lets them fail.
func (d *drivers) intercept(driver, side string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		method := path.Base(info.FullMethod)
		do := func() (any, error) {
			d.work.Lock()
			defer d.work.Unlock()
			return handler(ctx, req)
		}
		f := d.strike(method)
		if f == nil && slices.Contains(routine, method) {
			return do()
		}
		i := d.note(call{DriverCall: conformance.DriverCall{Driver: driver, Method: method, Side: side, Request: request(req)}, at: time.Now()})
		answer, err, cut := act(ctx, f, do)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.calls[i].Code, d.calls[i].Unanswered, d.calls[i].ended = status.Code(err).String(), cut, time.Now()
		return answer, err
	}
}

// act does a call's work, or fails it. It reports whether the caller went before the answer.
func act(ctx context.Context, f *conformance.Failure, do func() (any, error)) (answer any, err error, gone bool) {
	if f == nil {
		answer, err = do()
		return answer, err, false
	}
	if f.After || f.Answer != "" {
		answer, err = do()
	}
	if f.Sleep > 0 {
		select {
		case <-ctx.Done():
			end, has := ctx.Deadline()
			gone = !has || time.Until(end) > 100*time.Millisecond
			if f.Code == "" && !gone {
				return nil, status.FromContextError(context.DeadlineExceeded).Err(), false
			}
		case <-time.After(time.Duration(f.Sleep * float64(time.Second))):
		}
	}
	switch {
	case f.Code != "":
		return nil, status.Error(codeOf(f.Code), f.Message), gone
	case f.Answer == "empty":
		proto.Reset(answer.(proto.Message))
	case f.Answer == "no id":
		switch answer := answer.(type) {
		case *csipb.CreateVolumeResponse:
			answer.Volume = proto.Clone(answer.GetVolume()).(*csipb.Volume)
			answer.Volume.VolumeId = ""
		case *csipb.CreateSnapshotResponse:
			answer.Snapshot.SnapshotId = ""
		}
	case !f.After && !gone:
		answer, err = do()
	}
	return answer, err, gone
}

func codeOf(name string) codes.Code {
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		if code.String() == name {
			return code
		}
	}
	return codes.Unknown
}

// request returns a request in JSON, as recordings have it.
func request(req any) map[string]any {
	message, ok := req.(proto.Message)
	if !ok {
		return nil
	}
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	fields := map[string]any{}
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		panic(err)
	}
	return fields
}

// note adds a call and returns its place.
func (d *drivers) note(c call) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, c)
	return len(d.calls) - 1
}

// strike returns the failure of the next call of a method, nil if it has none.
func (d *drivers) strike(method string) *conformance.Failure {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.failures {
		if f := &d.failures[i]; f.Method == method && f.Times > 0 {
			f.Times--
			struck := *f
			return &struck
		}
	}
	return nil
}

// Fail implements conformance.Stack.
func (d *drivers) Fail(failures []conformance.Failure) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failures = slices.Clone(failures)
	return nil
}

// Control implements conformance.Stack.
func (d *drivers) Control(what string) error {
	d.work.Lock()
	defer d.work.Unlock()
	address, err := url.Parse(what)
	if err != nil {
		return err
	}
	values := address.Query()
	about := conformance.DriverNames()
	if name := values.Get("driver"); name != "" {
		about = []string{name}
	}
	values.Del("driver")
	settings := map[string]string{}
	for key := range values {
		settings[key] = values.Get(key)
	}
	if strings.Trim(address.Path, "/") == "caps" {
		settings = map[string]string{"caps": values.Get("without")}
	}
	for _, name := range about {
		for key, value := range settings {
			err = errors.Join(err, d.byName[name].Set(key, value))
		}
	}
	return err
}

// Calls implements conformance.Stack.
func (d *drivers) Calls(since time.Time) (list []conformance.DriverCall) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		if c.ended.After(since) {
			c.At = math.Round(c.at.Sub(since).Seconds()*100) / 100
			list = append(list, c.DriverCall)
		}
	}
	return list
}

// Published implements conformance.Stack.
func (d *drivers) Published() map[string][]string {
	d.work.Lock()
	defer d.work.Unlock()
	all := map[string][]string{}
	for _, driver := range d.byName {
		for id, on := range driver.Published() {
			all[id] = on
		}
	}
	return all
}

// nodeServer is a driver on one node: bind mounts of directories, and files for raw devices.
type nodeServer struct {
	csipb.UnimplementedNodeServer
	name   string
	driver conformance.RecordedDriver
	node   *node
}

// NodeGetInfo implements csipb.NodeServer.
func (s *nodeServer) NodeGetInfo(context.Context, *csipb.NodeGetInfoRequest) (*csipb.NodeGetInfoResponse, error) {
	answer := &csipb.NodeGetInfoResponse{NodeId: "id-" + s.node.name, MaxVolumesPerNode: s.driver.Limit()}
	if strings.HasPrefix(s.name, "topo.") {
		answer.AccessibleTopology = &csipb.Topology{Segments: map[string]string{s.name + "/zone": "z" + strings.TrimPrefix(s.node.name, "node-")}}
	}
	return answer, nil
}

// NodeGetCapabilities implements csipb.NodeServer.
func (s *nodeServer) NodeGetCapabilities(context.Context, *csipb.NodeGetCapabilitiesRequest) (*csipb.NodeGetCapabilitiesResponse, error) {
	answer := &csipb.NodeGetCapabilitiesResponse{}
	for _, rpc := range []csipb.NodeServiceCapability_RPC_Type{csipb.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME,
		csipb.NodeServiceCapability_RPC_EXPAND_VOLUME} {
		answer.Capabilities = append(answer.Capabilities,
			&csipb.NodeServiceCapability{Type: &csipb.NodeServiceCapability_Rpc{Rpc: &csipb.NodeServiceCapability_RPC{Type: rpc}}})
	}
	return answer, nil
}

// source returns the directory of a volume.
func source(id string) string { return path.Join("/srv/csi", path.Base(id)) }

// NodeStageVolume implements csipb.NodeServer.
func (s *nodeServer) NodeStageVolume(_ context.Context, req *csipb.NodeStageVolumeRequest) (*csipb.NodeStageVolumeResponse, error) {
	if req.GetVolumeCapability().GetBlock() != nil {
		return &csipb.NodeStageVolumeResponse{}, nil
	}
	return &csipb.NodeStageVolumeResponse{}, internal(s.bind(source(req.GetVolumeId()), req.GetStagingTargetPath(), false))
}

// NodePublishVolume implements csipb.NodeServer.
func (s *nodeServer) NodePublishVolume(_ context.Context, req *csipb.NodePublishVolumeRequest) (*csipb.NodePublishVolumeResponse, error) {
	answer := &csipb.NodePublishVolumeResponse{}
	if req.GetVolumeCapability().GetBlock() != nil {
		device, err := s.node.device(source(req.GetVolumeId()) + ".device")
		if err == nil {
			err = s.bind(device, req.GetTargetPath(), true)
		}
		return answer, internal(err)
	}
	from := req.GetStagingTargetPath()
	if from == "" {
		from = source(req.GetVolumeId())
	}
	return answer, internal(s.bind(from, req.GetTargetPath(), false))
}

// bind mounts a directory or a file on another; both are made.
func (s *nodeServer) bind(from, to string, file bool) error {
	for _, name := range []string{from, to} {
		real := s.node.path(name)
		var err error
		if !file {
			err = os.MkdirAll(real, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(real), 0o755); err == nil {
			if _, missing := os.Stat(real); missing != nil {
				err = os.WriteFile(real, nil, 0o660)
			}
		}
		if err != nil {
			return err
		}
	}
	mounts, err := s.node.mounts()
	if err != nil || slices.Contains(mounts, to) {
		return err
	}
	return s.node.run("mount", "--bind", from, to)
}

// unmount takes away what is mounted at a path.
func (s *nodeServer) unmount(at string) error {
	mounts, err := s.node.mounts()
	if err != nil || !slices.Contains(mounts, at) {
		return err
	}
	return s.node.run("umount", at)
}

// NodeUnpublishVolume implements csipb.NodeServer.
func (s *nodeServer) NodeUnpublishVolume(_ context.Context, req *csipb.NodeUnpublishVolumeRequest) (*csipb.NodeUnpublishVolumeResponse, error) {
	err := s.unmount(req.GetTargetPath())
	if err == nil {
		err = s.node.freeDevice(source(req.GetVolumeId()) + ".device")
	}
	if err == nil {
		err = os.Remove(s.node.path(req.GetTargetPath()))
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return &csipb.NodeUnpublishVolumeResponse{}, internal(err)
}

// NodeUnstageVolume implements csipb.NodeServer.
func (s *nodeServer) NodeUnstageVolume(_ context.Context, req *csipb.NodeUnstageVolumeRequest) (*csipb.NodeUnstageVolumeResponse, error) {
	return &csipb.NodeUnstageVolumeResponse{}, internal(s.unmount(req.GetStagingTargetPath()))
}

// NodeExpandVolume implements csipb.NodeServer.
func (s *nodeServer) NodeExpandVolume(_ context.Context, req *csipb.NodeExpandVolumeRequest) (*csipb.NodeExpandVolumeResponse, error) {
	return &csipb.NodeExpandVolumeResponse{CapacityBytes: req.GetCapacityRange().GetRequiredBytes()}, nil
}

func internal(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(codes.Internal, fmt.Sprint(err))
}
