package storagesim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/trace"
)

// RequireNoLeaks compares what the backends hold, the API's objects, the nodes'
// directories and the mounts, and returns a *LeakError that names what was left
// behind and who made it. Settle first: what is under way is not a leak, but
// looks like one.
//
// These are leaks:
//
//   - a volume of a backend (provisioner.Inventory) that no PersistentVolume
//     stands for, and a PersistentVolume whose volume the backend does not hold;
//   - a provisioned volume with reclaim policy Delete whose claim is gone, and a
//     bound claim without its volume;
//   - a snapshot of a CSI driver that no VolumeSnapshotContent stands for
//   - a volume of a CSI driver (csi.Driver.Inventory) that no PersistentVolume stands for, and
//     the opposite; a volume that the driver has attached without a VolumeAttachment, or has
//     staged or published for a pod that is gone, or at a path that it was not given;
//   - a VolumeAttachment of a node or a volume that is gone, and one that the
//     attach/detach controller made for pods that are gone;
//   - a provisioner's helper pod, and a directory that one of these or a provisioner
//     made, on a node or an NFS server, and that no PersistentVolume uses;
//   - a directory, a mount, or a container runtime's record of a pod that is not
//     on the node any more, and a mount's record without the mount.
//
// What a provisioner's process left behind because it ended between making a volume and
// creating its PersistentVolume, the claim being deleted meanwhile, is a leak of the
// provisioner library's own; Leak.Known says so. The same holds for csi-provisioner.
//
// What was made is known from the trace, to which programs in pods and provisioners
// report it (trace.Asset): what is too old for it is not found. A process may end before
// it reports. So the directories in which a provisioner's volumes are or were, and those
// that NFS servers export, are searched, too, for names such as the library gives to
// volumes ("pvc-" and the claim's UID) of which no PersistentVolume was created, as long
// as the trace is complete.
//
// The faults of InjectMachine do not strike the search.
func (c *Cluster) RequireNoLeaks() error {
	if c.closed {
		return engine.ErrClosed
	}
	c.machines.PauseFaults(true)
	defer c.machines.PauseFaults(false)
	l := &leakFinder{Cluster: c, ctx: context.Background()}
	if err := l.read(); err != nil {
		return err
	}
	for _, find := range []func() error{l.backends, l.csi, l.volumes, l.claims, l.attachments, l.helpers, l.directories, l.pods} {
		if err := find(); err != nil {
			return err
		}
	}
	if len(l.leaks) == 0 {
		return nil
	}
	for i := range l.leaks {
		if object := l.leaks[i].object(); object != "" {
			// What cannot be explained is reported all the same.
			l.leaks[i].Why, _ = c.Explain(object)
		}
	}
	return &LeakError{l.leaks}
}

// leakFinder is one search: what the API has, what the trace remembers, and what
// was found.
type leakFinder struct {
	*Cluster
	ctx   context.Context
	leaks []Leak

	volumeList  []v1.PersistentVolume
	claimsByUID map[types.UID]*v1.PersistentVolumeClaim
	podList     []v1.Pod
	nodes       map[string]*v1.Node
	volumesAt   map[place][]*v1.PersistentVolume // those that are directories
	attached    []storagev1.VolumeAttachment
	csiNodes    []storagev1.CSINode
	makers      map[trace.Ref]string // who created what last
}

func (l *leakFinder) add(leak Leak, format string, args ...any) {
	leak.What = fmt.Sprintf(format, args...)
	l.leaks = append(l.leaks, leak)
}

// read lists what the API has and the trace remembers.
func (l *leakFinder) read() error {
	all := metav1.ListOptions{}
	volumes, err1 := l.client.CoreV1().PersistentVolumes().List(l.ctx, all)
	claims, err2 := l.client.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List(l.ctx, all)
	pods, err3 := l.client.CoreV1().Pods(metav1.NamespaceAll).List(l.ctx, all)
	nodes, err4 := l.client.CoreV1().Nodes().List(l.ctx, all)
	attachments, err5 := l.client.StorageV1().VolumeAttachments().List(l.ctx, all)
	csiNodes, err6 := l.client.StorageV1().CSINodes().List(l.ctx, all)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return err
	}
	l.csiNodes = csiNodes.Items
	l.volumeList, l.podList, l.attached = volumes.Items, pods.Items, attachments.Items
	l.claimsByUID, l.nodes = map[types.UID]*v1.PersistentVolumeClaim{}, map[string]*v1.Node{}
	for i := range claims.Items {
		l.claimsByUID[claims.Items[i].UID] = &claims.Items[i]
	}
	for i := range nodes.Items {
		l.nodes[nodes.Items[i].Name] = &nodes.Items[i]
	}
	l.volumesAt = map[place][]*v1.PersistentVolume{}
	for i := range l.volumeList {
		if at, ok := placeOf(&l.volumeList[i]); ok {
			l.volumesAt[at] = append(l.volumesAt[at], &l.volumeList[i])
		}
	}
	l.makers = map[trace.Ref]string{}
	for _, entry := range l.engine.Trace().Entries() {
		if w, ok := entry.Record.(trace.Write); ok && w.Err == nil && w.Old == nil && w.New != nil {
			l.makers[trace.Ref{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}] = entry.Actor
		}
	}
	return nil
}

// volumeMaker is who created a PersistentVolume.
func (l *leakFinder) volumeMaker(name string) string {
	return l.makers[trace.Ref{Kind: "PersistentVolume", Name: name}]
}

// isProvisioner says whether an actor is one of the provisioners.
func (l *leakFinder) isProvisioner(actor string) bool {
	return slices.ContainsFunc(l.provisioners, func(p *installed) bool { return p.name == actor })
}

