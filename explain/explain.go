package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/internal/gaps"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/trace"
)

// Explanation is an explanation in words, with the missing things as values for programs.
type Explanation struct {
	// Text is the explanation in words.
	Text string
	// Objects lists the explained objects, such as "pod/default/web": the requested one, and
	// the claims of a pod.
	Objects []string
	// Provisioners are the names of provisioners that should make a volume and do not
	// run in this cluster.
	Provisioners []string
	// Directories lists directories that a volume of a pod needs and that its node lacks.
	Directories []NodeDirectory
	// Exports are the NFS exports, such as "nas:/srv", that a volume of a pod needs and
	// that no server of this cluster has.
	Exports []string
}

// NodeDirectory is a directory of a node.
type NodeDirectory struct{ Node, Path string }

// World is the cluster as an explanation sees it.
type World struct {
	// Client reads the API's objects. Nothing is written.
	Client kubernetes.Interface
	// Objects are all objects of the API. They are shared and not changed.
	Objects func() []runtime.Object
	// Log is the trace, and Start the time of the start.
	Log   *trace.Log
	Start time.Time
	// Down are the actors whose process is down, with when each starts again.
	Down map[string]time.Time
	// HasExport says whether an NFS server exports a directory.
	HasExport func(server, path string) bool
	// Schedulers and Provisioners are the configurations of those that run, Kubelets by
	// node. PVController is nil where no PV controller runs.
	Schedulers   []scheduler.Config
	Provisioners []provisioner.Config
	// Waits says why a CSI driver's provisioner works on nothing at all, or "", by the
	// driver's name. What it configures the library with is in Provisioners.
	Waits map[string]func(log *trace.Log) string
	// AttacherWaits says the same of a driver's attacher.
	AttacherWaits map[string]func(log *trace.Log) string
	Kubelets      map[string]kubelet.Config
	PVController  *pvcontroller.Config
	// AttachDetach is nil where no attach/detach controller runs.
	AttachDetach *attachdetach.Config
	// SnapshotController says whether one runs, and Snapshotters are the drivers that have a
	// csi-snapshotter.
	SnapshotController bool
	Snapshotters       []string
}

// ErrKind is the error for objects of any other kind.
var ErrKind = errors.New("only pods, claims (pvc), volumes (pv), volumesnapshots, their contents and volumegroupsnapshots can be explained")

// Object says why an object is as it is. kind is "Pod", "PersistentVolumeClaim",
// "PersistentVolume", "VolumeSnapshot", "VolumeSnapshotContent" or "VolumeGroupSnapshot"; namespace is "" for a volume and
// a content.
func Object(ctx context.Context, w World, kind, namespace, name string) (Explanation, error) {
	x := &explainer{World: w, ctx: ctx}
	var err error
	switch kind {
	case "PersistentVolumeClaim":
		err = x.claim(namespace, name)
	case "PersistentVolume":
		err = x.volume(name)
	case "Pod":
		err = x.pod(namespace, name)
	case "VolumeSnapshot":
		err = x.snapshot(namespace, name)
	case snapshots.GroupKind:
		err = x.groupSnapshot(namespace, name)
	case "VolumeSnapshotContent":
		err = x.snapshotContent(name)
	default:
		err = ErrKind
	}
	x.found.Text = x.b.String()
	return x.found, err
}

// explainer collects the lines of an explanation.
type explainer struct {
	World
	ctx context.Context
	b   strings.Builder
	of  string // the pod that is explained, if it is one

	indent string // before each line
	found  Explanation
}

// notModelled says which fields of an object a cluster acts on and the simulation does not.
func (x *explainer) notModelled(kind string, obj runtime.Object) {
	for _, use := range gaps.Of(kind, obj) {
		x.say("  not modelled: %s: %s", strings.Join(use.Paths, ", "), use.Sentence())
	}
}

func (x *explainer) say(format string, args ...any) {
	fmt.Fprintf(&x.b, x.indent+format+"\n", args...)
}

