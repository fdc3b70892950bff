package runtime

import (
	"context"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
	"github.com/storagesim/storagesim/trace"
)

// Service is a node's container runtime as the kubelet uses it: what the CRI's
// RuntimeService and ImageService have, as far as there is a caller. A pod's sandbox is
// known by the pod's UID, a container by the id that CreateContainer gives it. What is
// not there can be stopped and removed without an error.
type Service interface {
	// Version names the runtime, as in the Node object and in the ids of containers.
	Version() Version
	// Attach is called once by each life of the kubelet, before any other call of it but
	// Version. What runs goes on running.
	Attach(client Client)

	// RunPodSandbox gives a pod its network: one that has none, or whose network was stopped. What is known of its containers stays known.
	RunPodSandbox(config PodSandboxConfig) error
	// StopPodSandbox kills the pod's containers and frees its address. What is known of
	// the pod stays known.
	StopPodSandbox(pod types.UID) error
	// RemovePodSandbox kills the pod's containers and forgets it.
	RemovePodSandbox(pod types.UID) error
	// PodSandboxStatus returns the state of a pod and its containers; nil for a pod that
	// has no sandbox.
	PodSandboxStatus(pod types.UID) (*PodSandboxStatus, error)
	// ListPodSandboxes returns the pods that have a sandbox, sorted.
	ListPodSandboxes() ([]types.UID, error)

	// CreateContainer makes a container, which does not run yet.
	CreateContainer(pod types.UID, config ContainerConfig) (id string, err error)
	// StartContainer starts a container. It may have ended when this returns.
	StartContainer(id string) error
	// StopContainer ends a container that runs: it sends SIGTERM, waits for the end, and after the grace period sends SIGKILL; without
	// one SIGKILL alone. It waits in the task that calls it. If the kubelet's life ends meanwhile the container has had SIGTERM, and
	// is killed when the next one asks again, after the grace period that this one gives. Client.Ended is called for a container
	// that ends by itself while its end is awaited, and for no other.
	StopContainer(ctx context.Context, id string, grace time.Duration) error
	// RemoveContainer kills a container and forgets it.
	RemoveContainer(id string) error
	// ContainerStatus returns the state of a container; an error if there is no such container.
	ContainerStatus(id string) (*ContainerStatus, error)

	// ContainerStats returns how much of its node's disk a container takes.
	ContainerStats(id string) (ContainerStats, error)

	// Exec begins a command in a container that runs. A command that cannot be run ends
	// with 127 and says why on Stderr.
	Exec(id string, config ExecConfig) (Process, error)
	// Logs writes the end of what a container has printed.
	Logs(id string, to io.Writer) error

	// PullImage gets an image, whose name has a tag or a digest.
	PullImage(image string) error
	// ImageStatus reports whether the node has an image.
	ImageStatus(image string) (present bool, err error)
}

// Version is a runtime's name and version.
type Version struct {
	// RuntimeName is for example "containerd", RuntimeVersion for example "2.1.0".
	RuntimeName, RuntimeVersion string
	// HidesResources says that it does not tell what resources containers have, and that pods have no cgroups that do.
	HidesResources bool
}

// Client is one life of a kubelet, to which a runtime is attached.
type Client struct {
	// Env tells the time and runs tasks until that life ends. What a runtime traces is
	// the kubelet's.
	Env control.Env
	// Node is the node's name, PodCIDR the network of its pods.
	Node, PodCIDR string
	// Started is called by StartContainer when a container has begun, before it does
	// anything. Ended is called when one has ended by itself after StartContainer. These
	// are the CRI's container events.
	Started, Ended func(pod types.UID, container string)
}

// PodSandboxConfig describes the sandbox that a pod needs.
type PodSandboxConfig struct {
	UID             types.UID
	Namespace, Name string
	// Hostname is the pod's name on its network.
	Hostname string
	// HostNetwork says that the pod uses its node's network: it has no address of its
	// own.
	HostNetwork bool
}

// PodSandboxStatus is the state of a pod.
type PodSandboxStatus struct {
	PodSandboxConfig
	// IP is the pod's address, which others may have once it is not Ready any more; ""
	// with HostNetwork.
	IP string
	// Ready says that it was not stopped, Attempt how many sandboxes the pod had before.
	Ready   bool
	Attempt int32
	// Containers are in order of creation.
	Containers []ContainerStatus
}

