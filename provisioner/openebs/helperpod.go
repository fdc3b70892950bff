package openebs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
)

// A helper pod is looked at this often, for this long.
const (
	helperPodInterval = time.Second
	helperPodTimeout  = 120 * time.Second
)

// initPod makes the volume's directory.
//
// Upstream: helper_hostpath.go createInitPod.
func (p *Provisioner) initPod(vol volume) *v1.Pod {
	return p.helperPod("init", vol, "mkdir", "-m", "0777", "-p", "/data/"+vol.dir)
}

// cleanupPod removes it.
//
// Upstream: helper_hostpath.go createCleanupPod.
func (p *Provisioner) cleanupPod(vol volume) *v1.Pod {
	return p.helperPod("cleanup", vol, "rm", "-rf", "/data/"+vol.dir)
}

// helperPod runs a command on the volume's node, with the volume's parent
// directory at /data/.
//
// Upstream: helper_hostpath.go launchPod.
func (p *Provisioner) helperPod(action string, vol volume, command ...string) *v1.Pod {
	privileged := true // without it, some systems refuse writes to the host
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = p.cfg.Namespace, action+"-"+vol.name
	pod.Spec = v1.PodSpec{
		RestartPolicy:      v1.RestartPolicyNever,
		ServiceAccountName: p.cfg.ServiceAccount,
		Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: nodeSelector(vol.labels),
		}},
		Tolerations: tolerations(vol.taints),
		Containers: []v1.Container{{
			Name:            "local-path-" + action,
			Image:           p.cfg.HelperImage,
			Command:         command,
			VolumeMounts:    []v1.VolumeMount{{Name: "data", MountPath: "/data/"}},
			SecurityContext: &v1.SecurityContext{Privileged: &privileged},
		}},
		Volumes: []v1.Volume{{
			Name:         "data",
			VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: vol.parent}},
		}},
	}
	for _, name := range p.cfg.ImagePullSecrets {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, v1.LocalObjectReference{Name: name})
	}
	return pod
}

// tolerations let a pod on a node that has these taints.
//
// Upstream: pkg/kubernetes/api/core/v1/pod WithTolerationsForTaints.
func tolerations(taints []v1.Taint) []v1.Toleration {
	var list []v1.Toleration
	for _, taint := range taints {
		toleration := v1.Toleration{Key: taint.Key, Operator: v1.TolerationOpExists, Effect: taint.Effect}
		if taint.Value != "" {
			toleration.Operator, toleration.Value = v1.TolerationOpEqual, taint.Value
		}
		list = append(list, toleration)
	}
	return list
}

// runHelperPod runs the pod to its end and deletes it, however it ended.
//
// Upstream: helper_hostpath.go launchPod and exitPod.
func (p *Provisioner) runHelperPod(ctx context.Context, pod *v1.Pod) error {
	launched, err := p.launchPod(ctx, pod)
	if err != nil {
		return fmt.Errorf("cannot launch helper pod %s: %w", control.Key(pod), err)
	}
	failed := p.awaitPod(ctx, launched)
	left := p.deletePod(ctx, launched)
	if failed != nil && left != nil {
		return fmt.Errorf("%w; and %w", failed, left)
	}
	return cmp.Or(failed, left)
}

// launchPod creates the pod. One that is there already was left behind by a
// crash; it gives way.
func (p *Provisioner) launchPod(ctx context.Context, pod *v1.Pod) (*v1.Pod, error) {
	pods := p.client.CoreV1().Pods(pod.Namespace)
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return created, err
	}
	if err := p.deletePod(ctx, pod); err != nil {
		return nil, err
	}
	err = p.clock.Poll(ctx, helperPodInterval, helperPodTimeout, func(ctx context.Context) (bool, error) {
		_, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return nil, fmt.Errorf("an earlier pod of that name does not go away: %w", err)
	}
	return pods.Create(ctx, pod, metav1.CreateOptions{})
}

// awaitPod waits until the pod has succeeded.
func (p *Provisioner) awaitPod(ctx context.Context, launched *v1.Pod) error {
	name, phase := control.Key(launched), v1.PodPending
	err := p.clock.Poll(ctx, helperPodInterval, helperPodTimeout, func(ctx context.Context) (bool, error) {
		pod, err := p.client.CoreV1().Pods(launched.Namespace).Get(ctx, launched.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if phase = pod.Status.Phase; phase == v1.PodFailed {
			return false, fmt.Errorf("helper pod %s has failed%s", name, whyFailed(pod))
		}
		return phase == v1.PodSucceeded, nil
	})
	if errors.Is(err, control.ErrTimeout) {
		return fmt.Errorf("helper pod %s is still %s after %s", name, phase, helperPodTimeout)
	}
	return err
}

// deletePod deletes the pod; one that is gone is deleted.
func (p *Provisioner) deletePod(ctx context.Context, pod *v1.Pod) error {
	err := p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot delete helper pod %s: %w", control.Key(pod), err)
	}
	return nil
}

// whyFailed is what the pod says of its failure, if anything.
func whyFailed(pod *v1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 {
			why := fmt.Sprintf(": %s exited with %d", status.Name, ended.ExitCode)
			if ended.Message != "" {
				why += ": " + ended.Message
			}
			return why
		}
	}
	if pod.Status.Message != "" {
		return ": " + pod.Status.Message
	}
	return ""
}
