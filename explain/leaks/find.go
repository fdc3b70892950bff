package leaks

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/csi/deploy"
	containers "github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// View is the cluster as Find sees it.
type View struct {
	// Client reads the API's objects. Find writes nothing.
	Client kubernetes.Interface
	// Objects returns all objects of the API, shared and not to be changed.
	Objects func() []runtime.Object
	// Log is the trace of the run, and Now its present time.
	Log *trace.Log
	Now time.Time
	// Machines are the nodes and NFS servers, with their disks and mounts.
	Machines *machine.Set
	// Exports are the directories that NFS servers export, by the server's machine ("nfs/NAME").
	Exports map[string][]string
	// Containers are the container runtimes, by node.
	Containers map[string]*containers.Containers
	// Provisioners lists the provisioners that run, except those of CSI drivers.
	Provisioners []Provisioner
	// CSIDrivers are the drivers that are installed.
	CSIDrivers []deploy.Plan
}

// Provisioner is a provisioner and what its backend can say.
type Provisioner struct {
	// Name is the name of the actor, Also the other names that storage classes call it by.
	Name string
	Also []string
	// Inventory lists the volumes of its backend; nil if the backend cannot say.
	Inventory provisioner.Inventory
}

// Find returns all leaks, in an order that depends on nothing but the view. The error says
// what could not be read.
func Find(ctx context.Context, view View) ([]Leak, error) {
	l := &finder{view: view, ctx: ctx}
	if err := l.read(); err != nil {
		return nil, err
	}
	for _, find := range []func() error{l.backends, l.csi, l.volumes, l.claims, l.attachments, l.helpers, l.directories, l.pods} {
		if err := find(); err != nil {
			return nil, err
		}
	}
	return l.leaks, nil
}

// finder is one search: the objects of the API, who made them, and the leaks found so far.
type finder struct {
	view  View
	ctx   context.Context
	leaks []Leak

	volumeList  []v1.PersistentVolume
	claimsByUID map[types.UID]*v1.PersistentVolumeClaim
	podList     []v1.Pod
	nodes       map[string]*v1.Node
	volumesAt   map[location][]*v1.PersistentVolume // volumes that are directories
	attached    []storagev1.VolumeAttachment
	csiNodes    []storagev1.CSINode
	makers      map[trace.Ref]string // the actor that created each object last
	retained    map[string]string    // volumes that were made to be retained, though their class says Delete, and the class
}

func (l *finder) add(leak Leak, format string, args ...any) {
	leak.What = fmt.Sprintf(format, args...)
	l.leaks = append(l.leaks, leak)
}

// read lists the API's objects, and reads from the trace who created them.
func (l *finder) read() error {
	all := metav1.ListOptions{}
	volumes, err1 := l.view.Client.CoreV1().PersistentVolumes().List(l.ctx, all)
	claims, err2 := l.view.Client.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List(l.ctx, all)
	pods, err3 := l.view.Client.CoreV1().Pods(metav1.NamespaceAll).List(l.ctx, all)
	nodes, err4 := l.view.Client.CoreV1().Nodes().List(l.ctx, all)
	attachments, err5 := l.view.Client.StorageV1().VolumeAttachments().List(l.ctx, all)
	csiNodes, err6 := l.view.Client.StorageV1().CSINodes().List(l.ctx, all)
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
	l.volumesAt = map[location][]*v1.PersistentVolume{}
	for i := range l.volumeList {
		if at, ok := locationOf(&l.volumeList[i]); ok {
			l.volumesAt[at] = append(l.volumesAt[at], &l.volumeList[i])
		}
	}
	l.readMakers()
	return nil
}

// readMakers reads from the trace who created the objects.
func (l *finder) readMakers() {
	l.makers, l.retained = map[trace.Ref]string{}, map[string]string{}
	deletes := map[string]bool{} // classes
	for _, entry := range l.view.Log.Entries() {
		if w, ok := entry.Record.(trace.Write); ok && w.Err == nil && w.Old == nil && w.New != nil {
			l.makers[trace.Ref{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}] = entry.Actor
			switch made := w.New.(type) {
			case *storagev1.StorageClass:
				deletes[made.Name] = made.ReclaimPolicy != nil && *made.ReclaimPolicy == v1.PersistentVolumeReclaimDelete
			case *v1.PersistentVolume:
				delete(l.retained, made.Name)
				if deletes[made.Spec.StorageClassName] && made.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimRetain {
					l.retained[made.Name] = made.Spec.StorageClassName
				}
			}
		}
	}
}

// volumeMaker returns the actor that created a PersistentVolume, "" if the trace does not say.
func (l *finder) volumeMaker(name string) string {
	return l.makers[trace.Ref{Kind: "PersistentVolume", Name: name}]
}

// isProvisioner reports whether an actor is one of the provisioners.
func (l *finder) isProvisioner(actor string) bool {
	return slices.ContainsFunc(l.view.Provisioners, func(p Provisioner) bool { return p.Name == actor })
}

// backends compares the inventory of each provisioner with its PersistentVolumes.
func (l *finder) backends() error {
	for _, p := range l.view.Provisioners {
		if p.Inventory == nil {
			continue
		}
		held, err := p.Inventory.Volumes(l.ctx)
		if err != nil {
			return fmt.Errorf("provisioner %s does not say what it holds: %w", p.Name, err)
		}
		slices.Sort(held)
		known := sets.New[string]()
		for _, pv := range l.volumeList {
			if by := pv.Annotations[binding.AnnDynamicallyProvisioned]; by != p.Name && !slices.Contains(p.Also, by) {
				continue
			}
			known.Insert(pv.Name)
			maker := l.volumeMaker(pv.Name)
			if maker != p.Name && l.isProvisioner(maker) {
				continue // another provisioner of this name, with a backend of its own
			}
			if _, ok := slices.BinarySearch(held, pv.Name); !ok {
				l.add(Leak{Kind: MissingVolume, Volume: pv.Name, Claim: claimOf(&pv), Provisioner: p.Name, Maker: maker},
					"pv %s refers to a volume that the backend of %s does not have", pv.Name, p.Name)
			}
		}
		for _, name := range held {
			if !known.Has(name) {
				l.add(Leak{Kind: BackendVolume, Volume: name, Provisioner: p.Name, Maker: p.Name, Known: l.known(p.Name, 0, name)},
					"volume %s in the backend of %s, for which there is no pv", name, p.Name)
			}
		}
	}
	return nil
}

