package runtime

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

// Config configures Containers. Root is required.
type Config struct {
	// Root is the node's file system, on which containers work.
	Root *disk.Disk
	// Kind is the runtime that it imitates; default Containerd.
	Kind Kind
	// Images are on the node from the start, with or without a tag; default
	// none.
	Images []string
	// Entrypoints are the commands that images start with, by the image's name, with or without its tag or digest. Default: that of agnhost is
	// known, and no other.
	Entrypoints map[string][]string
	// Commands are the programs that containers can run, by name; default
	// shell.Default.
	Commands map[string]shell.Command
}

// Containers is a node's container runtime. What it knows is in memory, and outlives
// the kubelet's crashes. It is not safe for concurrent use.
type Containers struct {
	cfg        Config
	client     Client
	sandboxes  map[types.UID]*sandbox
	containers map[string]*container
	// taken are the pods that have an address.
	taken map[string]types.UID
	// forgotten has the last words of containers that are gone.
	forgotten []lastWords
	// images are the images found on the node so far.
	images map[string]bool
}

// sandbox is a pod that was started.
type sandbox struct {
	config     PodSandboxConfig
	ip         string
	ready      bool
	attempt    int32
	containers []*container
}

// container is one that was created.
type container struct {
	status  ContainerStatus
	config  ContainerConfig
	sandbox *sandbox
	root    *shell.Root    // nil when it has ended
	program *shell.Program // nil unless it runs one
	taken   bool           // that it runs a program of its image, which is not here
	until   time.Time      // when the program goes on
	wake    func()         // lets it go on earlier, by until
	// signalled says that it has got SIGTERM, and ending are called when it ends.
	signalled bool
	ending    []func()
	log       string // of a program that has ended
	execs     []*process
	begun     int             // how many commands were begun beside its own
	told      map[string]bool // what its probes did
}

var _ Service = (*Containers)(nil)

// New makes the runtime of a node.
func New(cfg Config) *Containers {
	if cfg.Kind == "" {
		cfg.Kind = Containerd
	}
	s := &Containers{
		cfg: cfg, sandboxes: map[types.UID]*sandbox{}, containers: map[string]*container{},
		taken: map[string]types.UID{}, images: map[string]bool{},
	}
	for _, image := range cfg.Images {
		s.images[WithDefaultTag(image)] = true
	}
	return s
}

// Version implements Service.
func (s *Containers) Version() Version {
	return Version{RuntimeName: string(s.cfg.Kind), RuntimeVersion: "2.1.0", HidesResources: s.cfg.Kind == FakeRuntime}
}

// Attach implements Service.
func (s *Containers) Attach(client Client) {
	s.client = client
	for _, uid := range slices.Sorted(maps.Keys(s.sandboxes)) {
		for _, c := range s.sandboxes[uid].containers {
			c.ending = nil // who waited is gone
			if c.program != nil {
				s.letGoOn(c)
			}
		}
	}
}

func (s *Containers) now() time.Time {
	if s.client.Env == nil { // no kubelet was ever there
		return time.Time{}
	}
	return s.client.Env.Now()
}

// ListPodSandboxes implements Service.
func (s *Containers) ListPodSandboxes() ([]types.UID, error) {
	return slices.Sorted(maps.Keys(s.sandboxes)), nil
}

// PodSandboxStatus implements Service.
func (s *Containers) PodSandboxStatus(pod types.UID) (*PodSandboxStatus, error) {
	b := s.sandboxes[pod]
	if b == nil {
		return nil, nil
	}
	status := &PodSandboxStatus{PodSandboxConfig: b.config, IP: b.ip, Ready: b.ready, Attempt: b.attempt}
	for _, c := range b.containers {
		status.Containers = append(status.Containers, c.status)
	}
	return status, nil
}

// RunPodSandbox implements Service.
func (s *Containers) RunPodSandbox(config PodSandboxConfig) error {
	b := s.sandboxes[config.UID]
	switch {
	case b == nil:
		b = &sandbox{}
	case b.ready:
		return fmt.Errorf("pod %s has a sandbox", config.UID)
	default:
		b.attempt++
	}
	b.config, b.ip, b.ready = config, "", true
	if !config.HostNetwork {
		ip, err := s.allocateIP()
		if err != nil {
			b.ready = false
			return err
		}
		b.ip = ip
		s.taken[ip] = config.UID
	}
	s.sandboxes[config.UID] = b
	return nil
}

