package call_test

import (
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/storagesim/storagesim/csi/socket"
)

func TestFaultsKnowAllMethodsOfTheSpecification(t *testing.T) {
	var all []string
	for _, s := range []grpc.ServiceDesc{
		csi.Identity_ServiceDesc, csi.Controller_ServiceDesc, csi.GroupController_ServiceDesc, csi.SnapshotMetadata_ServiceDesc,
		csi.Node_ServiceDesc, registerapi.Registration_ServiceDesc,
	} {
		for _, m := range s.Methods {
			all = append(all, s.ServiceName+"/"+m.MethodName)
		}
		for _, m := range s.Streams {
			all = append(all, s.ServiceName+"/"+m.StreamName)
		}
	}
	require.ElementsMatch(t, all, socket.Methods())
}
