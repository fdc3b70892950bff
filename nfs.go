package storagesim

import (
	"errors"
	"fmt"

	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/machine"
)

// AddNFSServer adds an NFS server that all nodes can reach: a machine with a
// directory of its own, below "_nfs" in Dir. name is what volumes call it in
// nfs.server, an IP address or a DNS name; each export is an absolute path, made if
// it is not there. Nothing else can be mounted: an unknown server, and a path that is
// not exported, fail as mount.nfs(8) fails, and the kubelet tries again.
//
// The server's files are those of "nfs/NAME" in ReadFile, WriteFile, MakeDir and
// ListDir.
func (c *Cluster) AddNFSServer(name string, exports ...string) (*nfs.Server, error) {
	if err := nfs.CheckName(name); err != nil {
		return nil, fmt.Errorf("NFS server: %w", err)
	}
	if c.nfs.Server(name) != nil {
		return nil, fmt.Errorf("there is an NFS server called %q already", name)
	}
	if c.cfg.RealMounts {
		return nil, fmt.Errorf("NFS server %s: with Config.RealMounts nodes make bind mounts only", name)
	}
	m, err := c.addMachine(machine.NFSServer, name)
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

// NFSServer is the NFS server of that name, nil if there is none.
func (c *Cluster) NFSServer(name string) *nfs.Server { return c.nfs.Server(name) }
