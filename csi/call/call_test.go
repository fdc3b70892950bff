package call_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/soon"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
)

const socketPath = "/var/lib/kubelet/plugins/csi.example.com/csi.sock"

// node is a driver's node server; stage implements NodeStageVolume.
type node struct {
	csi.UnimplementedNodeServer
	stage  func(ctx context.Context) error
	mu     sync.Mutex // for staged
	staged int
}

func (n *node) NodeStageVolume(ctx context.Context, _ *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	n.mu.Lock()
	n.staged++
	n.mu.Unlock()
	if n.stage != nil {
		if err := n.stage(ctx); err != nil {
			return nil, err
		}
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

func (n *node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: "id-1"}, nil
}

// rig is a driver on node-1 and an actor that calls it.
type rig struct {
	testing.TB
	engine  *engine.Engine
	sockets *call.Sockets
	disk    *disk.Disk
	node    *node
	socket  call.Socket
}

func newRig(t testing.TB, cfg engine.Config) *rig {
	r := &rig{TB: t, engine: engine.New(cfg), node: &node{}}
	r.disk = disk.InMemory(r.engine.Now)
	r.sockets = &call.Sockets{Disk: func(machine string) *disk.Disk {
		if machine == "node/node-1" {
			return r.disk
		}
		return nil
	}}
	r.socket = call.Socket{
		Machine: "node/node-1", Path: socketPath, Driver: "csi.example.com",
		Register: func(s grpc.ServiceRegistrar) { csi.RegisterNodeServer(s, r.node) },
	}
	t.Cleanup(func() { r.sockets.Close(); r.engine.Close() })
	return r
}

func (r *rig) listen() *call.Listener {
	l, err := call.Listen(r.sockets, r.socket)
	require.NoError(r, err)
	return l
}

// as runs f as an actor.
func (r *rig) as(name string, f func(ctx context.Context, env control.Env, node csi.NodeClient)) {
	require.NoError(r, r.engine.Add(name, func(env control.Env) error {
		env.Go("call", func(ctx context.Context) {
			f(ctx, env, csi.NewNodeClient(call.Dial(r.sockets, env, "node/node-1", socketPath)))
		})
		return nil
	}))
	require.NoError(r, r.engine.Settle())
}

// stage calls NodeStageVolume with a timeout of 15 virtual seconds, and returns the outcome.
func (r *rig) stage() (took time.Duration, err error) {
	r.as("kubelet/node-1", func(ctx context.Context, env control.Env, node csi.NodeClient) {
		began := env.Now()
		_, err = node.NodeStageVolume(control.WithTimeout(ctx, env, 15*time.Second), &csi.NodeStageVolumeRequest{
			VolumeId: "vol-1", StagingTargetPath: "/staging", Secrets: map[string]string{"user": "admin"},
		})
		took = env.Now().Sub(began)
	})
	return took, err
}

func (r *rig) rpcs() (found []trace.RPC) {
	for _, e := range r.engine.Trace().Since(0) {
		if rpc, ok := e.Record.(trace.RPC); ok {
			found = append(found, rpc)
		}
	}
	return found
}

func TestACallIsAnsweredByTheServerItself(t *testing.T) {
	r := newRig(t, engine.Config{})
	var seen []string
	r.socket.Interceptors = []grpc.UnaryServerInterceptor{func(ctx context.Context, req any, info *grpc.UnaryServerInfo,
		handler grpc.UnaryHandler) (any, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		seen = append(seen, info.FullMethod, md.Get("x-who")[0])
		return handler(ctx, req)
	}}
	r.listen()
	r.as("kubelet/node-1", func(ctx context.Context, _ control.Env, node csi.NodeClient) {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-who", "me")
		info, err := node.NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
		require.NoError(t, err)
		require.Equal(t, "id-1", info.NodeId)
		_, err = node.NodeExpandVolume(ctx, &csi.NodeExpandVolumeRequest{VolumeId: "v"})
		require.Equal(t, codes.Unimplemented, status.Code(err))
	})
	require.Equal(t, []string{"/csi.v1.Node/NodeGetInfo", "me", "/csi.v1.Node/NodeExpandVolume", "me"}, seen)
	require.Equal(t, "  0:00:00  kubelet/node-1  calls NodeGetInfo of csi.example.com: OK, node_id id-1\n"+
		"           kubelet/node-1  calls NodeExpandVolume of csi.example.com with volume_id v: Unimplemented: method NodeExpandVolume not implemented\n",
		r.engine.Trace().Story(engine.Start()))
}

func TestTheErrorOfAServerKeepsItsCodeAndText(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.node.stage = func(context.Context) error { return status.Error(codes.FailedPrecondition, "not attached") }
	r.listen()
	_, err := r.stage()
	require.EqualError(t, err, "rpc error: code = FailedPrecondition desc = not attached")
}

func TestALongErrorOfAServerIsCut(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.listen()
	r.node.stage = func(context.Context) error { return status.Error(codes.Internal, strings.Repeat("x", 3<<20)) }
	_, err := r.stage()
	require.Equal(t, codes.Internal, status.Code(err))
	require.Equal(t, strings.Repeat("x", 4<<10)+"... 3141632 bytes more", status.Convert(err).Message())
	require.Less(t, len(r.rpcs()[0].Err), 5<<10)
}

func TestWhereNobodyListensACallIsUnavailable(t *testing.T) {
	r := newRig(t, engine.Config{})
	took, err := r.stage()
	require.EqualError(t, err, `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix `+socketPath+
		`: connect: no such file or directory"`)
	require.Zero(t, took)
}

func TestASocketWhoseServerWasKilledRefusesConnections(t *testing.T) {
	r := newRig(t, engine.Config{})
	require.True(t, r.listen().Kill())
	_, err := r.stage()
	require.ErrorContains(t, err, "connect: connection refused")
	again := r.listen() // a server that starts again takes the socket over
	require.NoError(t, again.Close())
	_, err = r.disk.Lstat(socketPath)
	require.Error(t, err)
}

func TestASocketIsAFileOnTheMachinesDisk(t *testing.T) {
	r := newRig(t, engine.Config{})
	var told []string
	stop := r.sockets.Watch("node/node-1", "/var/lib/kubelet/plugins/csi.example.com", func(name string) { told = append(told, name) })
	l := r.listen()
	info, err := r.disk.Lstat(socketPath)
	require.NoError(t, err)
	require.Equal(t, "Srwxr-xr-x", info.Mode().String())
	require.Equal(t, []string{socketPath}, r.sockets.In("node/node-1", "/var/lib/kubelet/plugins/csi.example.com"))
	require.NoError(t, l.Close())
	stop()
	r.listen()
	require.Equal(t, []string{socketPath, socketPath}, told)
}

func TestWhatCannotBeASocketIsRefused(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.listen()
	require.NoError(t, r.disk.WriteFile("/file", nil, 0o644))
	long := "/var/lib/kubelet/plugins/a-driver-with-a-name-that-goes-on-and-on-until-it-is-too-long.csi.example.com/csi.sock"
	for _, c := range []struct{ machine, path, want string }{
		{"node/node-1", "csi.sock", `socket "csi.sock" on node/node-1: the path is not absolute`},
		{"node/node-1", long, "socket " + long + " on node/node-1: the path has 111 bytes; a unix socket's may have at most 107"},
		{"node/node-1", socketPath, "socket " + socketPath + " on node/node-1: address already in use"},
		{"node/node-1", "/file", "socket /file on node/node-1: mkdir /file: address already in use"},
		{"node/other", "/x", "socket /x on node/other: there is no such machine"},
	} {
		r.socket.Machine, r.socket.Path = c.machine, c.path
		_, err := call.Listen(r.sockets, r.socket)
		require.EqualError(t, err, c.want)
	}
	_, err := call.Listen(r.sockets, call.Socket{Machine: "node/node-1", Path: "/y"})
	require.EqualError(t, err, "socket /y on node/node-1: it has no services")
}

func TestAServerThatNeverAnswersCostsVirtualTimeUntilTheDeadline(t *testing.T) {
	r := newRig(t, engine.Config{Blocked: 50 * time.Millisecond})
	ended := make(chan struct{})
	r.node.stage = func(ctx context.Context) error {
		defer close(ended)
		<-ctx.Done()
		return ctx.Err()
	}
	r.listen()
	took, err := r.stage()
	require.EqualError(t, err, "rpc error: code = DeadlineExceeded desc = context deadline exceeded")
	require.Equal(t, 15*time.Second, took)
	<-ended // the server's context is cancelled
	require.Equal(t, "the driver does not answer", r.rpcs()[0].Fault)
}

func TestAFaultThatHangsCostsNoRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in whose bubble time.Now moves by what code waits
		r := newRig(t, engine.Config{})
		r.listen()
		require.NoError(t, r.sockets.Inject(call.Fault{Method: "NodeStageVolume", Hang: true}))
		began := time.Now()
		took, err := r.stage()
		require.Equal(t, codes.DeadlineExceeded, status.Code(err))
		require.Equal(t, 15*time.Second, took)
		require.Zero(t, time.Since(began))
		require.Zero(t, r.node.staged)
	})
}

