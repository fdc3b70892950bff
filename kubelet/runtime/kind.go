package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Kind is the container runtime that Containers imitates, as far as that shows outside of
// the containers.
type Kind string

const (
	// Containerd makes host paths that do not exist, and says of a container that has
	// ended whether it did so well.
	Containerd Kind = "containerd"
	// FakeRuntime is the runtime of upstream's own tests of kubelets: it runs nothing, makes
	// no host paths, and tells of a container that has ended the exit code only.
	FakeRuntime Kind = "fakeRuntime"
)

// Check returns an error for an unknown kind; field names where it was given.
func (kind Kind) Check(field string) error {
	if kind != "" && kind != Containerd && kind != FakeRuntime {
		return fmt.Errorf("%s is %q; it must be %q (the default) or %q", field, kind, Containerd, FakeRuntime)
	}
	return nil
}

// containerID returns the runtime's id for a container.
//
// Upstream: k8s.io/cri-api/pkg/apis/testing BuildContainerName, v1.37, for FakeRuntime.
func (kind Kind) containerID(pod *PodSandboxConfig, name string, attempt int32) string {
	if kind == FakeRuntime {
		return fmt.Sprintf("%s_%s_%s_0_%s_%d", pod.Name, pod.Namespace, pod.UID, name, attempt)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", pod.UID, name, attempt))
	return hex.EncodeToString(sum[:])
}

// exitReason returns the reason in the status of a container that has ended.
func (kind Kind) exitReason(exitCode int32) string {
	switch {
	case kind == FakeRuntime:
		return ""
	case exitCode == 0:
		return "Completed"
	}
	return "Error"
}
