package attachdetach

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// Unattached says why a volume is not at the node of a pod.
type Unattached struct {
	// Volume is the PersistentVolume, and Driver the CSI driver for whose attacher it waits, if it does.
	Volume, Driver string
	// Object is the object in which the cause is: "node/node-1", "volumeattachment/csi-...", "pod/default/web".
	Object string
	// Text is the cause, as the rest of a sentence that begins with the volume, and Do what to do about it, or "".
	Text, Do string
	// Stuck is set if nothing changes until a user does something.
	Stuck bool
}

// Explain says which volumes of a pod are not attached to its node yet, and why. pod is its key,
// objects holds all objects of the API, cfg is the controller's. attacher, if not nil, says why a driver's attacher
// works on nothing, or "". Explain returns nothing for a pod whose volumes are attached, or need not be.
func Explain(cfg Config, pod string, objects []runtime.Object, attacher func(driver string) string) []Unattached {
	w := newSnapshot(cfg, objects)
	if w.attacher = attacher; attacher == nil {
		w.attacher = func(string) string { return "" }
	}
	p := w.pods[pod]
	if p == nil || p.Spec.NodeName == "" || binding.IsPodTerminated(p) {
		return nil
	}
	var said []Unattached
	for i := range p.Spec.Volumes {
		if pv := w.volumeOf(p, &p.Spec.Volumes[i]); pv != nil {
			if why, found := w.unattached(p, pv); found {
				why.Volume = pv.Name
				said = append(said, why)
			}
		}
	}
	return said
}

// snapshot holds the API's objects by their keys.
type snapshot struct {
	cfg         Config
	attacher    func(driver string) string
	pods        map[string]*v1.Pod
	claims      map[string]*v1.PersistentVolumeClaim
	volumes     map[string]*v1.PersistentVolume
	nodes       map[string]*v1.Node
	drivers     map[string]*storagev1.CSIDriver
	attachments map[string]*storagev1.VolumeAttachment
}

func newSnapshot(cfg Config, objects []runtime.Object) *snapshot {
	w := &snapshot{
		cfg: cfg, pods: map[string]*v1.Pod{}, claims: map[string]*v1.PersistentVolumeClaim{}, volumes: map[string]*v1.PersistentVolume{},
		nodes: map[string]*v1.Node{}, drivers: map[string]*storagev1.CSIDriver{}, attachments: map[string]*storagev1.VolumeAttachment{},
	}
	for _, obj := range objects {
		switch obj := obj.(type) {
		case *v1.Pod:
			w.pods[control.Key(obj)] = obj
		case *v1.PersistentVolumeClaim:
			w.claims[control.Key(obj)] = obj
		case *v1.PersistentVolume:
			w.volumes[obj.Name] = translated(obj)
		case *v1.Node:
			w.nodes[obj.Name] = obj
		case *storagev1.CSIDriver:
			w.drivers[obj.Name] = obj
		case *storagev1.VolumeAttachment:
			w.attachments[obj.Name] = obj
		}
	}
	return w
}

// volumeOf returns the PersistentVolume behind a volume of a pod if it has to be attached, else nil.
func (w *snapshot) volumeOf(pod *v1.Pod, volume *v1.Volume) *v1.PersistentVolume {
	pv := inline(pod, volume)
	if claim := w.claims[pod.Namespace+"/"+binding.ClaimOfVolume(pod, volume)]; claim != nil && isBound(claim) {
		pv = w.volumes[claim.Spec.VolumeName]
	}
	if pv == nil || pv.Spec.CSI == nil || skipsAttach(w.drivers[pv.Spec.CSI.Driver]) {
		return nil
	}
	return pv
}

// DoOf says what to do about the error in a VolumeAttachment's status: most are the driver's, and one is the attacher's own.
//
// Upstream: csi_handler.go getNodeID, v4.13.
func DoOf(failure *storagev1.VolumeError) string {
	if failure != nil && strings.HasPrefix(failure.Message, "CSINode ") && strings.Contains(failure.Message, " does not contain driver ") {
		return "see that the driver registers on the node"
	}
	return "mend what the driver says"
}

