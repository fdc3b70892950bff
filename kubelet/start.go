package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/runtime/programs"
)

// startPod starts those of the pod's containers that are to be started, all of whose
// volumes are mounted, up to an init container that has not done its work. It tells the
// pod what it does. earlier is what is recorded already. If r is nil, none was started.
// Otherwise nothing here can be interrupted, and an error is that r is not on the disk
// yet.
//
// Upstream: kuberuntime_manager.go SyncPod, v1.36.
func (k *kubelet) startPod(pod *v1.Pod, earlier *podRecord) (r *podRecord, err error) {
	r = &podRecord{UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name}
	if r.IP, err = k.podIP(pod, earlier); err != nil {
		return nil, err
	}
	if earlier == nil {
		earlier = &podRecord{}
	}
	volumes := k.mountedPaths(pod)
	start := func(c *v1.Container, records []containerRecord, i int, mustEnd bool) containerRecord {
		var last *containerRecord
		if i < len(records) {
			last = records[i].lastBegun()
		}
		record := k.startContainer(pod, r.IP, c, volumes, last, mustEnd)
		if record.Waiting != nil && record.Waiting.Reason == crashLoopBackOff {
			record.Mounts = records[i].Mounts // its files can be read meanwhile
		}
		return *record
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if shouldInitContainerBeStarted(pod, earlier.Init, i) {
			r.Init = append(r.Init, start(c, earlier.Init, i, !isSidecar(c)))
		} else {
			r.Init = append(r.Init, earlier.Init[i])
		}
		record := r.Init[i]
		if record.Waiting != nil || record.failed() || record.running() && !isSidecar(c) {
			return r, k.runtime.save(r)
		}
	}
	for i := range pod.Spec.Containers {
		if shouldContainerBeRestarted(pod, earlier.Containers, i) {
			r.Containers = append(r.Containers, start(&pod.Spec.Containers[i], earlier.Containers, i, false))
		} else {
			r.Containers = append(r.Containers, earlier.Containers[i])
		}
	}
	return r, k.runtime.save(r)
}

// podIP is the pod's address: its node's, an earlier one, or a new one.
func (k *kubelet) podIP(pod *v1.Pod, earlier *podRecord) (string, error) {
	switch {
	case pod.Spec.HostNetwork:
		return k.hostIP(), nil
	case earlier != nil:
		return earlier.IP, nil
	}
	return k.runtime.allocateIP(k.podCIDR())
}

// mountedPath is where a mounted volume is on the node.
type mountedPath struct {
	name     string // of the volume itself
	path     string
	readOnly bool
}

func (k *kubelet) mountedPaths(pod *v1.Pod) map[string]mountedPath {
	paths := map[string]mountedPath{}
	for _, v := range k.desired.ofPod(pod.UID) {
		if m := k.actual.volumes.get(v.podVolume); m != nil {
			paths[v.outerName] = mountedPath{m.spec.Name(), m.path, m.readOnly}
		}
	}
	return paths
}

// Why a container waits that could not be created.
//
// Upstream: kuberuntime_container.go ErrCreateContainerConfig and ErrCreateContainer,
// v1.36.
const (
	createContainerConfigError = "CreateContainerConfigError" // the kubelet could not say what it is to be
	createContainerError       = "CreateContainerError"       // the container runtime could not make it
)

// startContainer pulls the image of one container, creates and starts it, and tells the
// pod of each step. One that must end for the pod to go on, and whose command cannot be
// carried out, has ended when this returns. One that could not be created, or has ended
// too often, waits. last is the container before it, nil if there was none.
//
// Upstream: kuberuntime_container.go startContainer, v1.36.
func (k *kubelet) startContainer(pod *v1.Pod, ip string, c *v1.Container, volumes map[string]mountedPath, last *containerRecord, mustEnd bool) *containerRecord {
	record := &containerRecord{Name: c.Name, Started: k.now(), Last: last}
	if last != nil {
		record.Restarts = last.Restarts + 1
	}
	if record.Waiting = k.doBackOff(pod, c, last); record.Waiting != nil {
		return record
	}
	if record.Waiting = k.ensureImageExists(pod, c); record.Waiting != nil {
		return record
	}
	env := k.environment(pod, ip, c)
	var err error
	reason := createContainerConfigError
	if record.Mounts, err = k.makeMounts(pod, c, volumes, env); err == nil && k.cfg.Runtime.makesHostPaths() {
		reason, err = createContainerError, k.makeHostPaths(record.Mounts)
	}
	if err != nil {
		k.recorder.Eventf(pod, v1.EventTypeWarning, "Failed", "Error: %v", err)
		return &containerRecord{Name: c.Name, Last: last, Waiting: &containerWaiting{reason, err.Error()}}
	}
	k.recorder.Event(pod, v1.EventTypeNormal, "Created", "Container created")
	k.recorder.Event(pod, v1.EventTypeNormal, "Started", "Container started")
	k.runContainer(pod, c, record, env, mustEnd)
	return record
}

// makeMounts says what a container gets for its volumeMounts, and makes the parts of
// volumes that it asks for.
//
// Upstream: kubelet_pods.go makeMounts, v1.36.
func (k *kubelet) makeMounts(pod *v1.Pod, c *v1.Container, volumes map[string]mountedPath, env map[string]string) ([]programs.Mount, error) {
	var mounts []programs.Mount
	for i, m := range c.VolumeMounts {
		v, ok := volumes[m.Name]
		if !ok {
			return nil, fmt.Errorf("cannot find volume %q to mount into container %q", m.Name, c.Name)
		}
		cm := programs.Mount{ContainerPath: path.Clean(m.MountPath), VolumePath: v.path, ReadOnly: v.readOnly || m.ReadOnly}
		name, err := expandSubPath(m, env)
		if err == nil {
			err = checkSubPath(name)
		}
		if err == nil && name != "" {
			cm.SubPath = path.Clean(name)
			err = k.makeSubPath(pod, subPath{path: cm.SubPath, volume: v, container: c.Name, mount: m, index: i})
		}
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, cm)
	}
	return mounts, nil
}

// makeHostPaths makes the host paths that do not exist, and refuses those that lead
// nowhere, as containerd does: pkg/cri/opts WithMounts.
func (k *kubelet) makeHostPaths(mounts []programs.Mount) error {
	for _, m := range mounts {
		if inPodDir(m.VolumePath) {
			continue
		}
		_, err := k.fs.Stat(m.VolumePath)
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("failed to generate container spec: failed to stat %q: %w", m.VolumePath, err)
		}
		if err := k.fs.MkdirAll(m.VolumePath, 0o755); err != nil {
			return fmt.Errorf("failed to generate container spec: failed to mkdir %q: %w", m.VolumePath, err)
		}
	}
	return nil
}

// isSidecar says whether an init container goes on running.
func isSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}
