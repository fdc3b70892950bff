package kubelet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Runtime is which container runtime a node has, as far as that shows outside of the
// containers.
type Runtime string

const (
	// Containerd makes host paths that do not exist, and says of a container that has
	// ended whether it did so well.
	Containerd Runtime = "containerd"
	// FakeRuntime is what upstream's own tests run kubelets with: it makes no host
	// paths, and tells of a container that has ended the exit code only.
	FakeRuntime Runtime = "fakeRuntime"
)

// check refuses a runtime that there is none of.
func (rt Runtime) check(node string) error {
	if rt != Containerd && rt != FakeRuntime {
		return fmt.Errorf("kubelet.Config.Runtime of node %s is %q; it must be %q (the default) or %q", node, rt, Containerd, FakeRuntime)
	}
	return nil
}

// containerID is a container's name for the runtime.
//
// Upstream: k8s.io/cri-api/pkg/apis/testing BuildContainerName, v0.36, for FakeRuntime.
func (rt Runtime) containerID(pod *v1.Pod, r *containerRecord) string {
	if rt == FakeRuntime {
		return fmt.Sprintf("%s://%s_%s_%s_0_%s_%d", rt, pod.Name, pod.Namespace, pod.UID, r.Name, r.Restarts)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", pod.UID, r.Name, r.Restarts))
	return string(rt) + "://" + hex.EncodeToString(sum[:])
}

// exitReason is what the runtime says of a container that has ended.
func (rt Runtime) exitReason(exitCode int32) string {
	switch {
	case rt == FakeRuntime:
		return ""
	case exitCode == 0:
		return "Completed"
	}
	return "Error"
}

// makesHostPaths says whether a host path that does not exist is made for a container.
func (rt Runtime) makesHostPaths() bool { return rt == Containerd }
