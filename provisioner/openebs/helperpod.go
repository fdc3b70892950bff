package openebs

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/provisioner/internal/helperpod"
)

// helperPodTimeout is the time that a helper pod may take.
//
// Upstream: helper_hostpath.go CmdTimeoutCounts.
const helperPodTimeout = 120 * time.Second

// initPod returns the pod that makes the volume's directory.
//
// Upstream: helper_hostpath.go createInitPod.
func (p *hostpathProvisioner) initPod(vol volume) *v1.Pod {
	return p.helperPod("init", vol, "mkdir", "-m", vol.mode, "-p", "/data/"+vol.dir)
}

// quotaPod returns the pod that limits what the directory may hold.
//
// Upstream: helper_hostpath.go createQuotaPod.
func (p *hostpathProvisioner) quotaPod(vol volume) *v1.Pod {
	return p.helperPod("quota", vol, "sh", "-c", vol.quota.script(vol.dir))
}

// cleanupPod returns the pod that removes the directory.
//
// Upstream: helper_hostpath.go createCleanupPod.
func (p *hostpathProvisioner) cleanupPod(vol volume) *v1.Pod {
	return p.helperPod("cleanup", vol, "rm", "-rf", "/data/"+vol.dir)
}

// helperPod returns a pod that runs a command on the volume's node, with the volume's
// parent directory at /data/.
//
// Upstream: helper_hostpath.go launchPod.
func (p *hostpathProvisioner) helperPod(action string, vol volume, command ...string) *v1.Pod {
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
func (p *hostpathProvisioner) runHelperPod(ctx context.Context, pod *v1.Pod) error {
	return helperpod.Runner{Client: p.client, Clock: p.clock, Timeout: helperPodTimeout, Trace: p.trace}.Run(ctx, pod)
}