// backends compares each provisioner's inventory with its volumes.
func (l *leakFinder) backends() error {
	for _, p := range l.provisioners {
		if p.inventory == nil {
			continue
		}
		held, err := p.inventory.Volumes(l.ctx)
		if err != nil {
			return fmt.Errorf("provisioner %s does not say what it holds: %w", p.name, err)
		}
		slices.Sort(held)
		known := sets.New[string]()
		for _, pv := range l.volumeList {
			if by := pv.Annotations[binding.AnnDynamicallyProvisioned]; by != p.name && !slices.Contains(p.also, by) {
				continue
			}
			known.Insert(pv.Name)
			maker := l.volumeMaker(pv.Name)
			if maker != p.name && l.isProvisioner(maker) {
				continue // another one that answers to this name, with a backend of its own
			}
			if _, ok := slices.BinarySearch(held, pv.Name); !ok {
				l.add(Leak{Kind: LeakMissingVolume, Volume: pv.Name, Claim: claimOf(&pv), Provisioner: p.name, Maker: maker}, "pv %s refers to a volume that the backend of %s does not have", pv.Name, p.name)
			}
		}
		for _, name := range held {
			if !known.Has(name) {
				l.add(Leak{Kind: LeakBackendVolume, Volume: name, Provisioner: p.name, Maker: p.name, Known: l.known(p.name, 0, name)},
					"volume %s in the backend of %s, for which there is no pv", name, p.name)
			}
		}
	}
	return nil
}

// volumes finds provisioned volumes that outlived their claim.
func (l *leakFinder) volumes() error {
	for _, pv := range l.volumeList {
		ref := pv.Spec.ClaimRef
		if pv.Annotations[binding.AnnDynamicallyProvisioned] == "" || ref == nil || ref.UID == "" ||
			pv.Spec.PersistentVolumeReclaimPolicy != v1.PersistentVolumeReclaimDelete {
			continue
		}
		if l.claimsByUID[ref.UID] == nil {
			l.add(Leak{
				Kind: LeakVolume, Volume: pv.Name, Claim: claimOf(&pv), Provisioner: pv.Annotations[binding.AnnDynamicallyProvisioned], Maker: l.volumeMaker(pv.Name),
			}, "pv %s (%s), whose claim %s/%s is gone", pv.Name, pv.Status.Phase, ref.Namespace, ref.Name)
		}
	}
	return nil
}

// claims finds claims bound to nothing.
func (l *leakFinder) claims() error {
	there := sets.New[string]()
	for i := range l.volumeList {
		there.Insert(l.volumeList[i].Name)
	}
	for _, uid := range sets.List(sets.KeySet(l.claimsByUID)) {
		claim := l.claimsByUID[uid]
		if claim.Status.Phase == v1.ClaimBound && !there.Has(claim.Spec.VolumeName) {
			l.add(Leak{Kind: LeakClaim, Claim: claim.Namespace + "/" + claim.Name, Volume: claim.Spec.VolumeName}, "pvc %s/%s is bound to pv %s, which is gone", claim.Namespace, claim.Name, claim.Spec.VolumeName)
		}
	}
	return nil
}

// attachments finds those of nodes and volumes that are gone.
func (l *leakFinder) attachments() error {
	for _, va := range l.attached {
		name := va.Spec.Source.PersistentVolumeName
		leak := Leak{Kind: LeakAttachment, Attachment: va.Name, Machine: "node/" + va.Spec.NodeName}
		if name != nil {
			leak.Volume = *name
		}
		if l.nodes[va.Spec.NodeName] == nil {
			l.add(leak, "volumeattachment %s, whose node %s is gone", va.Name, va.Spec.NodeName)
		}
		if name != nil && !slices.ContainsFunc(l.volumeList, func(pv v1.PersistentVolume) bool { return pv.Name == *name }) {
			l.add(leak, "volumeattachment %s, whose pv %s is gone", va.Name, *name)
			continue
		}
		leak.Maker = l.makers[trace.Ref{Kind: "VolumeAttachment", Name: va.Name}]
		if name != nil && leak.Maker == AttachDetach && l.nodes[va.Spec.NodeName] != nil && !l.isUsedAt(*name, va.Spec.NodeName) {
			l.add(leak, "volumeattachment %s of pv %s, which no pod on node %s uses", va.Name, *name, va.Spec.NodeName)
		}
	}
	return nil
}

// isUsedAt says whether a pod on a node uses a volume.
func (l *leakFinder) isUsedAt(volume, node string) bool {
	for i := range l.podList {
		pod := &l.podList[i]
		if pod.Spec.NodeName != node || binding.IsPodTerminated(pod) {
			continue
		}
		claims := binding.ClaimKeysOfPod(pod)
		for _, claim := range l.claimsByUID {
			if claim.Spec.VolumeName == volume && slices.Contains(claims, claim.Namespace+"/"+claim.Name) {
				return true
			}
		}
	}
	return false
}

// helpers finds pods that a provisioner started and left.
func (l *leakFinder) helpers() error {
	for _, pod := range l.podList {
		if maker := l.makers[trace.RefOf("Pod", &pod)]; l.isProvisioner(maker) {
			leak := Leak{Kind: LeakHelperPod, Pod: pod.Namespace + "/" + pod.Name, Provisioner: maker, Maker: maker}
			if pod.Spec.NodeName != "" {
				leak.Machine = "node/" + pod.Spec.NodeName
			}
			l.add(leak, "helper pod %s/%s (%s)", pod.Namespace, pod.Name, pod.Status.Phase)
		}
	}
	return nil
}

// claimOf is the claim that a volume belongs to, as "namespace/name"; "" without one.
func claimOf(pv *v1.PersistentVolume) string {
	if ref := pv.Spec.ClaimRef; ref != nil {
		return ref.Namespace + "/" + ref.Name
	}
	return ""
}
