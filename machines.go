package storagesim

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/machine"
)

// dirOf is where in the directory of all machines' directories the files of a machine are.
func dirOf(kind machine.Kind, name string) string {
	if kind == machine.NFSServer {
		return filepath.Join("_nfs", strings.ReplaceAll(name, ":", "_")) // no node has such a name
	}
	if kind == machine.Host {
		return filepath.Join("_hosts", name)
	}
	return name
}

// addMachine makes a machine, with a directory or a disk in memory.
func (c *Cluster) addMachine(kind machine.Kind, name string) (*machine.Machine, error) {
	cfg := machine.Config{Kind: kind, Name: name, Now: c.Now, Remote: c.remote, RealMounts: c.cfg.RealMounts}
	if c.cfg.Disks != MemoryDisks {
		if err := c.makeDir(); err != nil {
			return nil, err
		}
		cfg.Dir = filepath.Join(c.dir, dirOf(kind, name))
	}
	return c.machines.Add(cfg)
}

// makeDir makes the directory of all machines' directories.
func (c *Cluster) makeDir() error {
	if c.dir != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "storagesim-")
	if err == nil {
		c.dir, c.temporary = dir, true
	}
	return err
}

// Machines are the places of files, except pods: "node/NAME" for each node and
// "nfs/NAME" for each NFS server.
func (c *Cluster) Machines() []string { return c.machines.Names() }

// machine is the machine of that name, "node/node-1". An address or
// a DNS name of an NFS server may be written in any way.
func (c *Cluster) machine(name string) (*machine.Machine, error) {
	if c.closed {
		return nil, engine.ErrClosed
	}
	return c.machines.Find(c.canonical(name))
}

// canonical is the name that a machine was given.
func (c *Cluster) canonical(name string) string {
	if server, ok := strings.CutPrefix(name, string(machine.NFSServer)+"/"); ok && c.nfs.Server(server) != nil {
		return string(machine.NFSServer) + "/" + c.nfs.Server(server).Name()
	}
	return name
}

// InjectMachine adds a fault of mounts and files. It says what is wrong with one that
// makes no sense. Of several that match, the one added first strikes.
func (c *Cluster) InjectMachine(f machine.Fault) error {
	if c.closed {
		return engine.ErrClosed
	}
	f.Machine = c.canonical(f.Machine)
	return c.machines.Inject(f)
}

// ClearFaults ends all trouble, that of Inject, of InjectMachine and of InjectCSI.
func (c *Cluster) ClearFaults() {
	c.engine.ClearFaults()
	c.machines.ClearFaults()
	c.sockets.ClearFaults()
}