// unattached says why a volume is not at its pod's node; false if it is.
func (w *snapshot) unattached(pod *v1.Pod, pv *v1.PersistentVolume) (Unattached, bool) {
	source, name := pv.Spec.CSI, pod.Spec.NodeName
	node := w.nodes[name]
	if node == nil {
		return Unattached{Object: "node/" + name, Stuck: true, Text: fmt.Sprintf("is not attached: there is no node %s", name)}, true
	}
	if _, managed := node.Annotations[controllerManaged]; !managed {
		return Unattached{Object: "node/" + name, Stuck: true, Text: fmt.Sprintf("is not attached: node %s lacks the annotation %s", name, controllerManaged)}, true
	}
	va := w.attachments[binding.AttachmentName(source.VolumeHandle, source.Driver, name)]
	if va == nil {
		if other := w.elsewhere(pv, name); other != nil {
			return w.heldBy(pv, other), true
		}
		return Unattached{Object: "node/" + name, Text: fmt.Sprintf("is not attached to node %s, and there is no volumeattachment yet", name)}, true
	}
	listed := slices.ContainsFunc(node.Status.VolumesAttached, func(v v1.AttachedVolume) bool { return v.Name == uniqueVolumeName(source) })
	attached, err := verifyAttachmentStatus(va)
	why := Unattached{Driver: source.Driver, Object: "volumeattachment/" + va.Name}
	switch {
	case va.DeletionTimestamp != nil:
		why.Text = fmt.Sprintf("is being detached from node %s: volumeattachment %s waits for its finalizers: %s", name, va.Name, strings.Join(va.Finalizers, ", "))
		if failure := va.Status.DetachError; failure != nil {
			why.Stuck, why.Do, why.Text = true, "mend what the driver says", why.Text+"; the driver says: "+failure.Message
		}
	case err != nil:
		why.Stuck, why.Do, why.Text = true, DoOf(va.Status.AttachError),
			fmt.Sprintf("cannot be attached to node %s: volumeattachment %s says: %v", name, va.Name, err)
		if other := w.elsewhere(pv, name); other != nil { // the driver can do no other
			held := w.heldBy(pv, other)
			why.Object, why.Do, why.Text = held.Object, held.Do, why.Text+"; it "+held.Text
		}
	case !attached:
		why.Text = fmt.Sprintf("is not attached to node %s yet: volumeattachment %s waits for the attacher of driver %s to set status.attached", name,
			va.Name, source.Driver)
		if idle := w.attacher(source.Driver); idle != "" {
			why.Stuck, why.Text = true, why.Text+"; "+idle
		}
	case !listed:
		return Unattached{Object: "node/" + name, Text: fmt.Sprintf("is attached to node %s, whose status.volumesAttached does not list it yet", name)}, true
	case !slices.Contains(node.Status.VolumesInUse, uniqueVolumeName(source)):
		return Unattached{
			Object: "node/" + name,
			Text: fmt.Sprintf("is attached to node %s, whose kubelet has not yet said in status.volumesInUse that it will use it; it writes its status every 10 s",
				name),
		}, true
	default:
		return Unattached{}, false
	}
	return why, true
}

// elsewhere returns the confirmed attachment at another node that keeps a volume for one node away, of several the first by the node's name; else nil.
func (w *snapshot) elsewhere(pv *v1.PersistentVolume, node string) (first *storagev1.VolumeAttachment) {
	if isMultiAttachAllowed(pv) {
		return nil
	}
	for _, va := range w.attachments {
		if source := va.Spec.Source.PersistentVolumeName; source != nil && *source == pv.Name && va.Spec.NodeName != node && va.Status.Attached &&
			(first == nil || va.Spec.NodeName < first.Spec.NodeName) {
			first = va
		}
	}
	return first
}

// heldBy says why another node has a volume for one node, and when it will be detached.
func (w *snapshot) heldBy(pv *v1.PersistentVolume, va *storagev1.VolumeAttachment) Unattached {
	held := w.holds(pv, va)
	held.Text = fmt.Sprintf("is attached to node %s, and its access modes %v allow one node only: %s", va.Spec.NodeName, pv.Spec.AccessModes, held.Text)
	return held
}

// holds says what keeps a volume attached to a node.
func (w *snapshot) holds(pv *v1.PersistentVolume, va *storagev1.VolumeAttachment) Unattached {
	name := va.Spec.NodeName
	held := Unattached{Volume: pv.Name, Object: "volumeattachment/" + va.Name}
	if users := w.users(pv, name); len(users) > 0 {
		held.Object, held.Stuck, held.Text = "pod/"+users[0], true, "it is used there by pod "+strings.Join(users, ", ")
		held.Do = "end that pod, place both on one node, or use a volume that allows ReadWriteMany"
		return held
	}
	node := w.nodes[name]
	if node == nil {
		node = &v1.Node{} // gone, so not ready
	}
	h := healthOf(node)
	switch inUse := slices.Contains(node.Status.VolumesInUse, uniqueVolumeName(pv.Spec.CSI)); {
	case !inUse || h.outOfService:
		held.Text = "it is about to be detached"
	case judge(w.cfg, w.cfg.maxWaitForUnmount()+1, inUse, h).detach:
		held.Text = fmt.Sprintf("no pod uses it there, and the node is not ready; it is detached %s after its last pod has gone, "+
			"or at once if the node is tainted %s",
			w.cfg.maxWaitForUnmount(), v1.TaintNodeOutOfService)
		held.Object, held.Do = "node/"+name, fmt.Sprintf("wait, or taint node %s %s if it is down for good", name, v1.TaintNodeOutOfService)
	default:
		held.Text = "no pod uses it there; it is detached when the node's kubelet has unmounted it and says so in status.volumesInUse"
		held.Object = "node/" + name
	}
	return held
}

// ExplainKept says what keeps a VolumeAttachment of a PersistentVolume, as a sentence.
func ExplainKept(cfg Config, va *storagev1.VolumeAttachment, objects []runtime.Object) string {
	w := newSnapshot(cfg, objects)
	name := va.Spec.Source.PersistentVolumeName
	if name == nil || w.volumes[*name] == nil || w.volumes[*name].Spec.CSI == nil {
		return "its volume is gone"
	}
	return w.holds(w.volumes[*name], va).Text
}

// users returns the pods that use a volume at a node, in order.
func (w *snapshot) users(pv *v1.PersistentVolume, node string) []string {
	var users []string
	for key, pod := range w.pods {
		if pod.Spec.NodeName == node && !binding.IsPodTerminated(pod) &&
			slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return w.volumeOf(pod, &v) == pv }) {
			users = append(users, key)
		}
	}
	slices.Sort(users)
	return users
}
