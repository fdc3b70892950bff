package strategy

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A server of release 1.37 accepts these fields and stores none of them, since their feature gates are off.
func TestFieldsOfAPodBehindGatesThatAreOffAreDropped(t *testing.T) {
	user, mode, stop := int64(7), int32(0o700), v1.SIGTERM
	items := func(user *int64) []v1.KeyToPath { return []v1.KeyToPath{{Key: "k", Path: "p", User: user}} }
	files := func(user *int64) []v1.DownwardAPIVolumeFile {
		return []v1.DownwardAPIVolumeFile{{Path: "p", User: user}}
	}
	pod := func(user *int64, mode *int32, stop *v1.Signal, options []string, more func(*v1.Pod)) *v1.Pod {
		p := &v1.Pod{}
		volume := func(source v1.VolumeSource) { p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{VolumeSource: source}) }
		volume(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Mode: mode}})
		volume(v1.VolumeSource{Secret: &v1.SecretVolumeSource{DefaultUser: user, Items: items(user)}})
		volume(v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{DefaultUser: user, Items: items(user)}})
		volume(v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{DefaultUser: user, Items: files(user)}})
		volume(v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{DefaultUser: user, Sources: []v1.VolumeProjection{
			{Secret: &v1.SecretProjection{Items: items(user)}}, {ConfigMap: &v1.ConfigMapProjection{Items: items(user)}},
			{DownwardAPI: &v1.DownwardAPIProjection{Items: files(user)}}, {ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "t", User: user}},
			{ClusterTrustBundle: &v1.ClusterTrustBundleProjection{User: user}}, {PodCertificate: &v1.PodCertificateProjection{User: user}},
		}}})
		lifecycle := func() *v1.Lifecycle {
			if stop == nil { // nothing is left of it
				return nil
			}
			return &v1.Lifecycle{StopSignal: stop}
		}
		mounts := func() []v1.VolumeMount { return []v1.VolumeMount{{Name: "m", BindMountOptions: options}} }
		p.Spec.InitContainers = []v1.Container{{Lifecycle: lifecycle(), VolumeMounts: mounts()}}
		p.Spec.Containers = []v1.Container{{Lifecycle: lifecycle(), VolumeMounts: mounts()}}
		p.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Lifecycle: lifecycle(), VolumeMounts: mounts()}}}
		more(p)
		return p
	}
	given := pod(&user, &mode, &stop, []string{"noexec"}, func(p *v1.Pod) {
		p.Spec.SchedulingGroup, p.Spec.EvictionResponders = &v1.PodSchedulingGroup{}, []v1.EvictionResponder{{}}
		for i := range p.Spec.Containers {
			p.Spec.Containers[i].LivenessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Protocol: new(v1.HTTPProtocol)}}}
		}
	})
	Pods().Create(given, metav1.Now())
	require.Equal(t, pod(nil, nil, nil, nil, func(p *v1.Pod) {
		p.Spec.Containers[0].LivenessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{}}}
	}).Spec, given.Spec)
}

// CSIVolumeHealth is off, too.
func TestStatusBehindGatesThatAreOffIsDropped(t *testing.T) {
	claim := &v1.PersistentVolumeClaim{Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound, HealthStatus: &v1.VolumeHealthStatus{}}}
	Claims().UpdateStatus(claim, &v1.PersistentVolumeClaim{}, metav1.Now())
	require.Equal(t, v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound}, claim.Status)
	pod := &v1.Pod{Status: v1.PodStatus{Phase: v1.PodRunning, QOSClass: v1.PodQOSBurstable, VolumeHealth: []v1.PodVolumeHealth{{}}}}
	Pods().UpdateStatus(pod, &v1.Pod{}, metav1.Now())
	require.Equal(t, v1.PodStatus{Phase: v1.PodRunning, QOSClass: v1.PodQOSBurstable}, pod.Status)
}