func TestACallWithoutADeadlineThatHangsLeavesTheClusterAtRest(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.listen()
	require.NoError(t, r.sockets.Inject(call.Fault{Hang: true}))
	answered := false
	r.as("kubelet/node-1", func(ctx context.Context, _ control.Env, node csi.NodeClient) {
		_, _ = node.NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
		answered = true
	})
	require.False(t, answered)
	require.Equal(t, engine.Start(), r.engine.Now())
}

func TestAHandlerThatPanicsEndsTheDriverAndNotTheSimulation(t *testing.T) {
	for name, stage := range map[string]func(context.Context) error{
		"panic": func(context.Context) error { panic("out of luck") },
		"nil":   func(context.Context) error { return (*node)(nil).stage(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, engine.Config{})
			r.node.stage = stage
			var told []string
			r.socket.Panicked = func(method string, _ any, at string) { told = append(told, method+" "+at) }
			r.listen()
			_, err := r.stage()
			require.EqualError(t, err, "rpc error: code = Unavailable desc = error reading from server: EOF")
			require.Len(t, told, 1)
			require.Regexp(t, `^NodeStageVolume call/call_test\.go:\d+$`, told[0])
			require.False(t, r.sockets.Listening("node/node-1", socketPath))
		})
	}
}

// A kubelet tells its classes of errors by their codes (socket.Node).
func TestAKubeletsCallFailsWithTheServersCode(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.listen()
	stage := func(actor string) (err error) {
		r.as(actor, func(ctx context.Context, env control.Env, _ csi.NodeClient) {
			node := r.sockets.Transport().Node(env, socket.Place{Machine: "node/node-1", Path: socketPath})
			err = node.Stage(ctx, socket.StageRequest{VolumeId: "vol-1", StagingTargetPath: "/staging"})
		})
		return err
	}
	require.NoError(t, stage("kubelet/node-1"))
	r.node.stage = func(context.Context) error { return status.Error(codes.FailedPrecondition, "not attached") }
	coded, ok := errors.AsType[interface {
		error
		Code() codes.Code
	}](stage("kubelet/node-2"))
	require.True(t, ok)
	require.Equal(t, codes.FailedPrecondition, coded.Code())
}

