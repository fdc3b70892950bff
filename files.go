package storagesim

import (
	"fmt"
	"io/fs"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine/disk"
)

// ReadFile reads a file of a node ("node/node-1", path on the node) or of a pod
// ("pod/default/web" or "pod/web", path in the first container that mounts
// something there), or of an NFS server ("nfs/192.168.203.110", path on the server).
func (c *Cluster) ReadFile(where, path string) ([]byte, error) {
	root, pod, err := c.locate(where)
	switch {
	case err != nil:
		return nil, err
	case pod != nil:
		return kubelet.ReadFile(root, pod, path)
	}
	return root.ReadFile(path)
}

// WriteFile writes a file of a node, pod or NFS server, as ReadFile names them. The
// directory must exist. A pod cannot write to a volume that it mounts read-only
// (kubelet.ErrReadOnly).
func (c *Cluster) WriteFile(where, path string, data []byte) error {
	root, pod, err := c.locate(where)
	switch {
	case err != nil:
		return err
	case pod != nil:
		return kubelet.WriteFile(root, pod, path, data)
	}
	return root.WriteFile(path, data, 0o644)
}

// MakeDir makes a directory of a node or of a pod, as ReadFile names them, with
// the parents it lacks: what the administrator does before there can be a local
// volume. A directory that it makes has mode, for example 0o755, whatever the
// umask; one that exists is left as it is. mode may have permission, setuid,
// setgid and sticky bits. A pod cannot make directories in a volume that it
// mounts read-only (kubelet.ErrReadOnly).
func (c *Cluster) MakeDir(where, path string, mode fs.FileMode) error {
	root, pod, err := c.locate(where)
	switch {
	case err != nil:
		return err
	case pod != nil:
		return kubelet.MakeDir(root, pod, path, mode)
	}
	return root.MakeDir(path, mode)
}

// ListDir lists the names in a directory of a node or of a pod, sorted; those
// of directories end in a slash.
func (c *Cluster) ListDir(where, path string) ([]string, error) {
	root, pod, err := c.locate(where)
	switch {
	case err != nil:
		return nil, err
	case pod != nil:
		return kubelet.List(root, pod, path)
	}
	return root.List(path)
}

// Disk is the disk of a machine, "node/node-1" or "nfs/server". Paths on it are those of
// the machine; nothing done through it leaves the machine's files. It is closed by
// Close, and belongs to the cluster: do not close it. An error says which machines
// there are.
func (c *Cluster) Disk(machine string) (*disk.Disk, error) {
	root, pod, err := c.locate(machine)
	if err == nil && pod != nil {
		err = fmt.Errorf("%s is not a machine and has no disk of its own", machine)
	}
	if err != nil {
		return nil, err
	}
	return root, nil
}

// locate finds the node's directory, and the pod if it is a pod that is meant.
func (c *Cluster) locate(where string) (*disk.Disk, *v1.Pod, error) {
	kind, rest, _ := strings.Cut(where, "/")
	switch kind {
	case "node":
		root, err := c.root(rest)
		return root, nil, err
	case "nfs":
		disk, err := c.nfsDisk(rest)
		return disk, nil, err
	case "pod":
		pod, err := c.Pod(rest)
		if err != nil {
			return nil, nil, err
		}
		if pod.Spec.NodeName == "" {
			return nil, nil, fmt.Errorf("pod %s/%s has no node yet", pod.Namespace, pod.Name)
		}
		root, err := c.root(pod.Spec.NodeName)
		return root, pod, err
	}
	return nil, nil, fmt.Errorf("%q is not a place for files%s; expected node/name, nfs/server, pod/name or pod/namespace/name", where, prose.DidYouMean(where, c.Machines()))
}

// Machines are the places of files, except pods: "node/NAME" for each node and
// "nfs/NAME" for each NFS server.
func (c *Cluster) Machines() []string {
	var names []string
	for _, n := range c.cfg.Nodes {
		names = append(names, "node/"+n.Name)
	}
	for _, server := range c.nfs.Servers() {
		names = append(names, "nfs/"+server.Name())
	}
	return names
}

func (c *Cluster) root(node string) (*disk.Disk, error) {
	if c.roots == nil {
		return nil, engine.ErrClosed
	}
	if root := c.roots[node]; root != nil {
		return root, nil
	}
	names := make([]string, len(c.cfg.Nodes))
	for i, n := range c.cfg.Nodes {
		names[i] = n.Name
	}
	return nil, fmt.Errorf("no node is called %q%s", node, prose.OneOf(node, names))
}
