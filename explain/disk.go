package explain

import (
	"net"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
)

// missing finds the directories that the volumes of a pod need and that its node does not
// have, and the exports that no NFS server has.
func (x *explainer) missing(pod *v1.Pod) {
	if !x.HasKubelet(pod.Spec.NodeName) || pod.Status.Phase != v1.PodPending {
		return
	}
	for i := range pod.Spec.Volumes {
		local, host, nfs := x.source(pod, &pod.Spec.Volumes[i])
		dir := ""
		switch {
		case nfs != nil:
			x.missingExport(nfs.Server, nfs.Path)
		case local != nil:
			dir = local.Path
		case host != nil && host.Type != nil && *host.Type == v1.HostPathDirectory:
			dir = host.Path
		}
		if dir != "" && !x.HasPath(pod.Spec.NodeName, dir) {
			x.found.Directories = append(x.found.Directories, NodeDirectory{pod.Spec.NodeName, dir})
		}
	}
}

// missingExport notes a directory that no NFS server exports.
func (x *explainer) missingExport(name, dir string) {
	if x.HasExport(name, dir) {
		return
	}
	if ip := net.ParseIP(name); ip != nil && ip.To4() == nil {
		name = "[" + name + "]"
	}
	x.found.Exports = append(x.found.Exports, name+":"+dir)
}

// source is what a volume of a pod is, or what the volume bound to its claim is.
func (x *explainer) source(pod *v1.Pod, volume *v1.Volume) (*v1.LocalVolumeSource, *v1.HostPathVolumeSource, *v1.NFSVolumeSource) {
	name := binding.ClaimOfVolume(pod, volume)
	if name == "" {
		return nil, volume.HostPath, volume.NFS
	}
	claim, err := x.Client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(x.ctx, name, metav1.GetOptions{})
	if err != nil || claim.Spec.VolumeName == "" {
		return nil, nil, nil
	}
	pv, err := x.Client.CoreV1().PersistentVolumes().Get(x.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return nil, nil, nil
	}
	return pv.Spec.Local, pv.Spec.HostPath, pv.Spec.NFS
}