// volumes finds provisioned volumes that outlived their claim.
func (l *finder) volumes() error {
	for _, pv := range l.volumeList {
		ref := pv.Spec.ClaimRef
		class := l.retained[pv.Name]
		if pv.Annotations[binding.AnnDynamicallyProvisioned] == "" || ref == nil || ref.UID == "" || l.claimsByUID[ref.UID] != nil ||
			pv.Spec.PersistentVolumeReclaimPolicy != v1.PersistentVolumeReclaimDelete && class == "" {
			continue
		}
		policy := ""
		if class != "" {
			policy = fmt.Sprintf("; it was made with reclaim policy Retain, and its class %s says Delete", class)
		}
		l.add(Leak{
			Kind: Volume, Volume: pv.Name, Claim: claimOf(&pv), Provisioner: pv.Annotations[binding.AnnDynamicallyProvisioned], Maker: l.volumeMaker(pv.Name),
		}, "pv %s (%s), whose claim %s/%s is gone%s", pv.Name, pv.Status.Phase, ref.Namespace, ref.Name, policy)
	}
	return nil
}

// claims finds claims bound to nothing.
func (l *finder) claims() error {
	there := sets.New[string]()
	for i := range l.volumeList {
		there.Insert(l.volumeList[i].Name)
	}
	for _, uid := range sets.List(sets.KeySet(l.claimsByUID)) {
		claim := l.claimsByUID[uid]
		if claim.Status.Phase == v1.ClaimBound && !there.Has(claim.Spec.VolumeName) {
			l.add(Leak{Kind: Claim, Claim: claim.Namespace + "/" + claim.Name, Volume: claim.Spec.VolumeName},
				"pvc %s/%s is bound to pv %s, which is gone", claim.Namespace, claim.Name, claim.Spec.VolumeName)
		}
	}
	return nil
}

// attachments finds VolumeAttachments whose node, volume or pods are gone.
func (l *finder) attachments() error {
	for _, va := range l.attached {
		name := va.Spec.Source.PersistentVolumeName
		leak := Leak{Kind: Attachment, Attachment: va.Name, Machine: "node/" + va.Spec.NodeName}
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
		if name != nil && leak.Maker == attachdetach.ActorName && l.nodes[va.Spec.NodeName] != nil && !l.isUsedAt(*name, va.Spec.NodeName) {
			l.add(leak, "volumeattachment %s of pv %s, which no pod on node %s uses%s", va.Name, *name, va.Spec.NodeName,
				cmp.Or(detachError(&va), l.unmountError(*name, va.Spec.NodeName)))
		}
	}
	return nil
}

// detachError quotes what keeps a VolumeAttachment from going.
func detachError(va *storagev1.VolumeAttachment) string {
	if va.DeletionTimestamp == nil || va.Status.DetachError == nil {
		return ""
	}
	return "; detaching it fails: " + va.Status.DetachError.Message
}

// unmountError quotes why the kubelet cannot unmount the device of a CSI volume, which it reports in use until then: a volume that is in use is not
// detached. The kubelet tells only its log.
func (l *finder) unmountError(volume, node string) string {
	i := slices.IndexFunc(l.volumeList, func(pv v1.PersistentVolume) bool { return pv.Name == volume })
	if i < 0 || l.volumeList[i].Spec.CSI == nil {
		return ""
	}
	source := l.volumeList[i].Spec.CSI
	for _, entry := range slices.Backward(l.view.Log.Since(0)) {
		retry, ok := entry.Record.(trace.Retry)
		if !ok || entry.Actor != "kubelet/"+node || !strings.HasSuffix(retry.About, "/"+source.Driver+"^"+source.VolumeHandle) {
			continue
		}
		if entry.Time.Add(retry.Delay).Before(l.view.Now) { // it has been tried since, and succeeded
			return ""
		}
		return "; the kubelet reports it in use, since it cannot unmount it: " + retry.Err.Error()
	}
	return ""
}

// isUsedAt reports whether a pod on a node uses a volume.
func (l *finder) isUsedAt(volume, node string) bool {
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

// helpers finds pods that a provisioner started and did not delete.
func (l *finder) helpers() error {
	for _, pod := range l.podList {
		if maker := l.makers[trace.RefOf("Pod", &pod)]; l.isProvisioner(maker) {
			leak := Leak{Kind: HelperPod, Pod: pod.Namespace + "/" + pod.Name, Provisioner: maker, Maker: maker}
			if pod.Spec.NodeName != "" {
				leak.Machine = "node/" + pod.Spec.NodeName
			}
			l.add(leak, "helper pod %s/%s (%s)", pod.Namespace, pod.Name, pod.Status.Phase)
		}
	}
	return nil
}

// claimOf returns the claim that a volume is reserved for or bound to, as "namespace/name"; ""
// if it has no claimRef.
func claimOf(pv *v1.PersistentVolume) string {
	if ref := pv.Spec.ClaimRef; ref != nil {
		return ref.Namespace + "/" + ref.Name
	}
	return ""
}
