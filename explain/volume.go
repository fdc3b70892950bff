package explain

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/internal/migration"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/pvcontroller/protection"
	"github.com/storagesim/storagesim/trace"
)

func (x *explainer) volume(name string) error {
	volume, err := x.Client.CoreV1().PersistentVolumes().Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return x.within("pv/"+name, func() error {
		x.found.Objects = append(x.found.Objects, "pv/"+name)
		x.say("pv %s is %s", name, volume.Status.Phase)
		x.notModelled("PersistentVolume", volume)
		if volume.DeletionTimestamp != nil {
			x.setState(false, "being deleted")
		}
		x.setState(volume.Status.Phase == v1.VolumeBound || volume.Status.Phase == v1.VolumeAvailable, "%s", volume.Status.Phase)
		if err := x.owner(volume); err != nil {
			return err
		}
		if phase := volume.Status.Phase; volume.DeletionTimestamp == nil && (phase == v1.VolumeBound || phase == v1.VolumeAvailable) {
			x.outOfReach(volume, "it")
		}
		if volume.Status.Phase == v1.VolumePending {
			x.needs(pvcontroller.ActorName, "binds volumes")
		}
		if volume.Status.Phase == v1.VolumeReleased || volume.Status.Phase == v1.VolumeFailed {
			x.reclaim(volume)
			x.panicked(volume, volume.Annotations[binding.AnnDynamicallyProvisioned])
			x.volumePanics(volume.Spec.CSI, "")
			if volume.Spec.ClaimRef != nil {
				x.helperPods(volume.Spec.ClaimRef.UID)
			}
		}
		x.keptByAttachments(volume)
		if volume.DeletionTimestamp != nil {
			x.waitsForFinalizers(volume)
			switch claim := volume.Spec.ClaimRef; {
			case !slices.Contains(volume.Finalizers, "kubernetes.io/pv-protection"):
			case volume.Status.Phase == v1.VolumeBound && claim != nil:
				x.waits(InUse, claimRef(claim.Namespace, claim.Name), "delete its claim", "pvc %s/%s is bound to it", claim.Namespace, claim.Name)
			default:
				x.needs(protection.PVActorName, "lets a volume go that no claim is bound to")
			}
			x.foreignFinalizers(volume)
		}
		x.events("pv/"+name, "PersistentVolume", volume.UID, "")
		return nil
	})
}

// owner says which claim a volume belongs to.
func (x *explainer) owner(volume *v1.PersistentVolume) error {
	ref := volume.Spec.ClaimRef
	if ref == nil {
		return nil
	}
	claim, err := x.Client.CoreV1().PersistentVolumeClaims(ref.Namespace).Get(x.ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		x.say("  it belongs to pvc %s/%s, which is gone", ref.Namespace, ref.Name)
	case err != nil:
		return err
	case ref.UID == "":
		x.say("  it is reserved for pvc %s/%s", ref.Namespace, ref.Name)
	case ref.UID != claim.UID:
		x.say("  it belongs to an earlier pvc %s/%s (UID %s), not to the one of that name now (UID %s)", ref.Namespace, ref.Name, ref.UID, claim.UID)
	default:
		x.say("  it belongs to pvc %s/%s, which is %s", ref.Namespace, ref.Name, claim.Status.Phase)
		x.returned(claim, volume)
	}
	return nil
}

// reclaim says what becomes of a volume whose claim is gone.
func (x *explainer) reclaim(volume *v1.PersistentVolume) {
	policy := volume.Spec.PersistentVolumeReclaimPolicy
	text, by := "no PV controller runs here", ""
	if x.PVController != nil {
		text, by = pvcontroller.Explain(*x.PVController, volume)
	}
	runs := by == "" || x.provisionerOf(by) >= 0
	if !runs {
		text += ", and does not run in this cluster"
	}
	x.say("  its reclaim policy is %s: %s", policy, text)
	cause := fmt.Sprintf("its claim is gone, and its reclaim policy is %s: %s", policy, text)
	warning, failed := x.lastWarning("PersistentVolume", volume.UID, "VolumeFailedDelete", "VolumeDeleteBlocked", "VolumeFailedRecycle",
		"VolumeUnknownReclaimPolicy")
	x.silently(func() {
		switch {
		case policy == v1.PersistentVolumeReclaimRetain:
			x.waits(Retained, "", "delete the volume, or remove spec.claimRef to use it again", "%s", cause)
		case x.PVController == nil || !x.needs(pvcontroller.ActorName, "reclaims volumes"):
		case !runs:
			x.ill(ActorMissing, "actor/"+by, "run "+by, "%s", cause)
		case by != "" && !x.provisionerRuns(by):
		case failed:
			x.ill(ReclaimFailed, "", "remove the cause that the message names, or delete what is behind the volume by hand", "%s", warning.Message)
		default:
			x.underWay(Unknown, "", "%s", cause)
		}
	})
}

