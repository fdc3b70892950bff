package storagesim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	restclient "k8s.io/client-go/rest"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/provisioner"
)

// ExecResult holds the output and the exit code of a command.
type ExecResult struct {
	Stdout, Stderr string
	ExitCode       int32
}

// maxOutput is the number of bytes of each output that Exec returns.
const maxOutput = 16 << 20

// maxExec is the virtual time that a command run in a container may take.
const maxExec = 24 * time.Hour

// Exec runs a command in a container of a pod, to its end, as
// kubectl exec does. Virtual time passes for the whole cluster while the command sleeps, for at
// most a day. An empty container name means the pod's first one, or the one that the
// annotation kubectl.kubernetes.io/default-container names. The error says why the command
// did not start or did not end. A command that fails is no error: it has an exit code, 127
// if there is no such program. Of each output the first 16 MiB are kept, and then "... n bytes more".
func (m Machine) Exec(container string, command ...string) (ExecResult, error) {
	stdout, stderr := bounded.Buffer{Most: maxOutput}, bounded.Buffer{Most: maxOutput}
	code, err := m.ExecStreams(container, runtime.ExecConfig{Command: command, Stdout: &stdout, Stderr: &stderr})
	return ExecResult{stdout.String(), stderr.String(), code}, err
}

// ExecStreams runs a command as Exec does, with streams: its output is written as it comes, and
// Stdin is read to its end when the command first reads.
func (m Machine) ExecStreams(container string, config runtime.ExecConfig) (exitCode int32, err error) {
	c := m.c
	x, err := m.BeginExec(container, config)
	if err != nil {
		return 0, err
	}
	defer x.Stop()
	for end := c.Now().Add(maxExec); ; {
		wait, ended, err := x.Run()
		if ended || err != nil {
			return x.ExitCode(), err
		}
		if c.Now().Add(wait).After(end) {
			return 0, fmt.Errorf("the command has not ended after %s of virtual time, or waits for ever; it was stopped", maxExec)
		}
		if err := c.RunFor(wait); err != nil {
			return 0, err
		}
	}
}

// Execution is a command that runs in a container beside the container's own.
type Execution struct {
	process runtime.Process
	cluster *Cluster
	node    string
}

// BeginExec prepares a command for a caller that lets time pass itself, as a server in real time
// does. Execution.Run runs it.
func (m Machine) BeginExec(container string, config runtime.ExecConfig) (*Execution, error) {
	c := m.c
	p, node, err := m.podOnNode()
	if err != nil {
		return nil, err
	}
	if p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed {
		return nil, fmt.Errorf("cannot exec into a container in a completed pod; current phase is %s", p.Status.Phase)
	}
	if container, err = containerOf(p, container); err != nil {
		return nil, err
	}
	if len(config.Command) == 0 {
		return nil, apierrors.NewBadRequest("you must specify at least one command for the container")
	}
	if err := c.dial(node); err != nil {
		return nil, refusedBackend("error dialing backend: %w", err)
	}
	process, err := kubelet.Exec(c.containers[node], p, container, config)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("unable to upgrade connection: %w", err))
	}
	return &Execution{process, c, node}, nil
}

// Run runs the command until it waits or ends. If it sleeps, call Run again after wait of virtual
// time. If it waits for standard input, wait is longer than any run: call Run again when there is
// input. The error says that the kubelet no longer answers.
func (x *Execution) Run() (wait time.Duration, ended bool, err error) {
	if err := x.cluster.dial(x.node); err != nil {
		return 0, false, fmt.Errorf("the connection to the container was lost, and the command stopped: %w", err)
	}
	wait, ended = x.process.Run()
	return wait, ended, nil
}

// ExitCode returns the exit code of a command that has ended.
func (x *Execution) ExitCode() int32 { return x.process.ExitCode() }

// Stop ends the command where it is, if it has not ended.
func (x *Execution) Stop() { x.process.Stop() }

