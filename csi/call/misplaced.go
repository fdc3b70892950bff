package call

import (
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// misplaced returns an error for a driver in this process that has published a volume on this computer instead of the
// node: at a path of the request there is something here, and nothing on the node's disk. A driver that uses its Host
// never makes it look at this computer.
func (c *invocation) misplaced(l *Listener) error {
	if l.socket.Address != "" || l.socket.Root != "" || c.sockets.Disk == nil {
		return nil
	}
	switch c.req.(type) {
	case *csi.NodeStageVolumeRequest, *csi.NodePublishVolumeRequest:
	default:
		return nil
	}
	node := c.sockets.Disk(l.socket.Machine)
	for _, name := range paths(c.req.(proto.Message)) {
		if _, err := node.Lstat(name); err == nil {
			continue
		}
		if _, err := os.Lstat(name); err == nil {
			return status.Errorf(codes.Internal,
				"the driver answers OK, and %s is on this computer and not on the disk of %s: it works with real paths. Set csi.Driver.RealPaths, "+
					"which hands it paths in the node's directory, or use Host.Machine's Disk and Mounter; and remove what is at that path here", name, l.socket.Machine)
		}
	}
	return nil
}

// paths returns the paths on the node in a request.
func paths(message proto.Message) (list []string) {
	m := message.ProtoReflect()
	for _, name := range pathFields {
		if f := m.Descriptor().Fields().ByName(name); f != nil && m.Get(f).String() != "" {
			list = append(list, m.Get(f).String())
		}
	}
	return list
}