// silently calls find and keeps the causes that it finds, but not their lines: the chain has told them in other words.
func (x *explainer) silently(find func()) {
	said := len(x.lines)
	find()
	x.lines = x.lines[:said]
}

// keptByAttachments names the VolumeAttachments of a volume that no pod is to use.
func (x *explainer) keptByAttachments(volume *v1.PersistentVolume) {
	if volume.Status.Phase != v1.VolumeReleased && volume.DeletionTimestamp == nil {
		return
	}
	list, err := x.Client.StorageV1().VolumeAttachments().List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		va := &list.Items[i]
		if source := va.Spec.Source.PersistentVolumeName; source == nil || *source != volume.Name {
			continue
		}
		v := Verdict{Class: UnderWay, Code: Attached, Object: "volumeattachment/" + va.Name, Field: "spec.nodeName", Value: va.Spec.NodeName}
		if volume.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimRetain && volume.DeletionTimestamp == nil {
			x.say("  volumeattachment %s keeps it on node %s", va.Name, va.Spec.NodeName)
			continue
		}
		if why, ok := x.aside(func(y *explainer) error { return y.attachment(va.Name) }); ok && why.Class != UnderWay {
			v.Class, v.Do = why.Class, why.Do
			v.Cause = fmt.Sprintf("volumeattachment %s keeps it on node %s: %s", va.Name, va.Spec.NodeName, why.Cause)
		} else {
			v.Cause = fmt.Sprintf("volumeattachment %s keeps it on node %s", va.Name, va.Spec.NodeName)
		}
		x.blame(v)
	}
}

// attachment explains a VolumeAttachment.
func (x *explainer) attachment(name string) error {
	va, err := x.Client.StorageV1().VolumeAttachments().Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return x.within("volumeattachment/"+name, func() error {
		x.found.Objects = append(x.found.Objects, x.subject)
		state := "not attached"
		switch {
		case va.DeletionTimestamp != nil:
			state = "being detached"
		case va.Status.Attached:
			state = "attached"
		}
		x.setState(state == "attached", "%s", state)
		what := "an inline volume"
		if pv := va.Spec.Source.PersistentVolumeName; pv != nil {
			what = "pv " + *pv
		}
		x.say("volumeattachment %s is %s: %s and node %s, by %s", name, state, what, va.Spec.NodeName, va.Spec.Attacher)
		actor := "csi-attacher/" + va.Spec.Attacher
		switch {
		case va.DeletionTimestamp != nil && va.Status.DetachError != nil:
			x.ill(DetachFailed, "actor/"+actor, "mend what the driver says", "it cannot be detached: %s", oneLine(va.Status.DetachError.Message))
		case va.DeletionTimestamp == nil && !va.Status.Attached && va.Status.AttachError != nil:
			x.ill(AttachFailed, "actor/"+actor, attachdetach.DoOf(va.Status.AttachError), "it cannot be attached: %s", oneLine(va.Status.AttachError.Message))
			x.unregistered(va.Spec.Attacher, va.Spec.NodeName)
			x.volumePanics(x.attachedSource(va), va.Spec.NodeName)
		}
		if state != "attached" && x.attacherIsHere(va.Spec.Attacher) && x.needs(actor, "attaches and detaches volumes") {
			if why := x.attacherWaits(va.Spec.Attacher); why != "" {
				x.ill(ActorIdle, "actor/"+actor, "remove the cause that the message names", "%s", why)
			}
			x.needs("csi-driver/"+va.Spec.Attacher, "is the driver's controller")
		}
		if va.DeletionTimestamp != nil {
			x.waitsForFinalizers(va)
		} else if va.Status.Attached {
			x.kept(va)
		}
		x.events(x.subject, "VolumeAttachment", va.UID, "")
		return nil
	})
}

// attacherIsHere reports whether a driver's sidecars are to run as actors of this cluster: those of a driver at an endpoint of its own
// may be programs elsewhere.
func (w World) attacherIsHere(driver string) bool {
	return slices.Contains(w.Actors, "csi-attacher/"+driver) || !slices.Contains(w.Actors, "csi-driver/"+driver)
}

// kept says why an attachment that no pod needs is still there.
func (x *explainer) kept(va *storagev1.VolumeAttachment) {
	pv := va.Spec.Source.PersistentVolumeName
	if pv == nil {
		return
	}
	why := attachdetach.ExplainKept(x.attachDetach(), va, x.Objects())
	x.say("  %s", why)
	if volume, err := x.Client.CoreV1().PersistentVolumes().Get(x.ctx, *pv, metav1.GetOptions{}); err == nil && !x.usedOn(volume, va.Spec.NodeName) {
		x.notUnmounted(volume, va.Spec.NodeName)
	}
}

