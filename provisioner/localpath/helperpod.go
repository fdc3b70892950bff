package localpath

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/provisioner/helperpod"
)

// action is what a helper pod is for.
type action string

const (
	actionCreate action = "create"
	actionDelete action = "delete"
)

const (
	scriptDir = "/script"
	// maxHelperPodName is the longest name of a helper pod.
	//
	// Upstream: provisioner.go HelperPodNameMaxLength, v0.0.37.
	maxHelperPodName = 128
)

// runHelperPod has the volume's directory made or removed.
//
// Upstream: provisioner.go createHelperPod, v0.0.37.
func (p *Provisioner) runHelperPod(ctx context.Context, do action, config *pathConfig, template *v1.Pod, vol volume) error {
	pod, err := p.helperPod(do, config, template, vol)
	if err == nil {
		err = helperpod.Runner{Client: p.client, Clock: p.env, Timeout: config.cmdTimeout}.Run(ctx, pod)
	}
	if err != nil {
		return fmt.Errorf("failed to %s volume %s: %w", do, vol.name, err)
	}
	return nil
}

// helperPod is the template, filled in: the node by its name, past the scheduler;
// the volume's parent directory at its own path; the scripts at /script.
func (p *Provisioner) helperPod(do action, config *pathConfig, template *v1.Pod, vol volume) (*v1.Pod, error) {
	parent, dir, err := splitPath(vol.path)
	if err != nil {
		return nil, err
	}
	pod := template.DeepCopy()
	name := pod.Name + "-" + string(do) + "-" + vol.name
	pod.Name = name[:min(len(name), maxHelperPodName)]
	pod.Namespace = p.cfg.Namespace
	spec, c := &pod.Spec, &pod.Spec.Containers[0]
	if spec.NodeName == "" {
		spec.NodeName = vol.node
	}
	spec.ServiceAccountName = p.cfg.ServiceAccount
	spec.RestartPolicy = v1.RestartPolicyNever
	if spec.Tolerations == nil {
		spec.Tolerations = []v1.Toleration{{Key: v1.TaintNodeDiskPressure, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
	}
	kind := v1.HostPathDirectoryOrCreate
	spec.Volumes = append(spec.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{
		HostPath: &v1.HostPathVolumeSource{Path: parent, Type: &kind},
	}})
	inContainer := path.Join(addVolumeMount(c, "data", parent), dir)
	if keys := scriptKeys(config); len(keys) > 0 {
		spec.Volumes = append(spec.Volumes, p.scriptVolume(keys))
		addVolumeMount(c, "script", scriptDir)
	}
	c.Command = config.command(do)
	size := strconv.FormatInt(vol.size, 10)
	c.Args = []string{"-p", inContainer, "-s", size, "-m", string(vol.mode), "-a", string(do)}
	c.Env = append(c.Env,
		v1.EnvVar{Name: "VOL_DIR", Value: inContainer},
		v1.EnvVar{Name: "VOL_MODE", Value: string(vol.mode)},
		v1.EnvVar{Name: "VOL_SIZE_BYTES", Value: size},
	)
	return pod, nil
}

// command is what makes or removes a directory.
func (c *pathConfig) command(do action) []string {
	own, script := c.setupCommand, keySetup
	if do == actionDelete {
		own, script = c.teardownCommand, keyTeardown
	}
	if own != "" {
		return []string{own}
	}
	return []string{"/bin/sh", scriptDir + "/" + script}
}

// scriptKeys are the scripts that are not replaced by commands.
func scriptKeys(config *pathConfig) (keys []string) {
	if config.setupCommand == "" {
		keys = append(keys, keySetup)
	}
	if config.teardownCommand == "" {
		keys = append(keys, keyTeardown)
	}
	return keys
}

func (p *Provisioner) scriptVolume(keys []string) v1.Volume {
	source := &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: p.cfg.ConfigMapName}}
	for _, key := range keys {
		source.Items = append(source.Items, v1.KeyToPath{Key: key, Path: key})
	}
	return v1.Volume{Name: "script", VolumeSource: v1.VolumeSource{ConfigMap: source}}
}

// addVolumeMount mounts a volume in the container, where the template says or
// else at mountPath, and returns where.
//
// Upstream: provisioner.go addVolumeMount, v0.0.37.
func addVolumeMount(c *v1.Container, name, mountPath string) string {
	for i := range c.VolumeMounts {
		if m := &c.VolumeMounts[i]; m.Name == name {
			if m.MountPath == "" {
				m.MountPath = mountPath
			}
			return m.MountPath
		}
	}
	c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: name, MountPath: mountPath})
	return mountPath
}

// splitPath splits a volume's directory into its parent, which the helper pod
// mounts, and its own name.
func splitPath(dir string) (parent, name string, err error) {
	clean := path.Clean(dir)
	parent, name = path.Dir(clean), path.Base(clean)
	if !path.IsAbs(dir) || strings.Contains(dir, "/../") || strings.HasSuffix(dir, "/..") || parent == "/" {
		return "", "", fmt.Errorf("invalid path %q: it must be absolute, without %q, and not directly under /", dir, "..")
	}
	return parent, name, nil
}
