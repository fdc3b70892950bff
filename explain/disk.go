package explain

import (
	"net"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/internal/migration"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/volume"
)

// missing finds what the volumes of a pod need and is not there: a plugin of the
// kubelet, a directory of the node, an export of an NFS server.
func (x *explainer) missing(pod *v1.Pod) {
	cfg, ok := x.Kubelets[pod.Spec.NodeName]
	if !ok || pod.Status.Phase != v1.PodPending {
		return
	}
	var specs []*volume.Spec
	for i := range pod.Spec.Volumes {
		if spec := x.spec(pod, &pod.Spec.Volumes[i]); spec != nil {
			specs = append(specs, spec)
			x.missingExport(spec)
		}
	}
	why := kubelet.Explain(cfg, specs)
	for _, text := range why.Unsupported {
		x.ill(NoPlugin, "", "use a volume of another kind, or a kubelet that has the plugin", "%s", text)
	}
	for _, dir := range why.Directories {
		x.silently(func() {
			x.ill(DirectoryMissing, "node/"+pod.Spec.NodeName, "create it on the node", "node %s lacks directory %s", pod.Spec.NodeName, dir)
		})
		x.found.Directories = append(x.found.Directories, NodeDirectory{pod.Spec.NodeName, dir})
	}
}

// missingExport notes a directory that no NFS server exports.
func (x *explainer) missingExport(spec *volume.Spec) {
	var source *v1.NFSVolumeSource
	if spec.PersistentVolume != nil {
		source = spec.PersistentVolume.Spec.NFS
	} else {
		source = spec.Volume.NFS
	}
	if source == nil || x.HasExport(source.Server, source.Path) {
		return
	}
	name := source.Server
	if ip := net.ParseIP(name); ip != nil && ip.To4() == nil {
		name = "[" + name + "]"
	}
	export := name + ":" + source.Path
	x.silently(func() {
		x.ill(ExportMissing, "", "add an NFS server that exports it", "no NFS server exports %s", export)
	})
	x.found.Exports = append(x.found.Exports, export)
}

// spec returns a volume of a pod, or the volume bound to its claim; nil if no volume is bound yet.
func (x *explainer) spec(pod *v1.Pod, v *v1.Volume) *volume.Spec {
	name := binding.ClaimOfVolume(pod, v)
	if name == "" {
		if pv, err := migration.Inline(v, pod.Namespace); err == nil && pv != nil {
			return &volume.Spec{PersistentVolume: pv, Inline: true}
		}
		return volume.NewSpecFromVolume(v)
	}
	claim, err := x.Client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(x.ctx, name, metav1.GetOptions{})
	if err != nil || claim.Spec.VolumeName == "" {
		return nil
	}
	pv, err := x.Client.CoreV1().PersistentVolumes().Get(x.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	if pv, err = migration.Volume(pv); err != nil {
		return nil
	}
	return volume.NewSpecFromPersistentVolume(pv, false)
}