// claim explains a claim: its class, a verdict for every volume, its events and
// the pods that wait for it.
func (x *explainer) claim(ns, name string) error {
	claim, err := x.Client.CoreV1().PersistentVolumeClaims(ns).Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	x.found.Objects = append(x.found.Objects, "pvc/"+ns+"/"+name)
	x.say("pvc %s/%s is %s%s", ns, name, claim.Status.Phase, boundWhere(claim))
	x.notModelled("PersistentVolumeClaim", claim)
	switch claim.Status.Phase {
	case v1.ClaimPending:
		if err := x.pending(claim); err != nil {
			return err
		}
	case v1.ClaimLost:
		if err := x.lost(claim); err != nil {
			return err
		}
	}
	x.waitsForFinalizers(claim)
	x.events("PersistentVolumeClaim", claim.UID, "")
	pods, err := x.Client.CoreV1().Pods(ns).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; slices.Contains(claimNames(pod), name) && pod.Name != x.of {
			x.say("  it is used by pod %s/%s, which is %s%s", ns, pod.Name, pod.Status.Phase, scheduledWhere(pod))
		}
	}
	return nil
}

// lost says what became of the volume of a claim that has lost it.
func (x *explainer) lost(claim *v1.PersistentVolumeClaim) error {
	volume, err := x.Client.CoreV1().PersistentVolumes().Get(x.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		x.say("  it was bound to volume %s, which is gone", claim.Spec.VolumeName)
	case err != nil:
		return err
	case volume.Spec.ClaimRef != nil && volume.Spec.ClaimRef.UID != claim.UID:
		x.say("  it was bound to volume %s, which belongs to pvc %s/%s now", volume.Name, volume.Spec.ClaimRef.Namespace, volume.Spec.ClaimRef.Name)
	default:
		x.say("  it was bound to volume %s, which exists again", volume.Name)
	}
	return nil
}

func (x *explainer) pending(claim *v1.PersistentVolumeClaim) error {
	volumes, err := x.Client.CoreV1().PersistentVolumes().List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if x.PVController == nil {
		x.say("  no PV controller runs here, so it is not bound")
	}
	class, delayed, err := x.class(claim, reservedFor(claim, volumes.Items))
	if err != nil {
		return err
	}
	if claim.Spec.VolumeName != "" {
		x.say("  it asks for volume %s and no other", claim.Spec.VolumeName)
	}
	var pointers []*v1.PersistentVolume
	for i := range volumes.Items {
		if name := claim.Spec.VolumeName; name == "" || name == volumes.Items[i].Name {
			pointers = append(pointers, &volumes.Items[i])
		}
	}
	verdicts, err := binding.Explain(claim, pointers, nil, nil, delayed)
	if err != nil {
		x.say("  %v", err)
		return nil
	}
	if class != nil && external(class) {
		x.provisioner(claim, class.Provisioner, delayed)
		x.provisioning(claim, class.Provisioner, volumes.Items)
	}
	switch {
	case len(verdicts) > 0:
	case claim.Spec.VolumeName != "":
		x.say("  there is no such volume")
	default:
		x.say("  there are no volumes")
	}
	for _, v := range verdicts {
		x.say("  volume %s", v)
	}
	if delayed && claim.Annotations[binding.AnnSelectedNode] == "" {
		return x.bypassed(claim)
	}
	return nil
}

// reservedFor names the volumes that are reserved for a claim, of any class; "" if no volume is.
func reservedFor(claim *v1.PersistentVolumeClaim, volumes []v1.PersistentVolume) string {
	var names []string
	for i := range volumes {
		ref := volumes[i].Spec.ClaimRef
		if ref != nil && ref.Namespace == claim.Namespace && ref.Name == claim.Name && (ref.UID == "" || ref.UID == claim.UID) {
			names = append(names, volumes[i].Name)
		}
	}
	return strings.Join(names, ", ")
}

