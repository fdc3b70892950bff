package volume

import "fmt"

// UncertainProgressError is the failure of a call whose outcome is not known: what was
// asked for may be done, or may yet be done. The volume has to be taken down as if it
// were there.
//
// Upstream: pkg/volume/util/types/types.go UncertainProgressError, v1.36.
type UncertainProgressError struct{ message string }

func (e *UncertainProgressError) Error() string { return e.message }

// Uncertainf makes an UncertainProgressError.
func Uncertainf(format string, args ...any) *UncertainProgressError {
	return &UncertainProgressError{fmt.Sprintf(format, args...)}
}

// TransientOperationFailure is a failure before anything was asked for: it says nothing
// about the volume.
//
// Upstream: pkg/volume/util/types/types.go TransientOperationFailure, v1.36.
type TransientOperationFailure struct{ message string } //nolint:errname // upstream's name

func (e *TransientOperationFailure) Error() string { return e.message }

// Transientf makes a TransientOperationFailure.
func Transientf(format string, args ...any) *TransientOperationFailure {
	return &TransientOperationFailure{fmt.Sprintf(format, args...)}
}

// IsUncertain reports whether err is an UncertainProgressError. One that another error wraps
// does not count.
//
// Upstream: pkg/volume/util/types/types.go IsUncertainProgressError, v1.36.
func IsUncertain(err error) bool {
	_, ok := err.(*UncertainProgressError) //nolint:errorlint // as upstream: a wrapped one does not count
	return ok
}

// IsFinal reports whether err is the end of what was asked for: nothing of it is there, or
// goes on.
//
// Upstream: pkg/volume/util/types/types.go IsOperationFinishedError, v1.36.
func IsFinal(err error) bool {
	_, transient := err.(*TransientOperationFailure) //nolint:errorlint // as upstream: a wrapped one does not count
	return !transient && !IsUncertain(err)
}

// InfeasibleError says that what was asked for can never be done as it is.
//
// Upstream: pkg/volume/util/types/types.go Infeasible, v1.36.
type InfeasibleError struct{ Err error }

func (e *InfeasibleError) Error() string { return e.Err.Error() }
func (e *InfeasibleError) Unwrap() error { return e.Err }

// InUseError says that a volume cannot grow while it is in use.
//
// Upstream: pkg/volume/util/types/types.go FailedPrecondition, v1.36.
type InUseError struct{ Err error }

func (e *InUseError) Error() string { return e.Err.Error() }
func (e *InUseError) Unwrap() error { return e.Err }

// NotSupportedError says that a plugin cannot do what was asked for.
//
// Upstream: pkg/volume/util/types/types.go OperationNotSupported, v1.36.
type NotSupportedError struct{ Err error }

func (e *NotSupportedError) Error() string { return e.Err.Error() }
func (e *NotSupportedError) Unwrap() error { return e.Err }
