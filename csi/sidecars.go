package csi

import (
	"github.com/storagesim/storagesim/control"
	"google.golang.org/grpc"
)

// Sidecars changes what sidecars are configured with. The driver's name and its socket are
// set for them.
type Sidecars struct{}

// sidecars are the actors that call the controller.
func (d Driver) sidecars(_ func(env control.Env) grpc.ClientConnInterface) []Actor { return nil }
