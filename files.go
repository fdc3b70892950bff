package storagesim

import (
	"fmt"
	"io/fs"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine"
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
		return kubelet.ReadFile(root, c.containers[pod.Spec.NodeName], pod, path)
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
		return kubelet.WriteFile(root, c.containers[pod.Spec.NodeName], pod, path, data)
	}
	return root.WriteFile(path, data, 0o644)
}

// MakeDir makes a directory of a node or of a pod, as ReadFile names them, with
// the parents it lacks, as an administrator does before there can be a local
// volume. A new directory gets exactly this mode, for example 0o755, without regard to the
// umask; an existing one is not changed. mode may have permission, setuid,
// setgid and sticky bits. A pod cannot make directories in a volume that it
// mounts read-only (kubelet.ErrReadOnly).
func (c *Cluster) MakeDir(where, path string, mode fs.FileMode) error {
	root, pod, err := c.locate(where)
	switch {
	case err != nil:
		return err
	case pod != nil:
		return kubelet.MakeDir(root, c.containers[pod.Spec.NodeName], pod, path, mode)
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
		return kubelet.List(root, c.containers[pod.Spec.NodeName], pod, path)
	}
	return root.List(path)
}

// Disk returns the disk of a machine, "node/node-1" or "nfs/server". Its paths are the machine's
// own, and it reaches no file outside of the machine. Close closes it: do not close it yourself.
// An error lists the machines.
func (c *Cluster) Disk(name string) (*disk.Disk, error) {
	root, pod, err := c.locate(name)
	if err == nil && pod != nil {
		err = fmt.Errorf("%s is not a machine and has no disk of its own", name)
	}
	if err != nil {
		return nil, err
	}
	return root, nil
}

// locate returns the disk of a machine, or a pod and the disk of its node.
func (c *Cluster) locate(where string) (on *disk.Disk, pod *v1.Pod, err error) {
	kind, _, _ := strings.Cut(where, "/")
	resource, _ := manifest.FindResource(c.Server().Registry(), kind)
	switch {
	case kind == string(machine.Node), kind == string(machine.NFSServer), kind == string(machine.Host):
	case resource.Kind == "Pod" && kind != where:
		if pod, err = c.Pod(where); err != nil {
			return nil, nil, err
		}
		if pod.Spec.NodeName == "" {
			return nil, nil, fmt.Errorf("pod %s/%s has no node yet", pod.Namespace, pod.Name)
		}
		where = "node/" + pod.Spec.NodeName
	default:
		return nil, nil, fmt.Errorf("%q is not a place for files%s; expected node/name, nfs/server, pod/name or pod/namespace/name", where, prose.DidYouMean(where, c.Machines()))
	}
	m, err := c.machine(where)
	if err != nil {
		return nil, nil, err
	}
	return m.Disk(), pod, nil
}

// maxStats is the virtual time that a kubelet may take to answer VolumeStats.
const maxStats = 5 * time.Minute

// VolumeStats asks the kubelet of a pod ("web" or "NAMESPACE/web") how full the pod's volumes are, as
// `kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary` does on a cluster. The answer has the
// volumes whose plugin can tell: those of CSI drivers with GET_VOLUME_STATS, by NodeGetVolumeStats.
// Virtual time passes if the driver's answer takes some.
func (c *Cluster) VolumeStats(pod string) (stats []kubelet.VolumeStats, err error) {
	if c.closed {
		return nil, engine.ErrClosed
	}
	p, node, err := c.podOnNode(pod)
	if err != nil {
		return nil, err
	}
	answered := false
	err = c.kubelets[node].Server.VolumeStats(p.UID, func(list []kubelet.VolumeStats) { stats, answered = list, true })
	if err == nil {
		err = c.engine.RunUntil(maxStats, func() bool { return answered })
	}
	if err == nil && !answered {
		err = fmt.Errorf("the kubelet of node %s has not answered after %s of virtual time", node, maxStats)
	}
	return stats, err
}
