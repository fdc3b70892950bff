package storagesim

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/workdir"
)

// dirOf returns the directory of a machine, relative to Config.Dir.
func dirOf(kind machine.Kind, name string) string {
	if kind == machine.NFSServer {
		return filepath.Join("_nfs", strings.ReplaceAll(name, ":", "_")) // no node has such a name
	}
	if kind == machine.Host {
		return filepath.Join("_hosts", name)
	}
	return name
}

// addMachine adds a machine, with a directory or a disk in memory of this size.
func (c *Cluster) addMachine(kind machine.Kind, name string, size int64) (*machine.Machine, error) {
	cfg := machine.Config{Kind: kind, Name: name, Size: size, Now: c.Now, Remote: c.remote, RealMounts: c.cfg.RealMounts}
	if c.cfg.Disks != MemoryDisks {
		if err := c.makeDir(); err != nil {
			return nil, err
		}
		cfg.Dir, cfg.Filesystems = filepath.Join(c.dir, dirOf(kind, name)), filepath.Join(c.dir, "_filesystems")
	}
	return c.machines.Add(cfg)
}

// makeDir makes the directory of all machines' directories.
func (c *Cluster) makeDir() error {
	if c.dir != "" {
		return nil
	}
	own, err := workdir.Make()
	if err == nil {
		c.dir, c.own = own.Path(), own
	}
	return err
}

// machine returns the machine of that name, "node/node-1". The address or
// DNS name of an NFS server may be written in any form.
func (c *Cluster) machine(name string) (*machine.Machine, error) {
	if c.closed {
		return nil, engine.ErrClosed
	}
	return c.machines.Find(c.canonical(name))
}

// canonical returns the name under which a machine was added.
func (c *Cluster) canonical(name string) string {
	if server, ok := strings.CutPrefix(name, string(machine.NFSServer)+"/"); ok && c.nfs.Server(server) != nil {
		return string(machine.NFSServer) + "/" + c.nfs.Server(server).Name()
	}
	return name
}

// AddNFSServer adds an NFS server that all nodes can reach: a machine with a
// directory of its own, below "_nfs" in Dir. name is the name that volumes have in
// nfs.server, an IP address or a DNS name; each export is an absolute path, whose directory is
// made if it is missing. Nothing else can be mounted: with an unknown server, or a path that is
// not exported, a mount fails as mount.nfs(8) fails, and the kubelet tries again.
//
// Machine("nfs/NAME") reaches the server's files.
func (c *Cluster) AddNFSServer(name string, exports ...string) (*nfs.Server, error) {
	if err := nfs.CheckName(name); err != nil {
		return nil, fmt.Errorf("NFS server: %w", err)
	}
	if c.nfs.Server(name) != nil {
		return nil, fmt.Errorf("there is an NFS server called %q already", name)
	}
	if c.cfg.RealMounts {
		return nil, fmt.Errorf("NFS server %s: with Config.RealMounts there can be none, since real mounts are bind mounts on one node", name)
	}
	m, err := c.addMachine(machine.NFSServer, name, c.cfg.DiskSize)
	if err != nil {
		return nil, fmt.Errorf("NFS server %s: %w", name, err)
	}
	server, err := nfs.NewServer(name, m.Disk(), exports...)
	if err == nil {
		err = c.nfs.Add(server)
	}
	if err != nil {
		return nil, errors.Join(err, c.machines.Remove(m))
	}
	return server, nil
}

// diskOf returns the disk of a machine, for its sockets.
func (c *Cluster) diskOf(name string) *disk.Disk {
	m, err := c.machines.Find(name)
	if err != nil {
		return nil
	}
	return m.Disk()
}

// remote returns the disk that a node mounts with a file system type, of an NFS server or of a CSI
// driver.
func (c *Cluster) remote(fstype, source string) (*disk.Disk, error) {
	for _, d := range c.csiDrivers {
		if open := d.FSTypes[fstype]; open != nil {
			return open(source)
		}
	}
	return c.nfs.Mount(fstype, source)
}

// Machine is a machine of a cluster, or a pod on it: its files, its commands, its logs. A method returns an error
// if it does not exist when the method is called, which lists what there is.
type Machine struct {
	c    *Cluster
	name string
}

// Machine returns the machine of that name, "node/node-1", "nfs/192.168.203.110" or "host/csi.example.com", or a pod on
// its node, "pod/default/web" or "pod/web". It need not exist yet.
//
// A path is looked up on the machine; for a pod, in its first container that mounts something there.
func (c *Cluster) Machine(name string) Machine { return Machine{c, name} }