// class says which class the claim has and what that means. reserved are the
// volumes reserved for the claim.
func (x *explainer) class(claim *v1.PersistentVolumeClaim, reserved string) (*storagev1.StorageClass, bool, error) {
	name := binding.GetPersistentVolumeClaimClass(claim)
	or := ""
	if reserved != "" {
		or = fmt.Sprintf(", and %s, which is reserved for it", reserved)
	}
	if name == "" {
		x.say("  it has no class, so it can only be bound to a volume without a class%s", or)
		return nil, false, nil
	}
	class, err := x.Client.StorageV1().StorageClasses().Get(x.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		x.say("  its class %q does not exist, so it can only be bound to a volume that names the same class%s", name, or)
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	delayed := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	switch {
	case delayed:
		x.say("  its class %s binds when the first pod that uses the claim is scheduled (WaitForFirstConsumer)", name)
	case class.Provisioner == binding.NotSupportedProvisioner:
		x.say("  its class %s has no provisioner, so a user must create a volume for it", name)
	default:
		x.say("  its class %s binds at once (Immediate)", name)
	}
	return class, delayed, nil
}

func external(class *storagev1.StorageClass) bool {
	return !strings.HasPrefix(class.Provisioner, "kubernetes.io/")
}

func (x *explainer) volume(name string) error {
	volume, err := x.Client.CoreV1().PersistentVolumes().Get(x.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	x.found.Objects = append(x.found.Objects, "pv/"+name)
	x.say("pv %s is %s", name, volume.Status.Phase)
	x.notModelled("PersistentVolume", volume)
	if ref := volume.Spec.ClaimRef; ref != nil {
		claim, err := x.Client.CoreV1().PersistentVolumeClaims(ref.Namespace).Get(x.ctx, ref.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			x.say("  it belongs to pvc %s/%s, which is gone", ref.Namespace, ref.Name)
		case err != nil:
			return err
		case ref.UID == "":
			x.say("  it is reserved for pvc %s/%s", ref.Namespace, ref.Name)
		case ref.UID != claim.UID:
			x.say("  it belongs to an earlier pvc %s/%s, not to the one of that name now", ref.Namespace, ref.Name)
		default:
			x.say("  it belongs to pvc %s/%s, which is %s", ref.Namespace, ref.Name, claim.Status.Phase)
			x.returned(claim, volume)
		}
	}
	if volume.Status.Phase == v1.VolumeReleased {
		x.reclaim(volume)
		x.panicked(volume, volume.Annotations[binding.AnnDynamicallyProvisioned])
		x.helperPods(volume.Spec.ClaimRef.UID)
	}
	x.waitsForFinalizers(volume)
	x.events("PersistentVolume", volume.UID, "")
	return nil
}

// reclaim says what becomes of a volume whose claim is gone.
func (x *explainer) reclaim(volume *v1.PersistentVolume) {
	policy := volume.Spec.PersistentVolumeReclaimPolicy
	if x.PVController == nil {
		x.say("  its reclaim policy is %s; no PV controller runs here", policy)
		return
	}
	text, by := pvcontroller.Explain(*x.PVController, volume)
	if by != "" && !slices.ContainsFunc(x.Provisioners, func(cfg provisioner.Config) bool { return cfg.AnswersTo(by) }) {
		text += ", and does not run in this cluster"
	}
	x.say("  its reclaim policy is %s: %s", policy, text)
}

// events says what was said of an object, oldest first, but for the message that
// is known already.
func (x *explainer) events(kind string, uid types.UID, known string) {
	events, err := x.Client.CoreV1().Events(metav1.NamespaceAll).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	slices.SortStableFunc(events.Items, func(a, b v1.Event) int { return lastSeen(a).Compare(lastSeen(b)) })
	for _, e := range events.Items {
		if e.InvolvedObject.Kind != kind || e.InvolvedObject.UID != uid || e.Message == known {
			continue
		}
		times, count := "", e.Count
		if e.Series != nil {
			count = e.Series.Count
		}
		if count > 1 {
			times = fmt.Sprintf(" (%d times)", count)
		}
		said := x.sayer(cmp.Or(e.Source.Component, e.ReportingController))
		x.say("  %s said %s %s%s: %s", said, e.Type, e.Reason, times, strings.ReplaceAll(e.Message, "\n", "; "))
	}
}

// lastSeen returns the second in which an event was last said, as far as it says so itself.
func lastSeen(e v1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Truncate(time.Second)
	}
	return cmp.Or(e.LastTimestamp.Time, e.EventTime.Truncate(time.Second))
}

// sayer returns a component without what tells its instances apart: a provisioner says
// "<name>_<host>_<uuid>".
func (w World) sayer(component string) string {
	for _, p := range w.Provisioners {
		if strings.HasPrefix(component, p.Name+"_") {
			return p.Name
		}
	}
	return component
}

func boundWhere(claim *v1.PersistentVolumeClaim) string {
	if claim.Status.Phase == v1.ClaimBound {
		return " to pv " + claim.Spec.VolumeName
	}
	return ""
}