// StopPodSandbox implements Service.
func (s *Containers) StopPodSandbox(pod types.UID) error {
	b := s.sandboxes[pod]
	if b == nil {
		return nil
	}
	for _, c := range b.containers {
		s.kill(c)
	}
	b.ready = false
	if s.taken[b.ip] == pod {
		delete(s.taken, b.ip)
	}
	return nil
}

// RemovePodSandbox implements Service.
func (s *Containers) RemovePodSandbox(pod types.UID) error {
	if err := s.StopPodSandbox(pod); err != nil {
		return err
	}
	if b := s.sandboxes[pod]; b != nil {
		for _, c := range b.containers {
			s.forget(c)
		}
	}
	delete(s.sandboxes, pod)
	return nil
}

// CreateContainer implements Service.
func (s *Containers) CreateContainer(pod types.UID, config ContainerConfig) (string, error) {
	b := s.sandboxes[pod]
	if b == nil || !b.ready {
		return "", fmt.Errorf("pod %s has no sandbox that is ready", pod)
	}
	id := s.cfg.Kind.containerID(&b.config, config.Name, config.Attempt)
	if s.containers[id] != nil {
		return "", fmt.Errorf("container %s of pod %s was created already, attempt %d", config.Name, pod, config.Attempt)
	}
	if s.cfg.Kind == Containerd {
		if err := s.makeHostPaths(config.Mounts); err != nil {
			return "", err
		}
	}
	c := &container{config: config, sandbox: b, wake: func() {}, status: ContainerStatus{
		ID: id, Pod: pod, Name: config.Name, Attempt: config.Attempt, Sandbox: b.attempt, Image: config.Image,
		State: ContainerCreated, Mounts: config.Mounts, User: config.User,
	}}
	c.root = s.rootOf(c)
	s.containers[id] = c
	b.containers = append(b.containers, c)
	return id, nil
}

// makeHostPaths makes the host paths that do not exist, and refuses those that lead
// nowhere, as containerd does: pkg/cri/opts WithMounts.
func (s *Containers) makeHostPaths(mounts []shell.Mount) error {
	for _, m := range mounts {
		_, err := s.cfg.Root.Stat(m.VolumePath)
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("failed to generate container spec: failed to stat %q: %w", m.VolumePath, err)
		}
		if err := s.cfg.Root.MkdirAll(m.VolumePath, 0o755); err != nil {
			return fmt.Errorf("failed to generate container spec: failed to mkdir %q: %w", m.VolumePath, err)
		}
	}
	return nil
}

// find returns the container with an id.
func (s *Containers) find(id string) (*container, error) {
	if c := s.containers[id]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("there is no container with the id %q", id)
}

// kill ends a container with SIGKILL.
func (s *Containers) kill(c *container) {
	code := killedExitCode
	if s.cfg.Kind == FakeRuntime {
		code = 0
	}
	if c.status.State == ContainerRunning {
		s.endProgram(c, code)
	}
}

// killedExitCode is the exit code of a container that SIGKILL has ended.
const killedExitCode int32 = 137

// end records that a container has ended, and ends the commands beside it. message is why its command could not be run; "" if it was.
//
// Upstream: kuberuntime_container.go convertToKubeContainerStatus and getTerminationMessage, v1.37.2.
func (s *Containers) end(c *container, exitCode int32, message string) {
	if c.program != nil {
		c.log, c.program = c.program.Log(), nil
	}
	for _, p := range c.execs {
		p.program.Stop()
	}
	c.execs = nil
	text := c.root.TerminationMessage()
	switch {
	case text != "":
		message = text
	case message == "" && exitCode != 0 && c.config.LogsOnError:
		message = endOf(c.log)
	}
	c.root = nil
	c.status.State, c.status.FinishedAt = ContainerExited, s.now()
	c.status.ExitCode, c.status.Reason, c.status.Message = exitCode, s.cfg.Kind.exitReason(exitCode), message
	c.wake()
	for _, tell := range c.ending {
		tell()
	}
	c.ending = nil
}

