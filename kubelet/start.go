package kubelet

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/kubelet/internal/containerref"
	"github.com/storagesim/storagesim/kubelet/internal/securitycontext"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/kubelet/volumemanager"
	"github.com/storagesim/storagesim/machine/shell"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// startPod starts those of the pod's containers that are to be started, all of whose
// volumes are mounted, of a pod that is not initialized one init container; ephemeral ones
// before all others. It tells the pod what it does, and changes r accordingly. It waits for
// the postStart hook of each container before it starts the next. pod is the version with which the sync began: one that is deleted while a container is
// killed or a hook runs starts what it was to start, and ends then.
//
// Upstream: kuberuntime_manager.go SyncPod, which kubelet.go SyncPod calls without its cancellation, v1.37.2.
func (k *kubelet) startPod(ctx context.Context, w *podWorker, pod *v1.Pod, r *podStatus) error {
	volumes := k.volumes.GetMountedVolumesForPod(w.uid)
	ephemeral := ephemeralContainers(pod)
	var images map[string]*containerWaiting
	start := func(spec *v1.Container, c *containerState, init bool) error {
		if images == nil {
			images = k.getImageVolumes(pod)
		}
		return k.startContainer(ctx, w, pod, r.IP, spec, volumes, images, c, init)
	}
	for i := range r.Ephemeral {
		if c := &r.Ephemeral[i]; shouldEphemeralContainerBeStarted(pod, c) {
			if err := start(&ephemeral[i], c, false); err != nil {
				return err
			}
		}
	}
	inits, initialized := r.initToStart(pod)
	for _, i := range inits {
		spec, c := &pod.Spec.InitContainers[i], &r.Init[i]
		if err := start(spec, c, !isSidecar(spec)); err != nil {
			return err
		}
		if c.waiting != nil && !isSidecar(spec) {
			return nil
		}
	}
	for i := range r.Containers {
		if c := &r.Containers[i]; initialized && (c.changed || shouldContainerBeRestarted(pod, &pod.Spec.Containers[i], c)) {
			if err := start(&pod.Spec.Containers[i], c, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// Why a container waits that could not be created.
//
// Upstream: kuberuntime_container.go ErrCreateContainerConfig and ErrCreateContainer,
// v1.37.
const (
	createContainerConfigError = "CreateContainerConfigError" // the kubelet could not say what it is to be
	createContainerError       = "CreateContainerError"       // the container runtime could not make it
	runContainerError          = "RunContainerError"          // the container runtime could not start it: it has ended
)

// startContainer pulls the image of one container (those of its volumes are pulled, or images says why not), creates and starts it, and tells the
// pod of each step. One that could not be created, or has ended too often, waits. init
// says that others wait until it has ended.
//
// Upstream: kuberuntime_container.go startContainer, v1.37.
func (k *kubelet) startContainer(ctx context.Context, w *podWorker, pod *v1.Pod, ip string, spec *v1.Container,
	volumes map[string]volumemanager.MountedVolume, images map[string]*containerWaiting, c *containerState, init bool) error {
	exited := c.last
	if c.killed { // it ran when the sync began
		exited, c.killed = c.before, false
	}
	if c.waiting = k.doBackOff(pod, spec, exited); c.waiting == nil {
		c.waiting = k.imagesThere(pod, spec, images)
	}
	if c.waiting == nil {
		if reason, err := k.runContainer(w, ip, spec, volumes, c, init); err != nil {
			k.recorder.Eventf(containerref.GenerateContainerRef(pod, spec.Name), v1.EventTypeWarning, "Failed", "Error: %v", err)
			if reason != runContainerError || !c.ended() || isSidecar(spec) || shouldRestart(pod, spec, c.last.ExitCode) {
				c.waiting = &containerWaiting{reason, err.Error()}
			}
		} else if spec.Lifecycle != nil && spec.Lifecycle.PostStart != nil {
			if err := k.runPostStartHook(ctx, w, spec, c); err != nil {
				return err
			}
			if c.last, err = k.runtime.ContainerStatus(c.last.ID); err != nil {
				return err
			}
		}
	}
	k.setProbed(w, c)
	if w.waits == nil {
		w.waits = map[string]*containerWaiting{}
	}
	w.waits[spec.Name] = c.waiting
	return nil
}

// absent says what becomes of programs that the container's image may have and the simulation does not.
func (k *kubelet) absent(pod *v1.Pod, init bool) shell.Absent {
	owner := metav1.GetControllerOf(pod)
	switch {
	case k.cfg.TakesPrograms == nil || !k.cfg.TakesPrograms(pod):
		return shell.NotFound
	case init || owner != nil && owner.Kind == "Job":
		return shell.Succeeds
	}
	return shell.Runs
}

// runContainer creates and starts a container whose image is there. An error has a reason.
func (k *kubelet) runContainer(w *podWorker, ip string, spec *v1.Container, volumes map[string]volumemanager.MountedVolume, c *containerState,
	init bool) (reason string, err error) {
	pod := w.pod
	env, err := k.environment(w, ip, spec, volumes)
	if err != nil {
		return createContainerConfigError, err
	}
	mounts, err := k.makeMounts(pod, spec, volumes, env)
	if err != nil {
		return createContainerConfigError, err
	}
	devices, err := k.makeBlockVolumes(spec, volumes)
	if err != nil {
		return createContainerConfigError, err
	}
	if err := k.checkUser(pod, spec); err != nil {
		return createContainerConfigError, err
	}
	config := runtime.ContainerConfig{
		User: securitycontext.User(pod, spec, k.volumes.GetExtraSupplementalGroupsForPod(w.uid)),
		Name: spec.Name, Image: runtime.WithDefaultTag(spec.Image), Command: expandWords(spec.Command, env), Args: expandWords(spec.Args, env),
		WorkingDir: spec.WorkingDir, Env: env, Mounts: append(mounts, devices...), Init: init,
		Awaited: (init || meantToEnd(pod)) && !w.keepsRestarting(), Absent: k.absent(pod, init),
		TerminationLog: spec.TerminationMessagePath, LogsOnError: spec.TerminationMessagePolicy == v1.TerminationMessageFallbackToLogsOnError,
		Files:    func() map[string]string { return k.managedFiles(pod, ip) },
		NotFirst: pod.Spec.HostPID || pod.Spec.ShareProcessNamespace != nil && *pod.Spec.ShareProcessNamespace,
	}
	if sc := spec.SecurityContext; sc != nil && sc.ReadOnlyRootFilesystem != nil {
		config.ReadOnlyRoot = *sc.ReadOnlyRootFilesystem
	}
	if sc := spec.SecurityContext; sc != nil && sc.Privileged != nil {
		config.Privileged = *sc.Privileged
	}
	ownPolicy := spec.RestartPolicy != nil && !isSidecar(spec)
	config.IgnoresStop = pod.Spec.RestartPolicy != v1.RestartPolicyAlways || ownPolicy
	switch was := statusNamed(w.lastStatus(), spec.Name); {
	case c.last != nil:
		config.Attempt = c.last.Attempt + 1
	case w.attempts[spec.Name] > 0:
		config.Attempt = w.attempts[spec.Name]
	case was != nil && was.LastTerminationState.Terminated != nil && was.LastTerminationState.Terminated.Reason == restartingAllContainers:
		config.Attempt = was.RestartCount // which upstream reads from the names of its logs
	}
	id, err := k.runtime.CreateContainer(pod.UID, config)
	if err != nil {
		return createContainerError, err
	}
	k.recorder.Event(containerref.GenerateContainerRef(pod, spec.Name), v1.EventTypeNormal, "Created", "Container created")
	failed := k.runtime.StartContainer(id)
	status, err := k.runtime.ContainerStatus(id)
	switch {
	case err != nil:
		return runContainerError, errors.Join(failed, err)
	case failed != nil && status.State != runtime.ContainerExited:
		return runContainerError, errors.Join(failed, k.runtime.RemoveContainer(id))
	case failed == nil:
		k.tellNotFound(pod, status)
	}
	if c.before != nil { // the one before it is enough
		if err := k.runtime.RemoveContainer(c.before.ID); err != nil {
			return runContainerError, errors.Join(failed, err)
		}
	}
	c.last, c.before, c.active = status, c.last, true
	if failed != nil {
		return runContainerError, failed
	}
	return "", nil
}

// checkUser refuses a container that must not run as root and would. It tells where it does otherwise than a node: where the user of an image is not
// known, and where a user's rights are not looked at, since the node's files have not the owners that were set.
func (k *kubelet) checkUser(pod *v1.Pod, spec *v1.Container) error {
	unknown, err := securitycontext.VerifyRunAsNonRoot(pod, spec)
	deviates := func(situation trace.Situation, of string) {
		d := trace.Deviate(situation, trace.RefOf("Pod", pod))
		d.Of = of
		k.env.Trace(d)
	}
	if unknown {
		deviates(trace.ImageUser, "image "+spec.Image)
	}
	if user := securitycontext.User(pod, spec, nil); user.UID != 0 && !k.fs.KeepsOwners() {
		deviates(trace.OwnersNotKept, fmt.Sprintf("user %d on node %s", user.UID, k.nodeName()))
	}
	return err
}

// meantToEnd reports whether a pod is to come to an end.
func meantToEnd(pod *v1.Pod) bool {
	return pod.Spec.RestartPolicy == v1.RestartPolicyNever || pod.Spec.RestartPolicy == v1.RestartPolicyOnFailure
}

// makeMounts says what a container gets for its volumeMounts, and makes the parts of
// volumes that it asks for.
//
// Upstream: kubelet_pods.go makeMounts, v1.37.
func (k *kubelet) makeMounts(pod *v1.Pod, c *v1.Container, volumes map[string]volumemanager.MountedVolume, env map[string]string) ([]shell.Mount, error) {
	var mounts []shell.Mount
	for i, m := range c.VolumeMounts {
		v, ok := volumes[m.Name]
		if !ok {
			return nil, fmt.Errorf("cannot find volume %q to mount into container %q", m.Name, c.Name)
		}
		cm := shell.Mount{ContainerPath: path.Clean(m.MountPath), VolumePath: v.Path, ReadOnly: v.ReadOnly || m.ReadOnly}
		if isInMemory(pod, m.Name) {
			cm.Source, cm.FSType = "tmpfs", "tmpfs"
		}
		name, err := expandSubPath(m, env)
		if err == nil {
			err = checkSubPath(name)
		}
		if err == nil && name != "" {
			cm.SubPath = path.Clean(name)
			part := volumemanager.SubPath{Path: cm.SubPath, Volume: v, Container: c.Name, Mount: m, Index: i, OfImage: isImage(pod, m.Name)}
			if err = k.volumes.PrepareSubPath(pod, part); err == nil {
				cm.Kept, err = k.volumes.KeepSubPath(part, replacesFiles(pod, m.Name))
			}
		}
		if err == nil {
			err = resolveRecursiveReadOnly(m)
		}
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, cm)
	}
	return mounts, k.addSources(mounts)
}

// resolveRecursiveReadOnly refuses a mount below which others must be read-only, too: the runtime cannot do that. What it must not be
// beside that, validation has refused.
//
// Upstream: kubelet_pods.go resolveRecursiveReadOnly, v1.37.2.
func resolveRecursiveReadOnly(m v1.VolumeMount) error {
	if m.RecursiveReadOnly == nil || *m.RecursiveReadOnly != v1.RecursiveReadOnlyEnabled {
		return nil
	}
	return fmt.Errorf("failed to resolve recursive read-only mode: volume %q requested recursive read-only mode, but it is not supported by the runtime", m.Name)
}

// replacesFiles reports whether a volume's files are replaced when the objects that it is made of change, as those of a ConfigMap: a container keeps
// those that were there when it mounted a part.
func replacesFiles(pod *v1.Pod, volume string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool {
		return v.Name == volume && (v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil)
	})
}

// makeBlockVolumes says what a container gets for its volumeDevices.
//
// Upstream: kubelet_pods.go makeBlockVolumes, v1.37.
func (k *kubelet) makeBlockVolumes(c *v1.Container, volumes map[string]volumemanager.MountedVolume) (devices []shell.Mount, err error) {
	for _, d := range c.VolumeDevices {
		v, ok := volumes[d.Name]
		if !ok {
			return nil, fmt.Errorf("cannot find volume %q to pass into container %q", d.Name, c.Name)
		}
		device, err := k.fs.EvalSymlinks(v.Path)
		if err != nil {
			return nil, fmt.Errorf("failed to get device path %s of volume %q: %w", v.Path, d.Name, err)
		}
		devices = append(devices, shell.Mount{ContainerPath: path.Clean(d.DevicePath), VolumePath: device, ReadOnly: v.ReadOnly, Block: true})
	}
	return devices, nil
}

// isImage reports whether a volume of a pod is an image.
func isImage(pod *v1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.Name == name && v.Image != nil })
}

