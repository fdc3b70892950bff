package provisioner

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagesim/storagesim/provisioner"
)

// checkError returns the state of a volume after an error of CreateVolume, by the codes of
// gRPC and of the CSI specification.
//
// Upstream: controller.go checkError, v6.4.
func checkError(err error, mayReschedule bool) provisioner.ProvisioningState {
	st, ok := status.FromError(err)
	if !ok {
		// The call did not begin; an earlier one may still be running.
		return provisioner.ProvisioningInBackground
	}
	switch st.Code() {
	case codes.ResourceExhausted:
		// No space, and nothing is running. There may be space elsewhere.
		if mayReschedule {
			return provisioner.ProvisioningReschedule
		}
		return provisioner.ProvisioningFinished
	case codes.Canceled, // by the client
		codes.DeadlineExceeded, // the answer did not come in time
		codes.Unavailable,      // the connection broke
		codes.Aborted:          // CSI: another call for this volume is running
		return provisioner.ProvisioningInBackground
	}
	return provisioner.ProvisioningFinished
}