// ContainerConfig describes a container to be made.
type ContainerConfig struct {
	// Name is that of the container in its pod, Attempt how many of this name were
	// started before it.
	Name    string
	Attempt int32
	// Image is the image's name, with a tag or a digest.
	Image string
	// Command and Args come from the container's specification, with its variables
	// replaced.
	Command, Args []string
	// WorkingDir is the command's directory, which is made; "" means "/".
	WorkingDir string
	Env        map[string]string
	// Mounts are the container's volumes.
	Mounts []shell.Mount
	// User is as whom its programs run; the zero value is root.
	User disk.User
	// Privileged says that its programs may enter the node's mount namespace.
	Privileged bool
	// ReadOnlyRoot refuses writes outside of the volumes.
	ReadOnlyRoot bool
	// TerminationLog is the path of the file whose contents become the container's message; default shell.DefaultTerminationLog.
	TerminationLog string
	// LogsOnError says that the end of what it printed becomes its message if it fails and has not written to TerminationLog.
	LogsOnError bool
	// Files returns the contents of files of the root file system that the kubelet writes, by path; it is called if the container
	// uses that file system. Default none.
	Files func() map[string]string
	// Init says that others wait until it has ended: a program of the image ends at once.
	Init bool
	// Absent says what becomes of a program that the image may have and the simulation does not, where its 127 would end the command.
	Absent shell.Absent
	// Awaited says that the container is to come to an end. Settling waits for what it
	// sleeps in its first minute.
	Awaited bool
	// NotFirst says that the container's program is not the first process, as it shares processes with others.
	NotFirst bool
	// IgnoresStop says that a program of its image, of which nothing is known, is taken not to handle SIGTERM. Otherwise it ends then, with 0.
	IgnoresStop bool
}

// ContainerState is the state of a container in its life.
type ContainerState string

// The states of a container.
const (
	ContainerCreated ContainerState = "CONTAINER_CREATED"
	ContainerRunning ContainerState = "CONTAINER_RUNNING"
	ContainerExited  ContainerState = "CONTAINER_EXITED"
)

// ContainerStatus is the state of a container.
type ContainerStatus struct {
	ID      string
	Pod     types.UID
	Name    string
	Attempt int32
	// Sandbox is the Attempt of the sandbox in which it was created.
	Sandbox int32
	Image   string
	State   ContainerState
	// StartedAt and FinishedAt are zero before it was.
	StartedAt, FinishedAt time.Time
	// ExitCode, Reason and Message describe the end of a container. Message has the contents of its TerminationLog, or why its
	// command could not be run; with LogsOnError the end of what it printed, if there is nothing else and it failed.
	ExitCode        int32
	Reason, Message string
	Mounts          []shell.Mount
	User            disk.User
}

// ContainerStats says how much of its node's disk a container takes, in bytes.
type ContainerStats struct {
	// Rootfs counts the files that it has written outside of its volumes, Logs the text that it has printed.
	Rootfs, Logs int64
}

// Latest returns the container of a name that was started last, and the one before it;
// nil where there is none.
func (s *PodSandboxStatus) Latest(name string) (last, before *ContainerStatus) {
	for i := range s.Containers {
		if c := &s.Containers[i]; c.Name == name && c.State != ContainerCreated {
			last, before = c, last
		}
	}
	return last, before
}

// ExecConfig describes a command to run in a container.
type ExecConfig struct {
	// Command is the program and its arguments; it must not be empty.
	Command []string
	// Stdin is its standard input, which is read to its end when the command first reads; default
	// nothing. If it is a shell.Pending, the command waits for it.
	Stdin io.Reader
	// Stdout and Stderr receive its output; default none.
	Stdout, Stderr io.Writer
	// Probe says that the command is a probe's: Exec returns an error if it cannot be run, as the CRI's ExecSync does, and the trace
	// does not repeat it each time.
	Probe bool
	// Absent says what becomes of a program of a Probe that the image may have and the simulation does not: shell.NotFound, or
	// shell.Excuses, with which the probe succeeds.
	Absent shell.Absent
}

// Process is a command that runs in a container, beside the container's own. It ends
// with its container.
type Process interface {
	// Run carries the command out until it waits or ends. If it waits, call Run again after that
	// time. A command that waits for ever returns a time longer than any run.
	Run() (wait time.Duration, ended bool)
	// ExitCode returns the exit code of a process that has ended.
	ExitCode() int32
	// Stop ends the command where it is.
	Stop()
}

// ref returns the pod's reference for the trace.
func (c *PodSandboxConfig) ref() trace.Ref {
	return trace.Ref{Kind: "Pod", Namespace: c.Namespace, Name: c.Name}
}