func TestFaultsStrikeBeforeAndAfterACall(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  call.Fault
		want   codes.Code
		done   int
		took   time.Duration
		record string
	}{
		{"code before", call.Fault{Code: codes.Internal, Message: "no luck"}, codes.Internal, 0, 0, "it is refused before the driver gets it"},
		{"code after", call.Fault{Code: codes.Internal, After: true}, codes.Internal, 1, 0, "it is refused after the driver has done it"},
		{"slow code", call.Fault{Code: codes.Aborted, Delay: 5 * time.Second}, codes.Aborted, 0, 5 * time.Second,
			"it is refused before the driver gets it, after 5s"},
		{"too slow code", call.Fault{Code: codes.Aborted, Delay: time.Minute, After: true}, codes.DeadlineExceeded, 1, 15 * time.Second,
			"it is refused after the driver has done it, after 1m0s"},
		{"another answer", call.Fault{Answer: func(any) {}, After: true}, codes.OK, 1, 0, "the answer is another than the driver's"},
		{"lost", call.Fault{After: true}, codes.Unavailable, 1, 0, "the answer is lost"},
		{"hang after", call.Fault{Hang: true, After: true}, codes.DeadlineExceeded, 1, 15 * time.Second, "it hangs after the driver has done it"},
		{"slow", call.Fault{Delay: 5 * time.Second}, codes.OK, 1, 5 * time.Second, "it takes 5s"},
		{"too slow", call.Fault{Delay: time.Minute}, codes.DeadlineExceeded, 0, 15 * time.Second, "it takes 1m0s"},
		{"too slow after", call.Fault{Delay: time.Minute, After: true}, codes.DeadlineExceeded, 1, 15 * time.Second, "it takes 1m0s"},
		{"crash", call.Fault{Crash: true}, codes.Unavailable, 0, 0, "the driver crashes before the driver gets it"},
		{"crash after", call.Fault{Crash: true, After: true}, codes.Unavailable, 1, 0, "the driver crashes after the driver has done it"},
		{"another's", call.Fault{Crash: true, Caller: "kubelet/node-2"}, codes.OK, 1, 0, ""},
		{"another volume's", call.Fault{Crash: true, Volume: "vol-2"}, codes.OK, 1, 0, ""},
		{"the next", call.Fault{Crash: true, Skip: 1}, codes.OK, 1, 0, ""},
		{"all fields", call.Fault{Hang: true, Caller: "kubelet/node-1", Machine: "node/node-1", Driver: "csi.example.com", Method: "csi.v1.Node/NodeStageVolume",
			Volume: "vol-1"}, codes.DeadlineExceeded, 0, 15 * time.Second, "it hangs before the driver gets it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, engine.Config{})
			crashed := 0
			r.socket.Crash = func(call.Fault) { crashed++ }
			r.listen()
			require.NoError(t, r.sockets.Inject(c.fault))
			took, err := r.stage()
			require.Equal(t, c.want, status.Code(err), "%v", err)
			if c.fault.Code == c.want && err != nil {
				require.Equal(t, cmp.Or(c.fault.Message, "injected fault"), status.Convert(err).Message())
			}
			require.Equal(t, c.done, r.node.staged)
			require.Equal(t, c.took, took)
			require.Equal(t, c.record, r.rpcs()[0].Fault)
			require.Equal(t, c.want == codes.Unavailable && c.fault.Crash, crashed == 1)
		})
	}
}

