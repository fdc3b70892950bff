package storagesim

import (
	"fmt"
	"strings"

	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/nodefs"
)

// ReadFile reads a file of a node ("node/node-1", path on the node) or of a pod
// ("pod/default/web" or "pod/web", path in its first container that mounts it).
func (c *Cluster) ReadFile(where, path string) ([]byte, error) {
	root, at, err := c.locate(where, path)
	if err != nil {
		return nil, err
	}
	return root.ReadFile(at)
}

// WriteFile writes a file of a node or of a pod, as ReadFile names them. The
// directory must exist.
func (c *Cluster) WriteFile(where, path string, data []byte) error {
	root, at, err := c.locate(where, path)
	if err != nil {
		return err
	}
	return root.WriteFile(at, data, 0o644)
}

// ListDir lists the names in a directory of a node or of a pod, sorted.
func (c *Cluster) ListDir(where, path string) ([]string, error) {
	root, at, err := c.locate(where, path)
	if err != nil {
		return nil, err
	}
	return root.List(at)
}

// locate finds the node's directory and the path in it.
func (c *Cluster) locate(where, path string) (*nodefs.Dir, string, error) {
	kind, rest, _ := strings.Cut(where, "/")
	switch kind {
	case "node":
		root, err := c.root(rest)
		return root, path, err
	case "pod":
		pod, err := c.Pod(rest)
		if err != nil {
			return nil, "", err
		}
		if pod.Spec.NodeName == "" {
			return nil, "", fmt.Errorf("pod %s/%s is on no node yet", pod.Namespace, pod.Name)
		}
		root, err := c.root(pod.Spec.NodeName)
		if err != nil {
			return nil, "", err
		}
		at, err := kubelet.HostPath(root, pod, path)
		return root, at, err
	}
	return nil, "", fmt.Errorf("%q is no place for files: write node/name, pod/name or pod/namespace/name", where)
}

func (c *Cluster) root(node string) (*nodefs.Dir, error) {
	if root := c.roots[node]; root != nil {
		return root, nil
	}
	names := make([]string, len(c.cfg.Nodes))
	for i, n := range c.cfg.Nodes {
		names[i] = n.Name
	}
	return nil, fmt.Errorf("no node is called %q; there are %q", node, names)
}
