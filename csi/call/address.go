package call

import (
	"fmt"
	"net"
	"path"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Connect returns a connection to a server in another process, "unix:///run/csi.sock" or "tcp://127.0.0.1:10000".
// The server may start later.
func Connect(address string) (*grpc.ClientConn, error) {
	target, err := targetOf(address)
	if err != nil {
		return nil, err
	}
	return grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
}

// CheckAddress returns an error if an address of a server in another process is invalid.
func CheckAddress(address string) error {
	_, err := targetOf(address)
	return err
}

// targetOf returns an address in the form of gRPC.
func targetOf(address string) (string, error) {
	if file, ok := strings.CutPrefix(address, "unix://"); ok && path.IsAbs(file) {
		if len(file) > MaxPath {
			return "", fmt.Errorf("%s: the path of the socket has %d bytes; a unix socket's may have at most %d", address, len(file), MaxPath)
		}
		return address, nil
	}
	if at, ok := strings.CutPrefix(address, "tcp://"); ok {
		if _, port, err := net.SplitHostPort(at); err == nil && port != "" {
			return "passthrough:///" + at, nil
		}
	}
	return "", fmt.Errorf("%q is not the address of a gRPC server: expected unix:// and the absolute path of a socket, or tcp://HOST:PORT", address)
}

// connection returns the connection to a server in another process. If that was not there at the last call, it
// opens a new one: gRPC's own would wait longer each time, in real time.
func (l *Listener) connection() (*grpc.ClientConn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn.GetState() != connectivity.TransientFailure {
		return l.conn, nil
	}
	fresh, err := Connect(l.socket.Address)
	if err != nil {
		return nil, err
	}
	_ = l.conn.Close()
	l.conn = fresh
	return fresh, nil
}

// pathFields holds the fields of CSI requests that are paths on the node.
var pathFields = []protoreflect.Name{"staging_target_path", "target_path", "volume_path"}

// onThisMachine returns a request for a server that works on the files of this machine: paths on the node are below
// root, where the node's files are here.
func onThisMachine(root string, req any) any {
	message, ok := req.(proto.Message)
	if root == "" || !ok {
		return req
	}
	moved := proto.Clone(message)
	m := moved.ProtoReflect()
	for _, name := range pathFields {
		f := m.Descriptor().Fields().ByName(name)
		if f == nil || f.Kind() != protoreflect.StringKind || m.Get(f).String() == "" {
			continue
		}
		m.Set(f, protoreflect.ValueOfString(path.Join(root, m.Get(f).String())))
	}
	return moved
}
