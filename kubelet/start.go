package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/volume"
)

// startPod starts the pod's containers, all of whose volumes are mounted, and
// runs those whose command is known to their end. Nothing here can be
// interrupted: the record is there, or the pod was not started.
func (k *kubelet) startPod(pod *v1.Pod, earlier *podRecord) (*podRecord, error) {
	r := &podRecord{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name}
	ip, err := k.podIP(pod, earlier)
	if err != nil {
		return nil, err
	}
	r.IP = ip
	volumes := k.mountedPaths(pod)
	for i := range pod.Spec.InitContainers {
		c, err := k.startContainer(pod, ip, &pod.Spec.InitContainers[i], volumes, !isSidecar(&pod.Spec.InitContainers[i]))
		if err != nil {
			return nil, err
		}
		r.Init = append(r.Init, c)
		if c.ExitCode != 0 {
			return r, k.endUnstarted(pod, r)
		}
	}
	for i := range pod.Spec.Containers {
		c, err := k.startContainer(pod, ip, &pod.Spec.Containers[i], volumes, false)
		if err != nil {
			return nil, err
		}
		if earlier != nil && i < len(earlier.Containers) {
			c.Restarts = earlier.Containers[i].Restarts + 1
		}
		r.Containers = append(r.Containers, c)
	}
	return r, k.runtime.save(r)
}

// endUnstarted records a pod whose init container failed: its containers end
// before they begin.
func (k *kubelet) endUnstarted(pod *v1.Pod, r *podRecord) error {
	now := k.now()
	for _, c := range pod.Spec.Containers {
		r.Containers = append(r.Containers, containerRecord{
			Name: c.Name, Started: now, Finished: &now, ExitCode: exitNotStarted, Message: "an init container failed",
		})
	}
	return k.runtime.save(r)
}

// podIP is the pod's address: its node's, an earlier one, or a new one.
func (k *kubelet) podIP(pod *v1.Pod, earlier *podRecord) (string, error) {
	switch {
	case pod.Spec.HostNetwork:
		return k.hostIP(), nil
	case earlier != nil:
		return earlier.IP, nil
	}
	return k.runtime.allocateIP(k.node.Spec.PodCIDR)
}

// mountedPath is where a mounted volume is on the node.
type mountedPath struct {
	path     string
	readOnly bool
}

func (k *kubelet) mountedPaths(pod *v1.Pod) map[string]mountedPath {
	paths := map[string]mountedPath{}
	for _, v := range k.desired.ofPod(pod.UID) {
		if m := k.actual.volumes.get(v.podVolume); m != nil {
			paths[v.outerName] = mountedPath{m.path, m.readOnly}
		}
	}
	return paths
}

// startContainer starts one container. One whose command is known, or that must
// end for the pod to go on, has ended when this returns.
func (k *kubelet) startContainer(pod *v1.Pod, ip string, c *v1.Container, volumes map[string]mountedPath, mustEnd bool) (containerRecord, error) {
	now := k.now()
	record := containerRecord{Name: c.Name, Started: now}
	env := k.environment(pod, ip, c)
	for _, m := range c.VolumeMounts {
		cm, err := k.containerMount(m, volumes, env)
		if err != nil {
			return record, fmt.Errorf("container %s: mount %s: %w", c.Name, m.MountPath, err)
		}
		record.Mounts = append(record.Mounts, cm)
	}
	argv := expandCommand(c, env)
	run := k.command(pod, argv)
	if run == nil && !mustEnd {
		return record, nil
	}
	record.Finished = &now
	if run == nil {
		return record, nil
	}
	process := &Process{
		Argv: argv, WorkingDir: c.WorkingDir, Env: env, node: k.fs, mounts: record.Mounts, commands: k.cfg.Commands,
	}
	err := run(process)
	if errors.Is(err, errJustRuns) {
		k.note(control.RefOf("Pod", pod), fmt.Sprintf("container %s: %v", c.Name, err))
		if !mustEnd {
			record.Finished = nil
		}
		return record, nil
	}
	if err != nil {
		record.ExitCode, record.Message = exitCode(err), err.Error()
	}
	k.traceCommand(pod, process, err)
	return record, nil
}

// traceCommand tells what was run, and then what that ran.
func (k *kubelet) traceCommand(pod *v1.Pod, p *Process, err error) {
	about := control.RefOf("Pod", pod)
	record := control.Command{About: about, Argv: p.Argv, Node: k.node.Name, Paths: p.paths}
	if err != nil {
		record.Err = err.Error()
	}
	k.env.Trace(record)
	for _, note := range p.notes {
		k.note(about, note)
	}
	for _, child := range p.children {
		k.traceCommand(pod, child.process, child.err)
	}
}

// command is the built-in command that argv names, nil if it is none or the pod
// is not meant to end.
func (k *kubelet) command(pod *v1.Pod, argv []string) Command {
	if !restartable(pod) || len(argv) == 0 {
		return nil
	}
	run, _ := lookup(k.cfg.Commands, argv[0])
	return run
}

// containerMount says what a container gets for a volumeMount. As containerd
// does, it makes a host path that does not exist, and as the kubelet does, the
// subPath.
func (k *kubelet) containerMount(m v1.VolumeMount, volumes map[string]mountedPath, env map[string]string) (containerMount, error) {
	v, ok := volumes[m.Name]
	if !ok {
		return containerMount{}, fmt.Errorf("volume %q is not mounted", m.Name)
	}
	cm := containerMount{ContainerPath: path.Clean(m.MountPath), VolumePath: v.path, ReadOnly: v.readOnly || m.ReadOnly}
	if _, err := k.fs.Stat(v.path); errors.Is(err, fs.ErrNotExist) && !inPodDir(v.path) {
		if err := k.fs.MkdirAll(v.path, 0o755); err != nil {
			return cm, err
		}
	}
	subPath, err := expandSubPath(m, env)
	if err != nil || subPath == "" {
		return cm, err
	}
	return cm, k.makeSubPath(&cm, subPath)
}

// makeSubPath makes the sub path, if missing, inside of its volume.
func (k *kubelet) makeSubPath(cm *containerMount, subPath string) error {
	if err := volume.ValidatePathNoBacksteps(subPath); err != nil || path.IsAbs(subPath) {
		return fmt.Errorf("subPath %q must be a relative path without '..'", subPath)
	}
	cm.SubPath = path.Clean(subPath)
	inside, err := k.fs.Sub(cm.VolumePath)
	if err != nil {
		return err
	}
	defer inside.Close()
	if _, err := inside.Stat("/" + cm.SubPath); errors.Is(err, fs.ErrNotExist) {
		return inside.MkdirAll("/"+cm.SubPath, 0o750)
	} else if err != nil {
		return fmt.Errorf("failed to prepare subPath %q: %w", subPath, err)
	}
	return nil
}

// isSidecar says whether an init container goes on running.
func isSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}
