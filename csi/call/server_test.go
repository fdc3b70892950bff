package call

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
)

// said holds the outcome of a call as its caller sees it, and the request as the handler saw it.
type said struct {
	err             string
	details         int
	answer          string
	header, trailer metadata.MD
	seen            []string
}

type (
	request  = csi.NodeStageVolumeRequest
	response = csi.NodeStageVolumeResponse
)

// aNode is a driver that does what a test wants.
type aNode struct {
	csi.UnimplementedNodeServer

	seen []string
	does func(context.Context, *request) (*response, error)
	info *csi.NodeGetInfoResponse
}

func (n *aNode) NodeStageVolume(ctx context.Context, req *request) (*response, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	outgoing, _ := metadata.FromOutgoingContext(ctx)
	_, deadline := ctx.Deadline()
	from, hasPeer := peer.FromContext(ctx)
	m, ok := grpc.Method(ctx)
	n.seen = append(n.seen, fmt.Sprint(md["x-who"], md["content-type"], len(md["user-agent"]), len(md[":authority"]), len(outgoing), deadline,
		hasPeer && from.Addr != nil, m, ok))
	return n.does(ctx, req)
}

func (n *aNode) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return n.info, nil
}

// fine is an error whose status says that all is well.
type fine struct{}

func (fine) Error() string              { return "fine" }
func (fine) GRPCStatus() *status.Status { return status.New(codes.OK, "fine") }

