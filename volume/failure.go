package volume

import "fmt"

// UncertainProgressError is the failure of a call whose outcome is unknown: the operation may be
// done, or may still go on. The volume must be taken down as if it were mounted.
//
// Upstream: pkg/volume/util/types/types.go UncertainProgressError, v1.37.
type UncertainProgressError struct{ message string }

func (e *UncertainProgressError) Error() string { return e.message }

// Uncertainf returns an UncertainProgressError.
func Uncertainf(format string, args ...any) *UncertainProgressError {
	return &UncertainProgressError{fmt.Sprintf(format, args...)}
}

// TransientOperationFailure is a failure before the operation began: it says nothing
// about the volume.
//
// Upstream: pkg/volume/util/types/types.go TransientOperationFailure, v1.37.
type TransientOperationFailure struct{ message string } // upstream's name

func (e *TransientOperationFailure) Error() string { return e.message }

// Transientf returns a TransientOperationFailure.
func Transientf(format string, args ...any) *TransientOperationFailure {
	return &TransientOperationFailure{fmt.Sprintf(format, args...)}
}

// UnansweredError is the failure to learn what a driver can do. It is final, as upstream has it, also if
// an earlier attempt may have mounted something.
type UnansweredError struct{ message string }

func (e *UnansweredError) Error() string { return e.message }

// Unansweredf returns an UnansweredError.
func Unansweredf(format string, args ...any) *UnansweredError {
	return &UnansweredError{fmt.Sprintf(format, args...)}
}

// IsUncertain reports whether err is an UncertainProgressError; a wrapped one does not count.
//
// Upstream: pkg/volume/util/types/types.go IsUncertainProgressError, v1.37.
func IsUncertain(err error) bool {
	_, ok := err.(*UncertainProgressError) //nolint:errorlint // as upstream: a wrapped one does not count
	return ok
}

// IsFinal reports whether err ends the operation: it left no trace and does not go on.
//
// Upstream: pkg/volume/util/types/types.go IsOperationFinishedError, v1.37.
func IsFinal(err error) bool {
	_, transient := err.(*TransientOperationFailure) //nolint:errorlint // as upstream: a wrapped one does not count
	return !transient && !IsUncertain(err)
}

// InfeasibleError says that the operation can never succeed with these values.
//
// Upstream: pkg/volume/util/types/types.go Infeasible, v1.37.
type InfeasibleError struct{ Err error }

func (e *InfeasibleError) Error() string { return e.Err.Error() }
func (e *InfeasibleError) Unwrap() error { return e.Err }

// InUseError says that a volume cannot grow while it is in use.
//
// Upstream: pkg/volume/util/types/types.go FailedPrecondition, v1.37.
type InUseError struct{ Err error }

func (e *InUseError) Error() string { return e.Err.Error() }
func (e *InUseError) Unwrap() error { return e.Err }

// NotSupportedError says that a plugin does not support the operation.
//
// Upstream: pkg/volume/util/types/types.go OperationNotSupported, v1.37.
type NotSupportedError struct{ Err error }

func (e *NotSupportedError) Error() string { return e.Err.Error() }
func (e *NotSupportedError) Unwrap() error { return e.Err }