// The most that the message of a container that has ended quotes of its log.
//
// Upstream: pkg/kubelet/container/runtime.go MaxContainerTerminationMessageLogLines and MaxContainerTerminationMessageLogLength, v1.37.2.
const (
	maxMessageLines = 80
	maxMessageLog   = 2048
)

// endOf returns the last lines of a log: at most maxMessageLines, and maxMessageLog bytes.
func endOf(log string) string {
	at := len(strings.TrimSuffix(log, "\n"))
	for range maxMessageLines {
		if at = strings.LastIndexByte(log[:max(0, at)], '\n'); at < 0 {
			break
		}
	}
	return log[max(at+1, len(log)-maxMessageLog):]
}

// maxForgotten is the number of containers that are gone whose last words are kept.
const maxForgotten = 100

// forget forgets a container, but for the last words of one that has failed: only who looks at the simulation from outside finds them.
func (s *Containers) forget(c *container) {
	delete(s.containers, c.status.ID)
	if c.status.ExitCode != 0 && c.log != "" {
		s.forgotten = append(s.forgotten, lastWords{c.status.ID, endOf(c.log)})
		s.forgotten = s.forgotten[max(0, len(s.forgotten)-maxForgotten):]
	}
}

// lastWords is the end of what a container printed.
type lastWords struct{ id, text string }

// LastWords returns the end of what a container has printed, even if it is gone: of the last hundred that had failed. "" if nothing is known of it.
func (s *Containers) LastWords(id string) string {
	if c := s.containers[id]; c != nil {
		if c.program != nil {
			return endOf(c.program.Log())
		}
		return endOf(c.log)
	}
	for _, gone := range slices.Backward(s.forgotten) {
		if gone.id == id {
			return gone.text
		}
	}
	return ""
}

// Taken reports whether a container is taken to run a program of its image that is not here, and so does nothing.
func (s *Containers) Taken(id string) bool {
	c := s.containers[id]
	return c != nil && c.taken
}

// SwitchOff ends all containers at once, as a machine that loses its power does. Their logs
// and files stay.
//
// Upstream: containerd internal/cri/server unknownContainerStatus, v2.1.
func (s *Containers) SwitchOff() {
	for _, uid := range slices.Sorted(maps.Keys(s.sandboxes)) {
		for _, c := range s.sandboxes[uid].containers {
			if c.status.State == ContainerRunning {
				s.endProgram(c, unknownExitCode)
				c.status.Reason = "Unknown"
			}
		}
	}
}

// unknownExitCode is the exit code of a container whose end the runtime did not see.
const unknownExitCode = 255

// RemoveContainer implements Service.
func (s *Containers) RemoveContainer(id string) error {
	if c := s.containers[id]; c != nil {
		s.kill(c)
		c.sandbox.containers = slices.DeleteFunc(c.sandbox.containers, func(other *container) bool { return other == c })
		s.forget(c)
	}
	return nil
}

// ContainerStatus implements Service.
func (s *Containers) ContainerStatus(id string) (*ContainerStatus, error) {
	c, err := s.find(id)
	if err != nil {
		return nil, err
	}
	status := c.status
	return &status, nil
}

// ContainerStats implements Service. Of a container that has ended nothing is left.
func (s *Containers) ContainerStats(id string) (stats ContainerStats, err error) {
	c, err := s.find(id)
	if err != nil {
		return stats, err
	}
	if c.root != nil {
		stats.Rootfs = c.root.Used()
	}
	if c.program != nil {
		stats.Logs = min(c.program.Logged(), maxLogs)
	}
	return stats, nil
}

// maxLogs is the size of a container's logs that the node keeps: five files of 10 MiB.
//
// Upstream: pkg/kubelet/apis/config/v1beta1/defaults.go ContainerLogMaxSize and ContainerLogMaxFiles, v1.37.2.
const maxLogs = 5 * 10 << 20

// Logs implements Service.
func (s *Containers) Logs(id string, to io.Writer) error {
	c, err := s.find(id)
	if err != nil {
		return err
	}
	text := c.log
	if c.program != nil {
		text = c.program.Log()
	}
	_, err = io.WriteString(to, text)
	return err
}

// Close ends all that runs.
func (s *Containers) Close() {
	for _, uid := range slices.Sorted(maps.Keys(s.sandboxes)) {
		_ = s.RemovePodSandbox(uid) // it never fails
	}
}
