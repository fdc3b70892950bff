package storagesim

import (
	"fmt"
	"io/fs"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
)

// ReadFile returns the text of a file.
func (m Machine) ReadFile(path string) (text string, err error) {
	c := m.c
	root, pod, err := c.locate(m.name)
	var data []byte
	switch {
	case err != nil:
		return "", err
	case pod != nil:
		data, err = kubelet.ReadFile(root, c.containers[pod.Spec.NodeName], pod, path)
	default:
		data, err = root.ReadFile(path)
	}
	return string(data), m.failed(err)
}

// WriteFile writes a text to a file. The directory must exist. A pod cannot write to a volume that it mounts read-only
// (kubelet.ErrReadOnly).
func (m Machine) WriteFile(path, text string) error {
	c := m.c
	root, pod, err := c.locate(m.name)
	switch {
	case err != nil:
		return err
	case pod != nil:
		return m.failed(kubelet.WriteFile(root, c.containers[pod.Spec.NodeName], pod, path, []byte(text)))
	}
	return m.failed(root.WriteFile(path, []byte(text), 0o644))
}

// MakeDir makes a directory with the parents it lacks, as an administrator does before there can be a local
// volume. A new directory gets exactly this mode, for example 0o755, without regard to the
// umask; an existing one is not changed. mode may have permission, setuid,
// setgid and sticky bits. A pod cannot make directories in a volume that it
// mounts read-only (kubelet.ErrReadOnly).
func (m Machine) MakeDir(path string, mode fs.FileMode) error {
	c := m.c
	root, pod, err := c.locate(m.name)
	switch {
	case err != nil:
		return err
	case pod != nil:
		return m.failed(kubelet.MakeDir(root, c.containers[pod.Spec.NodeName], pod, path, mode))
	}
	return m.failed(root.MakeDir(path, mode))
}

// ListDir lists the names in a directory, sorted; those of directories end in a slash.
func (m Machine) ListDir(path string) (names []string, err error) {
	c := m.c
	root, pod, err := c.locate(m.name)
	switch {
	case err != nil:
		return nil, err
	case pod != nil:
		names, err = kubelet.List(root, c.containers[pod.Spec.NodeName], pod, path)
	default:
		names, err = root.List(path)
	}
	return names, m.failed(err)
}

// failed puts the name of the machine before an error of its files.
func (m Machine) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", m.name, err)
}

// Disk returns the machine's disk. Its paths are the machine's
// own, and it reaches no file outside of the machine. Close closes it: do not close it yourself.
func (m Machine) Disk() (*disk.Disk, error) {
	root, pod, err := m.c.locate(m.name)
	if err == nil && pod != nil {
		err = fmt.Errorf("%s is not a machine and has no disk of its own", m.name)
	}
	if err != nil {
		return nil, err
	}
	return root, nil
}

// locate returns the disk of a machine, or a pod and the disk of its node.
func (c *Cluster) locate(where string) (on *disk.Disk, pod *v1.Pod, err error) {
	kind, _, _ := strings.Cut(where, "/")
	resource, _ := manifest.FindResource(c.server().Registry(), kind)
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
		return nil, nil, fmt.Errorf("%q is not a place for files%s; expected node/name, nfs/server, pod/name or pod/namespace/name", where,
			prose.DidYouMean(where, c.machines.Names()))
	}
	m, err := c.machine(where)
	if err != nil {
		return nil, nil, err
	}
	return m.Disk(), pod, nil
}

// maxStats is the virtual time that a kubelet may take to say how full volumes are.
const maxStats = 5 * time.Minute

// VolumeStats asks the kubelet of a pod how full the pod's volumes are, as
// `kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary` does, on a cluster and here. The answer has the
// volumes whose plugin can tell: those of CSI drivers with GET_VOLUME_STATS, by NodeGetVolumeStats, and all others but hostPath and image.
// The kubelet looks no more than once a minute, and gives the same answer until it looks again.
// Virtual time passes if the driver's answer takes some.
func (m Machine) VolumeStats() (stats []kubelet.VolumeStats, err error) {
	c := m.c
	p, node, err := m.podOnNode()
	if err != nil {
		return nil, err
	}
	if err := c.dial(node); err != nil {
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

// NFSServer returns the NFS server that the machine is, nil if it is none.
func (m Machine) NFSServer() *nfs.Server {
	name, ok := strings.CutPrefix(m.name, string(machine.NFSServer)+"/")
	if !ok {
		return nil
	}
	return m.c.nfs.Server(name)
}
