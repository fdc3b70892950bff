package storagesim

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// missingDirectories are those that the volumes of a pod need and that its node does not
// have.
func (x *explainer) missingDirectories(pod *v1.Pod) (missing []NodeDirectory) {
	disk := x.roots[pod.Spec.NodeName]
	if disk == nil || pod.Status.Phase != v1.PodPending {
		return nil
	}
	for i := range pod.Spec.Volumes {
		dir := x.directoryOf(pod, &pod.Spec.Volumes[i])
		if dir == "" {
			continue
		}
		if there, err := isThere(disk, dir); err == nil && !there {
			missing = append(missing, NodeDirectory{pod.Spec.NodeName, dir})
		}
	}
	return missing
}

// directoryOf is the directory that a volume of a pod needs on the node, "" if it needs
// none or makes it.
func (x *explainer) directoryOf(pod *v1.Pod, volume *v1.Volume) string {
	host := volume.HostPath
	if name := claimName(pod, volume); name != "" {
		claim, err := x.client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(x.ctx, name, metav1.GetOptions{})
		if err != nil || claim.Spec.VolumeName == "" {
			return ""
		}
		pv, err := x.client.CoreV1().PersistentVolumes().Get(x.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		switch {
		case err != nil:
			return ""
		case pv.Spec.Local != nil:
			return pv.Spec.Local.Path
		}
		host = pv.Spec.HostPath
	}
	if host == nil || host.Type == nil || *host.Type != v1.HostPathDirectory {
		return ""
	}
	return host.Path
}
