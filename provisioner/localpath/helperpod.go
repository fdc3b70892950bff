package localpath

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/trace"
)

// action is the task of a helper pod.
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
	// helperPodInterval is the interval at which a helper pod is looked at.
	helperPodInterval = time.Second
)

// createHelperPod has the volume's directory made or removed by a pod, and waits
// for that pod. One that is there already is taken for its own.
//
// Upstream: provisioner.go createHelperPod, v0.0.37.
func (p *localPathProvisioner) createHelperPod(ctx context.Context, do action, config *pathConfig, template *v1.Pod, vol volume) error {
	if err := p.runHelperPod(ctx, do, config, template, vol); err != nil {
		return fmt.Errorf("failed to %s volume %s: %w", do, vol.name, err)
	}
	return nil
}

func (p *localPathProvisioner) runHelperPod(ctx context.Context, do action, config *pathConfig, template *v1.Pod, vol volume) error {
	pod, err := p.helperPod(do, config, template, vol)
	if err != nil {
		return err
	}
	pods := p.client.CoreV1().Pods(p.cfg.Namespace)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	err = p.awaitHelperPod(ctx, pod.Name, config.cmdTimeoutSeconds)
	if left := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}); left != nil {
		p.env.Trace(trace.Decision{About: trace.RefOf("Pod", pod), Text: "unable to delete the helper pod: " + left.Error()})
	}
	return err
}

// awaitHelperPod looks at the pod every second, so many times, until it has
// succeeded. One that has failed is looked at as often as one that has not begun.
func (p *localPathProvisioner) awaitHelperPod(ctx context.Context, name string, times int) error {
	looked := 0
	look := func(ctx context.Context) (bool, error) {
		if looked == times {
			return false, fmt.Errorf("create process timeout after %d seconds", times)
		}
		looked++
		pod, err := p.client.CoreV1().Pods(p.cfg.Namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil && pod.Status.Phase == v1.PodSucceeded, err
	}
	if done, err := look(ctx); done || err != nil {
		return err
	}
	return p.env.Poll(ctx, helperPodInterval, 0, look)
}

// helperPod returns the template, filled in: the node by its name, past the scheduler;
// the scripts at /script; the volume's parent directory at its own path.
func (p *localPathProvisioner) helperPod(do action, config *pathConfig, template *v1.Pod, vol volume) (*v1.Pod, error) {
	switch {
	case vol.name == "" || vol.path == "" || !vol.shared && vol.node == "":
		return nil, errors.New("invalid empty name or path or node")
	case !path.IsAbs(vol.path):
		return nil, fmt.Errorf("volume path %s is not absolute", vol.path)
	}
	pod := template.DeepCopy()
	p.fillInSpec(do, pod, vol)
	spec, c := &pod.Spec, &pod.Spec.Containers[0]
	clean := path.Clean(vol.path)
	parent, dir := path.Split(clean) // the parent ends in a slash
	kind := v1.HostPathDirectoryOrCreate
	spec.Volumes = append(spec.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{
		HostPath: &v1.HostPathVolumeSource{Path: parent, Type: &kind},
	}})
	if keys := scriptKeys(config); len(keys) > 0 {
		spec.Volumes = append(spec.Volumes, p.scriptVolume(keys))
		addVolumeMount(c, "script", scriptDir).MountPath = scriptDir
	}
	mounted := strings.TrimSuffix(addVolumeMount(c, "data", parent).MountPath, "/")
	if mounted == "" || dir == "" || !path.IsAbs(mounted) {
		return nil, fmt.Errorf("invalid path %s for %s: cannot find parent dir or volume dir or parent dir is relative", do, clean)
	}
	inContainer := path.Join(mounted, dir)
	size := strconv.FormatInt(vol.size, 10)
	c.Command = config.command(do)
	c.Args = []string{"-p", inContainer, "-s", size, "-m", string(vol.mode), "-a", string(do)}
	c.Env = append(c.Env,
		v1.EnvVar{Name: "VOL_DIR", Value: inContainer},
		v1.EnvVar{Name: "VOL_MODE", Value: string(vol.mode)},
		v1.EnvVar{Name: "VOL_SIZE_BYTES", Value: size},
		v1.EnvVar{Name: "VOL_USER", Value: vol.ownership.user},
		v1.EnvVar{Name: "VOL_GROUP", Value: vol.ownership.group},
		v1.EnvVar{Name: "VOL_PERM", Value: vol.ownership.perm},
	)
	return pod, nil
}

// fillInSpec fills in all of the template that is not about files.
func (p *localPathProvisioner) fillInSpec(do action, pod *v1.Pod, vol volume) {
	name := pod.Name + "-" + string(do) + "-" + vol.name
	pod.Name = name[:min(len(name), maxHelperPodName)]
	pod.Namespace = p.cfg.Namespace
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName = vol.node
	}
	pod.Spec.ServiceAccountName = p.cfg.ServiceAccount
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	if pod.Spec.Tolerations == nil {
		pod.Spec.Tolerations = []v1.Toleration{{Key: v1.TaintNodeDiskPressure, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}}
	}
}

// command returns what makes or removes a directory.
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

// scriptKeys returns the scripts that are not replaced by commands.
func scriptKeys(config *pathConfig) (keys []string) {
	if config.setupCommand == "" {
		keys = append(keys, keySetup)
	}
	if config.teardownCommand == "" {
		keys = append(keys, keyTeardown)
	}
	return keys
}

func (p *localPathProvisioner) scriptVolume(keys []string) v1.Volume {
	source := &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: p.cfg.ConfigMapName}}
	for _, key := range keys {
		source.Items = append(source.Items, v1.KeyToPath{Key: key, Path: key})
	}
	return v1.Volume{Name: "script", VolumeSource: v1.VolumeSource{ConfigMap: source}}
}

// addVolumeMount mounts a volume in the container, where the template says or
// else at mountPath, and returns the mount.
//
// Upstream: provisioner.go addVolumeMount, v0.0.37.
func addVolumeMount(c *v1.Container, name, mountPath string) *v1.VolumeMount {
	for i := range c.VolumeMounts {
		if m := &c.VolumeMounts[i]; m.Name == name {
			if m.MountPath == "" {
				m.MountPath = mountPath
			}
			return m
		}
	}
	c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: name, MountPath: mountPath})
	return &c.VolumeMounts[len(c.VolumeMounts)-1]
}