func TestFaultsStrikeInTheOrderInWhichTheyWereAdded(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.listen()
	for _, f := range []call.Fault{{Code: codes.NotFound}, {Code: codes.Internal, After: true}, {Code: codes.Aborted}} {
		require.NoError(t, r.sockets.Inject(f))
	}
	var got []codes.Code
	r.as("kubelet/node-1", func(ctx context.Context, _ control.Env, node csi.NodeClient) {
		for range 4 {
			_, err := node.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{VolumeId: "vol-1", StagingTargetPath: "/staging"})
			got = append(got, status.Code(err))
		}
	})
	require.Equal(t, []codes.Code{codes.NotFound, codes.Internal, codes.Aborted, codes.OK}, got)
	require.Equal(t, 2, r.node.staged)
}

func TestAFaultThatMakesNoSenseIsRefused(t *testing.T) {
	var s call.Sockets
	for want, f := range map[string]call.Fault{
		"call.Fault: one of Code, Hang, Delay, Answer, Crash and After must be set":                                    {},
		"call.Fault: only one of Code, Hang, Answer and Crash can be set, and Delay only alone or with Code or Answer": {Hang: true, Crash: true},
		"call.Fault.Answer: the driver must have answered before; set After, too":                                      {Answer: func(any) {}},
		"call.Fault.Skip: -1 is negative; it must be 0 or more":                                                        {Hang: true, Skip: -1},
		"call.Fault.Code: 17 is not a gRPC code; those are 1 to 16":                                                    {Code: 17},
		"call.Fault.Restart: it is the downtime of a Crash, which is not set":                                          {Hang: true, Restart: 1},
		"call.Fault.Message: it is the text of a Code, which is not set":                                               {Hang: true, Message: "x"},
	} {
		require.EqualError(t, s.Inject(f), want)
	}
}

