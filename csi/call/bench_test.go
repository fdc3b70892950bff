package call_test

import (
	"context"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
)

// BenchmarkCall measures one call of a method that does nothing: over gRPC, like all calls of CSI, and of the same
// server directly.
func BenchmarkCall(b *testing.B) {
	req := &csi.NodeStageVolumeRequest{VolumeId: "vol-1", StagingTargetPath: "/staging"}
	b.Run("grpc", func(b *testing.B) {
		r := newRig(b, engine.Config{StepLimit: 1 << 30})
		r.listen()
		b.ResetTimer()
		r.as("kubelet/node-1", func(ctx context.Context, _ control.Env, node csi.NodeClient) {
			for range b.N {
				_, err := node.NodeStageVolume(ctx, req)
				require.NoError(b, err)
			}
		})
	})
	b.Run("direct", func(b *testing.B) {
		n := &node{}
		for b.Loop() {
			_, err := n.NodeStageVolume(b.Context(), req)
			require.NoError(b, err)
		}
	})
}
