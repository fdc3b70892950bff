package call

import (
	"context"
	"net"
	"path"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// maxMessageSize is the number of bytes that a server of gRPC takes, and a client, unless told otherwise.
const maxMessageSize = 4 << 20

// server calls the handlers of services as a grpc.Server does, without a connection: messages are written and read by gRPC's codec, so
// that caller and handler share none, interceptors and metadata pass, and an error becomes a status. Only the bytes go nowhere.
type server struct {
	methods   map[string]method // by full name, such as "/csi.v1.Node/NodeStageVolume"
	services  map[string]bool
	intercept []grpc.UnaryServerInterceptor // the outermost first
	address   net.Addr
	// ctx ends with the server. Those of its handlers descend from it.
	ctx  context.Context
	stop context.CancelFunc
}

// method is a handler with the implementation that it calls.
type method struct {
	handler grpc.MethodHandler
	service any
}

var _ grpc.ServiceRegistrar = (*server)(nil)

func newServer(address net.Addr, intercept ...grpc.UnaryServerInterceptor) *server {
	s := &server{methods: map[string]method{}, services: map[string]bool{}, intercept: intercept, address: address}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// RegisterService implements grpc.ServiceRegistrar. Streams are not supported, see Conn.NewStream.
func (s *server) RegisterService(desc *grpc.ServiceDesc, service any) {
	s.services[desc.ServiceName] = true
	for _, m := range desc.Methods {
		s.methods["/"+desc.ServiceName+"/"+m.MethodName] = method{m.Handler, service}
	}
}

// Invoke carries out a call in this goroutine, which a handler may end.
func (s *server) Invoke(ctx context.Context, name string, req, answer any, opts ...grpc.CallOption) error {
	m, ok := s.methods[name]
	if !ok {
		return s.unimplemented(name)
	}
	codec := encoding.GetCodecV2(protocodec.Name)
	sent, err := written(codec, req)
	if err != nil {
		return err
	}
	defer sent.Free()
	st := &transportStream{method: name}
	got, err := m.handler(m.service, s.incoming(ctx, st), func(into any) error { return read(codec, sent, into) }, s.chain())
	defer st.tell(opts)
	if err != nil {
		return statusOf(err)
	}
	back, err := written(codec, got)
	if err != nil {
		return err
	}
	defer back.Free()
	return read(codec, back, answer)
}

func (s *server) unimplemented(name string) error {
	service, m := path.Split(name)
	if service = strings.Trim(service, "/"); !s.services[service] {
		return status.Errorf(codes.Unimplemented, "unknown service %s", service)
	}
	return status.Errorf(codes.Unimplemented, "unknown method %s for service %s", m, service)
}

// incoming returns the context of a handler.
func (s *server) incoming(ctx context.Context, st *transportStream) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	md = metadata.Join(md, metadata.Pairs(":authority", "localhost", "content-type", "application/grpc", "user-agent", "grpc-go/"+grpc.Version))
	ctx = metadata.NewIncomingContext(metadata.NewOutgoingContext(ctx, nil), md)
	ctx = peer.NewContext(ctx, &peer.Peer{Addr: s.address, LocalAddr: s.address})
	return grpc.NewContextWithServerTransportStream(ctx, st)
}

// chain returns the interceptors as one.
func (s *server) chain() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		for i := len(s.intercept) - 1; i >= 0; i-- {
			next, inner := s.intercept[i], handler
			handler = func(ctx context.Context, req any) (any, error) { return next(ctx, req, info, inner) }
		}
		return handler(ctx, req)
	}
}

// written returns a message as bytes, with the errors of gRPC.
func written(codec encoding.CodecV2, message any) (mem.BufferSlice, error) {
	data, err := codec.Marshal(message)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "grpc: error while marshaling: %v", err)
	}
	if n := data.Len(); n > maxMessageSize {
		data.Free()
		return nil, status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", n, maxMessageSize)
	}
	return data, nil
}

func read(codec encoding.CodecV2, data mem.BufferSlice, into any) error {
	if err := codec.Unmarshal(data, into); err != nil {
		return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
	}
	return nil
}

// statusOf returns the error that a caller gets for that of a handler.
func statusOf(err error) error {
	st, ok := status.FromError(err)
	if !ok {
		st = status.FromContextError(err)
	}
	said := st.Proto()
	if said.GetCode() == int32(codes.OK) {
		return status.Error(codes.Internal, "cardinality violation: received no response message from non-server-streaming RPC")
	}
	said.Message = string([]rune(said.GetMessage())) // as a header has it: no invalid UTF-8
	return status.ErrorProto(said)
}

// transportStream keeps the metadata that a handler sends back.
type transportStream struct {
	method string

	mu              sync.Mutex
	header, trailer metadata.MD
	sent            bool
}

var _ grpc.ServerTransportStream = (*transportStream)(nil)

// Method implements grpc.ServerTransportStream.
func (t *transportStream) Method() string { return t.method }

// SetHeader implements grpc.ServerTransportStream.
func (t *transportStream) SetHeader(md metadata.MD) error { return t.add(&t.header, md, false) }

// SendHeader implements grpc.ServerTransportStream.
func (t *transportStream) SendHeader(md metadata.MD) error { return t.add(&t.header, md, true) }

// SetTrailer implements grpc.ServerTransportStream.
func (t *transportStream) SetTrailer(md metadata.MD) error { return t.add(&t.trailer, md, false) }

func (t *transportStream) add(to *metadata.MD, md metadata.MD, send bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sent && to == &t.header {
		return status.Error(codes.Internal, "transport: SendHeader called multiple times")
	}
	t.sent = t.sent || send
	*to = metadata.Join(*to, md)
	return nil
}

// tell writes the metadata where the options of a call want it.
func (t *transportStream) tell(opts []grpc.CallOption) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range opts {
		switch o := o.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = t.header
		case grpc.TrailerCallOption:
			*o.TrailerAddr = t.trailer
		}
	}
}