func TestATraceShowsRequestAndAnswerWithoutSecrets(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.listen()
	_, _ = r.stage()
	rpc := r.rpcs()[0]
	require.Equal(t, map[string]any{"volume_id": "vol-1", "staging_target_path": "/staging", "secrets": map[string]any{"user": trace.Stripped}}, rpc.Request)
	text, err := trace.JSON(r.engine.Trace().Since(0))
	require.NoError(t, err)
	require.NotContains(t, text, "admin")
	require.Contains(t, text,
		`"type":"RPC","topic":"grpc","text":"calls NodeStageVolume of csi.example.com with volume_id vol-1, staging_target_path /staging: OK"`)
}

func TestNobodyElseMovesDuringACall(t *testing.T) {
	r := newRig(t, engine.Config{})
	var mu sync.Mutex
	var order []string
	say := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	r.node.stage = func(context.Context) error {
		say("begins")
		time.Sleep(20 * time.Millisecond) // real time, in which others could run
		say("ends")
		return nil
	}
	r.listen()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, r.engine.Add(name, func(env control.Env) error {
			for range 2 {
				env.Go("call", func(ctx context.Context) {
					_, err := csi.NewNodeClient(call.Dial(r.sockets, env, "node/node-1", socketPath)).NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{})
					require.NoError(t, err)
				})
			}
			return nil
		}))
	}
	require.NoError(t, r.engine.Settle())
	require.Equal(t, []string{"begins", "ends", "begins", "ends", "begins", "ends", "begins", "ends"}, order)
}

func TestTheSameSeedGivesTheSameCalls(t *testing.T) {
	story := func(seed uint64) string {
		r := newRig(t, engine.Config{Policy: engine.Seeded(seed)})
		r.listen()
		require.NoError(t, r.sockets.Inject(call.Fault{Skip: 3, After: true}))
		require.NoError(t, r.sockets.Inject(call.Fault{Skip: 5, Hang: true}))
		for _, name := range []string{"a", "b", "c"} {
			require.NoError(t, r.engine.Add(name, func(env control.Env) error {
				for _, volume := range []string{"v-1", "v-2", "v-3"} {
					env.Go(volume, func(ctx context.Context) {
						node := csi.NewNodeClient(call.Dial(r.sockets, env, "node/node-1", socketPath))
						for range 3 {
							_, _ = node.NodeStageVolume(control.WithTimeout(ctx, env, time.Second), &csi.NodeStageVolumeRequest{VolumeId: volume})
						}
					})
				}
				return nil
			}))
		}
		require.NoError(t, r.engine.Settle())
		return r.engine.Trace().Story(engine.Start())
	}
	others := 0
	for seed := range uint64(20) {
		first := story(seed)
		require.Equal(t, first, story(seed))
		if first != story(seed+1) {
			others++
		}
	}
	require.Positive(t, others, "seeds make a difference")
}

// twoCallers runs two actors that call NodeStageVolume, with a deadline of 15 virtual seconds. The first one's
// server takes real time until it is released.
func (r *rig) twoCallers() (release func(), ended *[]string) {
	held := make(chan struct{})
	r.node.stage = func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		if md.Get("x-who")[0] != "slow" {
			return nil
		}
		select {
		case <-held:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	r.listen()
	ended = &[]string{}
	for _, name := range []string{"slow", "fast"} {
		require.NoError(r, r.engine.Add(name, func(env control.Env) error {
			env.Go("call", func(ctx context.Context) {
				ctx = control.WithTimeout(metadata.AppendToOutgoingContext(ctx, "x-who", name), env, 15*time.Second)
				_, err := csi.NewNodeClient(call.Dial(r.sockets, env, "node/node-1", socketPath)).NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{})
				*ended = append(*ended, name+" "+status.Code(err).String())
			})
			return nil
		}))
	}
	return func() { close(held) }, ended
}