// Logs returns the last 64 KiB that a container of a pod has printed to standard output and error,
// or with previous those of its previous instance. The container is named as in Exec.
func (m Machine) Logs(container string, previous bool) (string, error) {
	c := m.c
	p, node, err := m.podOnNode()
	if err != nil {
		return "", err
	}
	if container, err = containerOf(p, container); err != nil {
		return "", err
	}
	if err := c.dial(node); err != nil {
		return "", refusedBackend("Get \"https://%s:%d/containerLogs/%s/%s/%s\": %w", c.addressOf(node), kubeletPort, p.Namespace, p.Name, container, err)
	}
	var out strings.Builder
	if err := kubelet.Logs(c.containers[node], p, container, previous, &out); err != nil {
		return "", apierrors.NewBadRequest(err.Error())
	}
	return out.String(), nil
}

// podOnNode returns the pod that the machine stands for, and its node; the pod must have one, and the node a kubelet.
//
// Upstream: pkg/registry/core/pod/strategy.go streamLocation, v1.37.
func (m Machine) podOnNode() (*v1.Pod, string, error) {
	c := m.c
	if c.closed {
		return nil, "", engine.ErrClosed
	}
	kind, _, _ := strings.Cut(m.name, "/")
	if resource, _ := manifest.FindResource(c.server().Registry(), kind); resource.Kind != "Pod" || kind == m.name {
		return nil, "", fmt.Errorf("%q names no pod, and containers are in pods; expected pod/name or pod/namespace/name", m.name)
	}
	pod, err := c.Pod(m.name)
	if err != nil {
		return nil, "", err
	}
	node := pod.Spec.NodeName
	if node == "" {
		return nil, "", apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	}
	if _, err := c.machine("node/" + node); err != nil {
		return nil, "", err
	}
	return pod, node, nil
}

// defaultContainer is the annotation that names a pod's default container.
//
// Upstream: k8s.io/kubectl/pkg/cmd/util/podcmd DefaultContainerAnnotationName, v1.37.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// containerOf returns the name of the container, which must exist, or of the default one if name
// is empty.
//
// Upstream: pkg/registry/core/pod/strategy.go validateContainer, v1.37.
func containerOf(pod *v1.Pod, name string) (string, error) {
	var names []string
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	if name == "" {
		if name = pod.Annotations[defaultContainer]; name == "" {
			return names[0], nil
		}
	}
	for _, c := range pod.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for i := range pod.Spec.EphemeralContainers {
		names = append(names, pod.Spec.EphemeralContainers[i].Name)
	}
	if slices.Contains(names, name) {
		return name, nil
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s%s", name, pod.Name, prose.OneOf(name, names)))
}

// kubeletPort is the port of all kubelets.
const kubeletPort = 10250

// dial returns the error of a connection to a node's kubelet, nil if it answers.
func (c *Cluster) dial(node string) error {
	if _, down := c.engine.Down()["kubelet/"+node]; down {
		return c.refused(node)
	}
	return nil
}

// refused returns the error of a connection to a node where nothing listens.
func (c *Cluster) refused(node string) error {
	return fmt.Errorf("dial tcp %s:%d: connect: connection refused", c.addressOf(node), kubeletPort)
}

// addressOf returns a node's internal IP address, or its name.
func (c *Cluster) addressOf(node string) string {
	object, err := c.client.CoreV1().Nodes().Get(context.Background(), node, metav1.GetOptions{})
	if err == nil {
		for _, a := range object.Status.Addresses {
			if a.Type == v1.NodeInternalIP {
				return a.Address
			}
		}
	}
	return node
}

// refusedBackend returns the API server's error if it cannot reach a kubelet.
func refusedBackend(format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: fmt.Errorf(format, args...).Error(),
	}}
}

// Program is a program that was not written for this library and has goroutines of its own: an
// operator, a provisioner, a child process.
type Program struct {
	// Name is the actor's name in the story, Inject, Crash and Stop. Required.
	Name string
	// Run runs the program. It must return when ctx is done: the process ends then. Clients made
	// with cfg write under the Name. Required.
	Run func(ctx context.Context, cfg *restclient.Config) error
	// Provisions lists the names by which storage classes call it, if it is a provisioner:
	// RequireNoLeaks then looks for its leaks. Default: Name.
	Provisions []string
	// Inventory lists the volumes of a provisioner's backend; nil if the backend cannot say.
	Inventory provisioner.Inventory
}

