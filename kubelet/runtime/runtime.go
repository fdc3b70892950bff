package runtime

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/runtime/programs"
	"github.com/storagesim/storagesim/machine/disk"
)

// ID is one start of one container.
type ID struct {
	Pod     types.UID
	Name    string
	Attempt int32
}

// Container is what is to run.
type Container struct {
	// Argv is the command and its arguments, Dir the working directory ("" means "/"),
	// Env the environment.
	Argv []string
	Dir  string
	Env  map[string]string
	// Hostname is the pod's name on its network.
	Hostname string
	// Mounts are its volumes.
	Mounts []programs.Mount
}

// Status is what a container did since it was last asked for, and what it does.
type Status struct {
	// Ended says that it has ended, with ExitCode and, if that is not 0, Message: the
	// end of what it printed.
	Ended    bool
	ExitCode int32
	Message  string
	// Main is its own command, Reports those that this ran.
	Main    programs.Report
	Reports []programs.Report
}

// Result is what a command that was run in a container printed and ended with.
type Result struct {
	Output   string
	ExitCode int32
	Main     programs.Report
	Reports  []programs.Report
}

// Service runs containers.
type Service interface {
	// CanRun says whether a container's command can be carried out. One that cannot just
	// runs.
	CanRun(c Container) bool
	// StartContainer starts a container and lets it go until it waits or ends.
	StartContainer(id ID, c Container, host programs.Host) Status
	// Resume lets a container go on that waited. ok is false if it does not run here.
	Resume(id ID, host programs.Host) (s Status, ok bool)
	// StopContainer ends a container; one that does not run is no error.
	StopContainer(id ID)
	// Until is when Resume is to be called for a container that runs.
	Until(id ID) time.Time
	// Running are the containers of a pod that run.
	Running(pod types.UID) []ID
	// Exec runs a command beside a container, in its volumes, to its end. One that would
	// wait is ended, with an error.
	Exec(c Container, host programs.Host) (Result, error)
	// Logs is the end of what a container printed, also of one that has ended; "" for one
	// that is not known.
	Logs(id ID) string
	// RemovePod forgets a pod's containers.
	RemovePod(pod types.UID)
}

// Containers is a node's container runtime. It is not safe for concurrent use.
type Containers struct {
	node     *disk.Disk
	commands map[string]programs.Command
	pods     map[types.UID]map[ID]*container
}

// container is one that was started.
type container struct {
	program *programs.Program // nil when it has ended
	until   time.Time
	log     string
}

var _ Service = (*Containers)(nil)

// NewContainers makes the runtime of a node on whose files containers work. commands
// are the programs that they can run; nil means programs.Default.
func NewContainers(node *disk.Disk, commands map[string]programs.Command) *Containers {
	return &Containers{node: node, commands: commands, pods: map[types.UID]map[ID]*container{}}
}

func (s *Containers) config(c Container, seed uint64) programs.Config {
	return programs.Config{
		Argv: c.Argv, Dir: c.Dir, Env: c.Env, Hostname: c.Hostname, Node: s.node, Mounts: c.Mounts, Commands: s.commands, Seed: seed,
	}
}

// CanRun implements Service.
func (s *Containers) CanRun(c Container) bool { return programs.CanRun(s.config(c, 0)) }

// StartContainer implements Service.
func (s *Containers) StartContainer(id ID, c Container, host programs.Host) Status {
	s.StopContainer(id)
	if s.pods[id.Pod] == nil {
		s.pods[id.Pod] = map[ID]*container{}
	}
	for other := range s.pods[id.Pod] { // the log of the one before it is enough
		if other.Name == id.Name && other.Attempt < id.Attempt-1 {
			delete(s.pods[id.Pod], other)
		}
	}
	s.pods[id.Pod][id] = &container{program: programs.Start(s.config(c, seed(id)))}
	status, _ := s.Resume(id, host)
	return status
}

// seed is where the random numbers of a container begin.
func seed(id ID) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(fmt.Sprintf("%s/%s/%d", id.Pod, id.Name, id.Attempt)) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// Resume implements Service.
func (s *Containers) Resume(id ID, host programs.Host) (Status, bool) {
	c := s.pods[id.Pod][id]
	if c == nil || c.program == nil {
		return Status{}, false
	}
	p := c.program
	wait, ended := p.Run(host)
	c.until = host.Now().Add(wait)
	status := Status{Ended: ended, Main: p.Main(), Reports: p.Reports()}
	if ended {
		if status.ExitCode = p.ExitCode(); status.ExitCode != 0 {
			status.Message = p.Message()
		}
		c.log, c.program = p.Log(), nil
	}
	return status, true
}

// Until implements Service.
func (s *Containers) Until(id ID) time.Time {
	if c := s.pods[id.Pod][id]; c != nil {
		return c.until
	}
	return time.Time{}
}

// StopContainer implements Service.
func (s *Containers) StopContainer(id ID) {
	if c := s.pods[id.Pod][id]; c != nil && c.program != nil {
		c.program.Stop()
		c.log, c.program = c.program.Log(), nil
	}
}

// Running implements Service.
func (s *Containers) Running(pod types.UID) (list []ID) {
	for id, c := range s.pods[pod] {
		if c.program != nil {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, func(a, b ID) int {
		if a.Name < b.Name || a.Name == b.Name && a.Attempt < b.Attempt {
			return -1
		}
		return 1
	})
	return list
}

// errWaits is that of a command that does not come to its end at once.
var errWaits = errors.New("the command waits, and is ended: a command that is run in a container must come to its end without a sleep")

// Exec implements Service.
func (s *Containers) Exec(c Container, host programs.Host) (Result, error) {
	p := programs.Start(s.config(c, 0))
	defer p.Stop()
	_, ended := p.Run(host)
	r := Result{Output: p.Log(), ExitCode: p.ExitCode(), Main: p.Main(), Reports: p.Reports()}
	if !ended {
		return r, errWaits
	}
	return r, nil
}

// Logs implements Service.
func (s *Containers) Logs(id ID) string {
	switch c := s.pods[id.Pod][id]; {
	case c == nil:
		return ""
	case c.program != nil:
		return c.program.Log()
	default:
		return c.log
	}
}

// RemovePod implements Service.
func (s *Containers) RemovePod(pod types.UID) {
	for _, id := range s.Running(pod) {
		s.StopContainer(id)
	}
	delete(s.pods, pod)
}

// Close ends all containers.
func (s *Containers) Close() {
	for pod := range s.pods {
		s.RemovePod(pod)
	}
}