func TestInRealTimeACallParksItsTaskAndOthersGoOn(t *testing.T) {
	r := newRig(t, engine.Config{})
	release, ended := r.twoCallers()
	r.engine.InRealTime(true)
	require.True(t, soon.Is(t, func() bool {
		require.NoError(t, r.engine.RunFor(time.Second))
		return len(*ended) == 1
	}))
	require.Equal(t, []string{"fast OK"}, *ended)
	release()
	r.engine.InRealTime(false)
	require.NoError(t, r.engine.Settle(), "it waits for the call that is under way")
	require.Equal(t, []string{"fast OK", "slow OK"}, *ended)
}

func TestInRealTimeADeadlineOfVirtualTimeEndsACall(t *testing.T) {
	r := newRig(t, engine.Config{})
	_, ended := r.twoCallers()
	r.engine.InRealTime(true)
	require.NoError(t, r.engine.RunFor(14*time.Second))
	require.NotContains(t, *ended, "slow DeadlineExceeded")
	require.NoError(t, r.engine.RunFor(time.Second))
	require.Contains(t, *ended, "slow DeadlineExceeded")
}

func TestACallThatIsUnderWayInRealTimeEndsWithItsCaller(t *testing.T) {
	r := newRig(t, engine.Config{})
	_, ended := r.twoCallers()
	r.engine.InRealTime(true)
	require.NoError(t, r.engine.RunFor(time.Second))
	require.NoError(t, r.engine.Stop("slow"))
	r.engine.InRealTime(false)
	require.NoError(t, r.engine.RunFor(time.Minute))
	require.NotContains(t, *ended, "slow DeadlineExceeded")
}

// ending is an Env whose process ends when the answer of a server has come and before the caller has seen it, which live/remote may
// do.
type ending struct{ control.Env }

func (ending) IsLive() bool { return true }

func (ending) Await(_ context.Context, ask func() <-chan struct{}) bool {
	answered := ask()
	if answered == nil {
		return true
	}
	<-answered
	panic("the process ends")
}

// The answer comes into a message that the ending caller, which writes the record of the call, does not share: it may come at any
// moment, in another goroutine.
func TestAnAnswerThatComesWhileItsCallerEndsIsNotSeen(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.listen()
	var abandoned []trace.RPC
	r.sockets.Abandoned = func(_ string, rpc trace.RPC) { abandoned = append(abandoned, rpc) }
	answer := &csi.NodeGetInfoResponse{}
	r.as("kubelet/node-1", func(ctx context.Context, env control.Env, _ csi.NodeClient) {
		require.PanicsWithValue(t, "the process ends", func() {
			_ = call.Dial(r.sockets, ending{env}, "node/node-1", socketPath).Invoke(ctx, csi.Node_NodeGetInfo_FullMethodName, &csi.NodeGetInfoRequest{}, answer)
		})
	})
	require.Len(t, abandoned, 1)
	require.Empty(t, abandoned[0].Answer)
	require.Empty(t, answer.GetNodeId())
}

func TestAnAnswerThatIsNoMessageIsRefused(t *testing.T) {
	r := newRig(t, engine.Config{})
	r.as("kubelet/node-1", func(ctx context.Context, env control.Env, _ csi.NodeClient) {
		err := call.Dial(r.sockets, env, "node/node-1", socketPath).Invoke(ctx, csi.Node_NodeGetInfo_FullMethodName, nil, new(string))
		require.EqualError(t, err, "rpc error: code = Internal desc = the answer of /csi.v1.Node/NodeGetInfo is wanted in a *string, which is no protobuf message")
	})
}
