package explain

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/volume"
)

// denied judges a container that does not run as root and was refused something by the modes and owners of files: a volume belongs to root, unless someone
// has given it to others.
func (x *explainer) denied(pod *v1.Pod, field, name, message string) (v Verdict, ok bool) {
	text := strings.ToLower(message)
	if !strings.Contains(text, "permission denied") && !strings.Contains(text, "operation not permitted") {
		return v, false
	}
	v = Verdict{Class: Ill, Code: ContainerFailed}
	user, takes, mounts := int64(0), false, 0
	if sc := pod.Spec.SecurityContext; sc != nil && sc.RunAsUser != nil {
		user, v.Field = *sc.RunAsUser, "spec.securityContext.runAsUser"
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name != name {
			continue
		}
		if sc := c.SecurityContext; sc != nil && sc.RunAsUser != nil {
			user, v.Field = *sc.RunAsUser, field+".securityContext.runAsUser"
		}
		for _, m := range c.VolumeMounts {
			i := slices.IndexFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.Name == m.Name })
			if i >= 0 {
				mounts++
				takes = takes || takesGroup(x.spec(pod, &pod.Spec.Volumes[i]))
			}
		}
	}
	if user == 0 {
		return v, false
	}
	v.Value = fmt.Sprint(user)
	v.Cause = fmt.Sprintf("it runs as user %d, and the file or its directory belongs to others", user)
	switch {
	case mounts > 0 && takes && !hasGroup(pod):
		v.Do = "set spec.securityContext.fsGroup: the kubelet gives the volume to that group, and the container is in it"
	case mounts > 0:
		v.Do = fmt.Sprintf("give the volume's directory to user %d: with chown in an init container that runs as root, or on its machine", user)
	default:
		v.Do = "write to a volume: the files of the image belong to root"
	}
	return v, true
}

// takesGroup reports whether a kubelet gives a volume to the fsGroup of a pod: it does so for none that is a directory of a node or a server.
func takesGroup(spec *volume.Spec) bool {
	switch {
	case spec == nil:
		return false
	case spec.PersistentVolume != nil:
		return spec.PersistentVolume.Spec.HostPath == nil && spec.PersistentVolume.Spec.NFS == nil
	}
	return spec.Volume.HostPath == nil && spec.Volume.NFS == nil
}

func hasGroup(pod *v1.Pod) bool {
	return pod.Spec.SecurityContext != nil && pod.Spec.SecurityContext.FSGroup != nil
}