// gRPC itself is the judge: over a connection, the same services answer each call alike.
func TestACallWithoutAConnectionIsLikeOneWithIt(t *testing.T) {
	detailed, err := status.New(codes.Aborted, "later").WithDetails(&csi.NodeGetInfoRequest{})
	require.NoError(t, err)
	failing := func(err error) func(context.Context, *request) (*response, error) {
		return func(context.Context, *request) (*response, error) { return nil, err }
	}
	ok := func(context.Context, *request) (*response, error) { return &response{}, nil }
	const stage, info = csi.Node_NodeStageVolume_FullMethodName, csi.Node_NodeGetInfo_FullMethodName
	for name, c := range map[string]struct {
		method string
		req    any
		node   aNode
	}{
		"answered":               {stage, &request{VolumeId: "v"}, aNode{does: ok}},
		"an answer":              {info, &csi.NodeGetInfoRequest{}, aNode{info: &csi.NodeGetInfoResponse{NodeId: "id-1", MaxVolumesPerNode: 3}}},
		"no answer":              {stage, &request{}, aNode{does: failing(nil)}},
		"a status":               {stage, &request{}, aNode{does: failing(status.Error(codes.NotFound, "no v"))}},
		"a status with details":  {stage, &request{}, aNode{does: failing(detailed.Err())}},
		"a status within":        {stage, &request{}, aNode{does: failing(fmt.Errorf("it fails: %w", status.Error(codes.NotFound, "no v")))}},
		"a plain error":          {stage, &request{}, aNode{does: failing(errors.New("no luck"))}},
		"a deadline":             {stage, &request{}, aNode{does: failing(context.DeadlineExceeded)}},
		"a deadline within":      {stage, &request{}, aNode{does: failing(fmt.Errorf("it fails: %w", context.DeadlineExceeded))}},
		"cancelled":              {stage, &request{}, aNode{does: failing(context.Canceled)}},
		"an error that is none":  {stage, &request{}, aNode{does: failing(fine{})}},
		"a code of none":         {stage, &request{}, aNode{does: failing(status.Error(99, "?"))}},
		"an error of any bytes":  {stage, &request{}, aNode{does: failing(status.Error(codes.Internal, "100 % \xff\xfe é\n"))}},
		"a request of any bytes": {stage, &request{VolumeId: "\xff"}, aNode{does: ok}},
		"an answer of any bytes": {info, &csi.NodeGetInfoRequest{}, aNode{info: &csi.NodeGetInfoResponse{NodeId: "\xff"}}},
		"too large a request":    {stage, &request{VolumeId: strings.Repeat("v", 5<<20)}, aNode{does: ok}},
		"as large as it may be":  {stage, &request{VolumeId: strings.Repeat("v", 4<<20-5)}, aNode{does: ok}},
		"one byte larger":        {stage, &request{VolumeId: strings.Repeat("v", 4<<20-4)}, aNode{does: ok}},
		"too large an answer":    {info, &csi.NodeGetInfoRequest{}, aNode{info: &csi.NodeGetInfoResponse{NodeId: strings.Repeat("v", 5<<20)}}},
		"no message":             {stage, "v", aNode{does: ok}},
		"another message":        {stage, &csi.NodeGetVolumeStatsRequest{VolumeId: "v", VolumePath: "/p"}, aNode{does: ok}},
		"an unknown method":      {"/csi.v1.Node/NodeNothing", &csi.NodeGetInfoRequest{}, aNode{}},
		"an unknown service":     {csi.Identity_Probe_FullMethodName, &csi.ProbeRequest{}, aNode{}},
		"not implemented":        {csi.Node_NodeExpandVolume_FullMethodName, &csi.NodeExpandVolumeRequest{}, aNode{}},
		"metadata": {stage, &request{}, aNode{does: func(ctx context.Context, req *request) (*response, error) {
			return &response{}, errors.Join(grpc.SetHeader(ctx, metadata.Pairs("a", "1")), grpc.SendHeader(ctx, metadata.Pairs("a", "2", "b", "3")),
				grpc.SetTrailer(ctx, metadata.Pairs("c", "4")), grpc.SetTrailer(ctx, nil), grpc.SetTrailer(ctx, metadata.Pairs("c", "5")))
		}}},
		"metadata of an error": {stage, &request{}, aNode{does: func(ctx context.Context, req *request) (*response, error) {
			return nil, errors.Join(grpc.SetHeader(ctx, metadata.Pairs("a", "1")), grpc.SetTrailer(ctx, metadata.Pairs("c", "4")), errors.New("no luck"))
		}}},
		"headers twice": {stage, &request{}, aNode{does: func(ctx context.Context, req *request) (*response, error) {
			return nil, errors.Join(grpc.SendHeader(ctx, nil), grpc.SetHeader(ctx, nil), grpc.SetHeader(ctx, metadata.Pairs("a", "1")),
				grpc.SendHeader(ctx, metadata.Pairs("a", "2")))
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			intercept := func(name string) grpc.UnaryServerInterceptor {
				return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
					seen = append(seen, fmt.Sprint(name, info.FullMethod, info.Server == any(&c.node)))
					return handler(ctx, req)
				}
			}
			chain := []grpc.UnaryServerInterceptor{intercept("first"), intercept("second")}
			ask := func(to callee) said {
				seen, c.node.seen = nil, nil
				var s said
				answer := proto.Message(&response{})
				if c.method == info {
					answer = &csi.NodeGetInfoResponse{}
				}
				err := to.Invoke(metadata.AppendToOutgoingContext(t.Context(), "x-who", "me"), c.method, c.req, answer, grpc.Header(&s.header), grpc.Trailer(&s.trailer))
				if err != nil {
					s.err, s.details = err.Error(), len(status.Convert(err).Details())
				}
				s.header, s.trailer = own(s.header), own(s.trailer)
				s.answer, s.seen = fmt.Sprintf("%.200v", answer), append(seen, c.node.seen...)
				return s
			}
			ours := newServer(&net.UnixAddr{Name: "/csi.sock", Net: "unix"}, chain...)
			csi.RegisterNodeServer(ours, &c.node)
			require.Equal(t, ask(connected(t, &c.node, chain...)), ask(ours))
		})
	}
}

// connected returns a connection to gRPC's own server.
func connected(t *testing.T, n csi.NodeServer, chain ...grpc.UnaryServerInterceptor) *grpc.ClientConn {
	l := bufconn.Listen(8 << 10)
	real := grpc.NewServer(grpc.ChainUnaryInterceptor(chain...))
	csi.RegisterNodeServer(real, n)
	go func() { _ = real.Serve(l) }() // ends with Stop
	t.Cleanup(real.Stop)
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// own returns what a handler has sent of metadata, without what gRPC adds.
func own(md metadata.MD) metadata.MD {
	md = metadata.Join(md)
	delete(md, "content-type")
	delete(md, "grpc-status-details-bin")
	return md
}
