package disk

import "errors"

// ErrSilent is the error of a fault by which an operation does not return, as one on a share whose server does not answer. A kubelet that mounts or
// unmounts, and a program of a container, wait until the fault is gone; they get no error. Anything else gets this error, since it cannot wait here.
var ErrSilent = errors.New("there is no answer")