// isInMemory reports whether a volume of a pod is a tmpfs on a node: an emptyDir that asks for it, and those that are written into one. Here they are
// directories of the node's disk, and only the container's table of mounts says tmpfs.
//
// Upstream: wrappedVolumeSpec of pkg/volume/secret, downwardapi and projected, v1.37.
func isInMemory(pod *v1.Pod, name string) bool {
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.Name == name {
			return v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil || v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumMemory
		}
	}
	return false
}

// addSources sets the source and the file system type of a container's mounts whose volume is not on the node's own disk, such as
// an NFS share. The container sees them in the output of mount and df.
func (k *kubelet) addSources(mounts []shell.Mount) error {
	if len(mounts) == 0 {
		return nil
	}
	table, err := k.cfg.Mounter.List()
	if err != nil {
		return fmt.Errorf("cannot list the node's mounts: %w", err)
	}
	for _, on := range table {
		if on.Type == "" || on.Type == "none" {
			continue
		}
		for i := range mounts {
			if mounts[i].VolumePath == on.Path {
				mounts[i].Source, mounts[i].FSType = on.Device, on.Type
			}
		}
	}
	return nil
}

// checkSubPath refuses a path that does not stay in its volume.
//
// Upstream: kubelet_pods.go makeMounts, v1.37.
func checkSubPath(name string) error {
	if path.IsAbs(name) {
		return fmt.Errorf("error SubPath `%s` must not be an absolute path", name)
	}
	if err := volume.ValidatePathNoBacksteps(name); err != nil {
		return fmt.Errorf("unable to provision SubPath `%s`: %w", name, err)
	}
	return nil
}

// isSidecar reports whether an init container goes on running.
func isSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}
