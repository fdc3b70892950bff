package provisioner

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
)

// defaultRetryIntervalMax is the time that an infeasible claim rests.
const defaultRetryIntervalMax = 5 * time.Minute

// slowRetry is one claim in the slow set: a claim that cannot be satisfied as it
// stands, and will be tried again only after a while or under another class.
type slowRetry struct {
	since    time.Time
	classUID types.UID
}

// delayProvisioningIfRecentlyInfeasible returns an error while the claim must rest.
// Each such error counts as one more failure in the queue.
//
// Upstream: controller.go delayProvisioningIfRecentlyInfeasible, v13.
func (ctrl *provisionController) delayProvisioningIfRecentlyInfeasible(claim *v1.PersistentVolumeClaim) error {
	uid := string(claim.UID)
	slow, ok := ctrl.slowSet[uid]
	if !ok {
		return nil
	}
	class, err := ctrl.getStorageClass(binding.GetPersistentVolumeClaimClass(claim))
	if err != nil {
		return nil //nolint:nilerr // Whoever needs the class will say that it is missing.
	}
	left := ctrl.cfg.RetryIntervalMax - ctrl.env.Now().Sub(slow.since)
	if left <= 0 || slow.classUID != class.UID {
		delete(ctrl.slowSet, uid)
		return nil
	}
	return fmt.Errorf("claim %s rests for another %s: the last answer was that it cannot be satisfied", claimToClaimKey(claim), left)
}

// markForSlowRetry puts the claim into the slow set.
//
// Upstream: controller.go markForSlowRetry, v13.
func (ctrl *provisionController) markForSlowRetry(claim *v1.PersistentVolumeClaim, classUID types.UID) {
	ctrl.slowSet[string(claim.UID)] = slowRetry{since: ctrl.env.Now(), classUID: classUID}
}

// isInfeasibleError reports whether the error is, or wraps, a gRPC status with the
// code InvalidArgument.
//
// Such an error has a method GRPCStatus, and what that returns has a method Code.
// Both are called by name: to spell out their types takes the module
// google.golang.org/grpc, which nothing else here needs. Every error of its
// packages status and codes is recognised, and any other with these two methods.
//
// Upstream: controller.go isInfeasibleError, v13.
func isInfeasibleError(err error) bool {
	const invalidArgument = 3 // google.golang.org/grpc/codes
	for err != nil {
		if code, ok := grpcCode(err); ok {
			return code == invalidArgument
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, one := range joined.Unwrap() {
				if isInfeasibleError(one) {
					return true
				}
			}
			return false
		}
		err = errors.Unwrap(err)
	}
	return false
}

// grpcCode returns the code of an error that has a gRPC status. The methods' names are constants where they are
// looked up: with a name that is known only when the program runs, the linker keeps all exported methods of all types.
func grpcCode(err error) (code uint64, ok bool) {
	status, ok := callPlain(reflect.ValueOf(err).MethodByName("GRPCStatus"))
	if !ok || status.Kind() == reflect.Pointer && status.IsNil() {
		return 0, false
	}
	value, ok := callPlain(status.MethodByName("Code"))
	if !ok || !value.CanUint() {
		return 0, false
	}
	return value.Uint(), true
}

// callPlain calls a method that takes nothing and returns one value.
func callPlain(method reflect.Value) (result reflect.Value, ok bool) {
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return method, false
	}
	return method.Call(nil)[0], true
}