// AddProgram runs a program as an actor of the cluster, beside a live.Driver: its
// goroutines run in real time, or in the time of a bubble (live.Bubble). While a
// driver runs, call AddProgram through Driver.Do.
//
// Crash, a fault and Stop end its process at once, as SIGKILL does: its context ends, its
// watches break, its connections are refused. After the downtime, and when Run has
// returned, Run is called again. If Run has not returned after Config.Blocked, the
// trace says so, and the next process starts beside it. A program that panics or returns
// by itself starts again with the backoff of a container: at once, after 10 s, 20 s,
// and so on. A panic in a goroutine that Run has started ends the whole test or command: Go
// offers no other way.
//
// Faults strike its calls as they strike those of any actor; a Delay takes real time.
// RequireNoLeaks looks for leaks among the objects it creates and the directories of its volumes.
//
// Close ends it and waits for Run to return.
func (c *Cluster) AddProgram(p Program) error {
	if p.Run == nil {
		return fmt.Errorf("program %q: Run is required", p.Name)
	}
	names := p.Provisions
	if len(names) == 0 {
		names = []string{p.Name}
	}
	err := c.engine.AddProgram(p.Name, func(ctx context.Context, server api.Handler) error {
		return p.Run(ctx, rest.New(server, c.server().Registry(), c.Now).WithNodes(nodesOfProgram{c}).ConfigUntil(ctx, p.Name))
	})
	if err != nil {
		return err
	}
	c.provisioners = append(c.provisioners, &installed{
		name: p.Name, also: names, inventory: p.Inventory, cfg: provisioner.Config{Name: p.Name, AdditionalNames: names},
	})
	return nil
}

// nodesOfProgram is the way of a program to what runs on the nodes, between the steps of the cluster.
type nodesOfProgram struct{ c *Cluster }

var _ rest.Nodes = nodesOfProgram{}

// Log implements rest.Nodes.
func (n nodesOfProgram) Log(ctx context.Context, name types.NamespacedName, container string, previous bool) (text, running string, err error) {
	look := func() { text, running, err = n.c.logOf(name, container, previous) }
	if !n.c.engine.Between(ctx, look) {
		return "", "", ctx.Err()
	}
	return text, running, err
}

// logOf returns what a container has printed, and the ID of the one that runs.
func (c *Cluster) logOf(name types.NamespacedName, container string, previous bool) (text, running string, err error) {
	if pod, err := c.Pod(name.String()); err == nil {
		running = rest.Running(pod, container)
	}
	text, err = c.Machine("pod/"+name.String()).Logs(container, previous)
	return text, running, err
}

// Exec implements rest.Nodes. The transport of a program has no connections that both sides write to.
func (nodesOfProgram) Exec(context.Context, types.NamespacedName, *v1.PodExecOptions, func() (*rest.Streams, error)) (int32, error) {
	return 0, rest.NoConnection("exec")
}

// HostDir returns the path, on the machine that runs the simulation, of a directory of the simulated one. It is for a program
// that makes system calls of its own, such as an NFS provisioner that is told where the export is mounted. Links on the way are
// followed. The directory must exist (MakeDir), and the cluster must have DirectoryDisks.
//
// Nothing confines a program to the directory, and machine faults do not
// strike its system calls: give it only to code that you would run on your machine.
func (m Machine) HostDir(dir string) (string, error) {
	c := m.c
	at, err := c.machine(m.name)
	if err != nil {
		return "", err
	}
	if c.cfg.Disks == MemoryDisks {
		return "", errors.New("HostDir: with MemoryDisks the files of machines are on no disk; set Config.Disks to DirectoryDisks")
	}
	real, info, err := at.Disk().Resolve(dir)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("HostDir: %s on %s is not a directory", dir, m.name)
	}
	return filepath.Join(c.dir, dirOf(at.Kind(), at.Name()), filepath.FromSlash(real)), nil
}
