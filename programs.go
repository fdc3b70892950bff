package storagesim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	restclient "k8s.io/client-go/rest"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/provisioner"
)

// Program is somebody else's program, unmodified, with goroutines of its own: an operator,
// a provisioner, a child process.
type Program struct {
	// Name is the actor's name: the story, Inject, Crash and Stop call it so. Required.
	Name string
	// Run is the program. ctx ends when its process is to end; then Run is to return. cfg
	// makes clients of the cluster, whose writes bear the Name. Required.
	Run func(ctx context.Context, cfg *restclient.Config) error
	// Provisions are the names by which storage classes call it, if it is a provisioner:
	// RequireNoLeaks looks for what it has made and left. Default: Name.
	Provisions []string
	// Inventory says what the backend of a provisioner holds; nil if it cannot say.
	Inventory provisioner.Inventory
}

// AddProgram runs a program as an actor of the cluster, beside a live.Driver: its
// goroutines run in real time, or in that of a bubble (live.Bubble). Beside a running
// driver call it through Driver.Do.
//
// Crash, a fault and Stop end its process at once, as SIGKILL does: its context ends, its
// watches break, its connections are refused. After the downtime, and when Run has
// returned, Run is called again. Where Run has not returned after Config.Blocked, the
// trace says so, and the next process starts beside it. A program that panics or returns
// by itself is started again with the backoff of a container: at once, after 10 s, 20 s,
// and so on. A panic in a goroutine that Run has started ends the test or command, as Go
// has it.
//
// Faults strike its calls as those of any actor; a Delay takes real time. What it
// creates, and the directories of its volumes, count in RequireNoLeaks.
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
		return p.Run(ctx, rest.New(server, c.Server().Registry(), c.Now).ConfigUntil(ctx, p.Name))
	})
	if err != nil {
		return err
	}
	c.provisioners = append(c.provisioners, &installed{
		name: p.Name, also: names, inventory: p.Inventory, cfg: provisioner.Config{Name: p.Name, AdditionalNames: names},
	})
	return nil
}

// programsGone says which programs had not returned when the engine was closed.
func (c *Cluster) programsGone() error {
	if late := c.engine.Lingering(); len(late) > 0 {
		return fmt.Errorf("programs that have not returned although their context has ended: %s", strings.Join(late, ", "))
	}
	return nil
}

// HostDir is the path, on this machine, of a directory of a simulated one ("node/node-1",
// "nfs/server"): for a program that works on files by system calls of its own, such as an
// NFS provisioner that is told where the export is mounted. Links on the way are
// followed. The directory must exist (MakeDir), and the cluster must have disks that are
// directories.
//
// Nothing confines a program to the directory, and the faults of InjectMachine do not
// strike what it does there: give it only to code that you would run on your machine.
func (c *Cluster) HostDir(name, dir string) (string, error) {
	m, err := c.machine(name)
	if err != nil {
		return "", err
	}
	if c.cfg.Disks == MemoryDisks {
		return "", errors.New("HostDir: with MemoryDisks the files of machines are on no disk; set Config.Disks to DirectoryDisks")
	}
	real, info, err := m.Disk().Resolve(dir)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("HostDir: %s on %s is not a directory", dir, name)
	}
	return filepath.Join(c.dir, dirOf(m.Kind(), m.Name()), filepath.FromSlash(real)), nil
}