// usedOn reports whether a pod on a node uses the claim of a volume.
func (x *explainer) usedOn(volume *v1.PersistentVolume, node string) bool {
	claim := volume.Spec.ClaimRef
	return claim != nil && slices.ContainsFunc(x.Objects(), func(obj runtime.Object) bool {
		pod, ok := obj.(*v1.Pod)
		return ok && pod.Namespace == claim.Namespace && pod.Spec.NodeName == node && !binding.IsPodTerminated(pod) && slices.Contains(claimNames(pod), claim.Name)
	})
}

// notUnmounted blames the driver on a node that failed when it was last asked to unmount a volume.
func (x *explainer) notUnmounted(volume *v1.PersistentVolume, node string) {
	if volume.Spec.CSI == nil {
		return
	}
	for _, entry := range slices.Backward(x.Log.Entries()) {
		rpc, ok := entry.Record.(trace.RPC)
		if !ok || rpc.Service != "csi.v1.Node" || rpc.Machine != "node/"+node || rpc.Request["volume_id"] != volume.Spec.CSI.VolumeHandle {
			continue
		}
		if rpc.Code != "OK" && (rpc.Method == "NodeUnstageVolume" || rpc.Method == "NodeUnpublishVolume") {
			x.ill(UnmountFailed, "actor/csi-driver/"+rpc.Driver+"/"+node, "mend what the driver says; the kubelet tries again",
				"no pod uses it on node %s, and the driver there fails to unmount it: %s: %s: %s",
				node, rpc.Method, rpc.Code, oneLine(rpc.Err))
		}
		return
	}
}

func (w World) attachDetach() attachdetach.Config {
	if w.AttachDetach == nil {
		return attachdetach.Config{}
	}
	return *w.AttachDetach
}

// storageClass explains a StorageClass: whether a provisioner makes its volumes.
func (x *explainer) storageClass(name string) error {
	class, err := x.Client.StorageV1().StorageClasses().Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return x.within("storageclass/"+name, func() error {
		x.found.Objects = append(x.found.Objects, x.subject)
		mode := "at once (Immediate)"
		if isDelayed(class) {
			mode = "when the first pod that uses the claim is scheduled (WaitForFirstConsumer)"
		}
		x.say("storageclass %s: provisioner %s, binds %s", name, class.Provisioner, mode)
		x.setState(true, "usable")
		if driver := migration.Driver(class.Provisioner); driver != "" {
			x.say("  CSI driver %s has replaced this plugin", driver)
		}
		switch p := provisionerOf(class); {
		case p == binding.NotSupportedProvisioner:
			x.say("  it has no provisioner: a user creates its volumes")
		case !external(class):
			x.blame(Verdict{
				Class: Ill, Code: PluginMissing, Field: "provisioner", Value: p, Do: "make the class anew with a provisioner that runs",
				Cause: fmt.Sprintf("its provisioner %s is an in-tree plugin that %s does not have", p, pvcontroller.ActorName),
			})
		case external(class) && x.provisionerOf(p) < 0:
			x.missingProvisioner(p)
			x.blame(Verdict{
				Class: Ill, Code: ActorMissing, Object: "actor/" + p, Field: "provisioner", Value: p, Do: "run it",
				Cause: fmt.Sprintf("its provisioner %s does not run in this cluster", p),
			})
		case external(class):
			x.provisionerRuns(p)
		}
		if v, ok := worst(x.findings); ok && v.Class == Ill {
			x.state = "not usable"
		}
		claims, err := x.Client.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List(x.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		total, bound := 0, 0
		for i := range claims.Items {
			if binding.GetPersistentVolumeClaimClass(&claims.Items[i]) == name {
				total++
				if claims.Items[i].Status.Phase == v1.ClaimBound {
					bound++
				}
			}
		}
		x.say("  claims of this class: %d, of which %d are Bound", total, bound)
		return nil
	})
}

// foreignFinalizers blames the finalizers that no component of Kubernetes removes.
func (x *explainer) foreignFinalizers(obj metav1.Object) {
	for _, f := range obj.GetFinalizers() {
		if isKubernetes(f) {
			continue
		}
		x.blame(Verdict{
			Class: Ill, Code: Finalizer, Field: "metadata.finalizers", Value: f, Do: "let the program that set it do its work, or remove it by hand if that is gone",
			Cause: fmt.Sprintf("finalizer %s is not removed, and no component of Kubernetes does that", f),
		})
	}
}

// isKubernetes reports whether a component of Kubernetes removes a finalizer, sidecars included.
func isKubernetes(finalizer string) bool {
	for _, prefix := range []string{"external-attacher/", "external-provisioner.volume.kubernetes.io/", "snapshot.storage.kubernetes.io/",
		"groupsnapshot.storage.kubernetes.io/",
		"provisioner.storage.kubernetes.io/", "kubernetes.io/", "foregroundDeletion", "orphan"} {
		if strings.HasPrefix(finalizer, prefix) {
			return true
		}
	}
	return false
}
