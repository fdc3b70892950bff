package leaks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/storagesim/storagesim/csi/deploy"
	kubeletcsi "github.com/storagesim/storagesim/kubelet/csi"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
)

// csi compares what each CSI driver says it holds with the API's objects and the nodes' mounts.
func (l *finder) csi() error {
	for _, d := range l.view.CSIDrivers {
		f := &driverFinder{finder: l, driver: d.Name, types: d.FSTypes, volumes: l.handlesOf(d.Name)}
		if d.Inventory == nil {
			f.retried()
			continue
		}
		held := d.Inventory.Holdings()
		slices.Sort(held.Volumes)
		for _, list := range [][]deploy.Place{held.Attached, held.Staged, held.Published} {
			slices.SortFunc(list, deploy.Place.Compare)
		}
		f.compareVolumes(held)
		f.compareSnapshots(held)
		f.compareAttached(held)
		f.compareMounted(held)
		if err := f.compareDisks(held); err != nil {
			return err
		}
		f.retried()
	}
	return nil
}

// retryWithin is the time within which a kubelet that does not give up calls again: its longest backoff (2m2s), and its longest wait for an answer (2m).
const retryWithin = 5 * time.Minute

// retried finds volumes that a kubelet goes on unmounting in vain, whatever the driver says that it holds: a driver may have unmounted a volume
// and fail when it is asked again.
func (f *driverFinder) retried() {
	seen := map[[2]string]bool{}
	for _, entry := range slices.Backward(f.view.Log.Entries()) {
		if entry.Time.Before(f.view.Now.Add(-retryWithin)) {
			return
		}
		rpc, ok := entry.Record.(trace.RPC)
		if !ok || rpc.Driver != f.driver {
			continue
		}
		kind, path := Publication, rpc.Request["target_path"]
		if strings.HasPrefix(rpc.Method, "NodeStage") || strings.HasPrefix(rpc.Method, "NodeUnstage") {
			kind, path = Staging, rpc.Request["staging_target_path"]
		}
		at, _ := path.(string)
		if at == "" || seen[[2]string{rpc.Machine, at}] {
			continue
		}
		seen[[2]string{rpc.Machine, at}] = true
		id, _ := rpc.Request["volume_id"].(string)
		leak := f.leak(kind, deploy.Place{Volume: id, Path: at})
		leak.Machine = rpc.Machine
		told := slices.ContainsFunc(f.leaks, func(l Leak) bool { return l.Kind == kind && l.Machine == leak.Machine && l.Path == at })
		if unmounts := rpc.Method == "NodeUnstageVolume" || rpc.Method == "NodeUnpublishVolume"; unmounts && rpc.Code != "OK" && !told {
			f.add(leak, "volume %s of driver %s, which %s is still to unmount from %s: %s: %s: %s", id, f.driver, entry.Actor, at, rpc.Method, rpc.Code, rpc.Err)
		}
	}
}

// driverFinder searches for the leaks of one driver.
type driverFinder struct {
	*finder
	driver  string
	types   map[string]func(source string) (*disk.Disk, error) // the driver's file systems
	volumes map[string]*v1.PersistentVolume                    // by volume handle
}

// handlesOf returns the PersistentVolumes of a driver by volume handle.
func (l *finder) handlesOf(driver string) map[string]*v1.PersistentVolume {
	found := map[string]*v1.PersistentVolume{}
	for i := range l.volumeList {
		if source := l.volumeList[i].Spec.CSI; source != nil && source.Driver == driver {
			found[source.VolumeHandle] = &l.volumeList[i]
		}
	}
	return found
}

// leak returns a leak of the driver at a place, without its text.
func (f *driverFinder) leak(kind Kind, p deploy.Place) Leak {
	leak := Leak{Kind: kind, Handle: p.Volume, Provisioner: f.driver, Path: p.Path}
	if node := f.nodeOf(p.Node); node != "" {
		leak.Machine = "node/" + node
	}
	if pv := f.volumes[p.Volume]; pv != nil {
		leak.Volume, leak.Claim = pv.Name, claimOf(pv)
	}
	return leak
}

// createdBy returns the actor whose call made a volume, if the trace knows, and knownLeak if
// the volume may be one. A lost answer does not say which volume was made, so each such call
// for a claim that is gone may have made it.
func (f *driverFinder) createdBy(id string) (maker, known string) {
	for i, entry := range f.view.Log.Entries() {
		rpc, ok := entry.Record.(trace.RPC)
		if !ok || rpc.Driver != f.driver || rpc.Method != "CreateVolume" {
			continue
		}
		made, _ := rpc.Answer["volume"].(map[string]any)
		name, _ := rpc.Request["name"].(string)
		switch {
		case made["volume_id"] == id:
			return entry.Actor, f.known(entry.Actor, i, name)
		case made == nil && known == "":
			known = f.known(entry.Actor, i, name)
		}
	}
	return "", known
}

// compareVolumes finds volumes of the driver without a PersistentVolume, and PersistentVolumes
// without a volume of the driver.
func (f *driverFinder) compareVolumes(held deploy.Holdings) {
	for _, id := range held.Volumes {
		if f.volumes[id] == nil && !f.isInline(id) {
			leak := f.leak(BackendVolume, deploy.Place{Volume: id})
			leak.Maker, leak.Known = f.createdBy(id)
			f.add(leak, "volume %s of driver %s, for which there is no pv", id, f.driver)
		}
	}
	for i := range f.volumeList {
		pv := &f.volumeList[i]
		if source := pv.Spec.CSI; source == nil || source.Driver != f.driver {
			continue
		}
		if id := pv.Spec.CSI.VolumeHandle; !slices.Contains(held.Volumes, id) && (held.Others == nil || !held.Others(id)) {
			leak := f.leak(MissingVolume, deploy.Place{Volume: id})
			leak.Maker = f.volumeMaker(pv.Name)
			f.add(leak, "pv %s refers to volume %s, which driver %s does not have", pv.Name, id, f.driver)
		}
	}
}

// compareSnapshots finds snapshots of the driver without a VolumeSnapshotContent.
func (f *driverFinder) compareSnapshots(held deploy.Holdings) {
	known := map[string]bool{}
	for _, obj := range f.view.Objects() {
		content, ok := obj.(*unstructured.Unstructured)
		if !ok || content.GetKind() != "VolumeSnapshotContent" {
			continue
		}
		for _, field := range [][]string{{"status", "snapshotHandle"}, {"spec", "source", "snapshotHandle"}} {
			if handle, ok, _ := unstructured.NestedString(content.Object, field...); ok {
				known[handle] = true
			}
		}
	}
	for _, id := range slices.Sorted(slices.Values(held.Snapshots)) {
		if !known[id] {
			f.add(f.leak(BackendSnapshot, deploy.Place{Volume: id}), "snapshot %s of driver %s, for which there is no volumesnapshotcontent", id, f.driver)
		}
	}
}

// compareAttached finds volumes that the driver has attached without a VolumeAttachment.
func (f *driverFinder) compareAttached(held deploy.Holdings) {
	for _, p := range held.Attached {
		pv, node := f.volumes[p.Volume], f.nodeOf(p.Node)
		wanted := false
		for _, va := range f.attached {
			name := va.Spec.Source.PersistentVolumeName
			wanted = wanted || pv != nil && name != nil && *name == pv.Name && va.Spec.NodeName == node && va.Spec.Attacher == f.driver
		}
		if !wanted {
			f.add(f.leak(DriverAttachment, p), "volume %s of driver %s, attached to node %s without a volumeattachment", p.Volume, f.driver, p.Node)
		}
	}
}

// compareMounted finds volumes that the driver has staged or published for pods that are gone.
func (f *driverFinder) compareMounted(held deploy.Holdings) {
	for _, p := range held.Staged {
		pv := f.volumes[p.Volume]
		if pv == nil || !f.isUsedAt(pv.Name, f.nodeOf(p.Node)) {
			f.add(f.leak(Staging, p), "volume %s of driver %s, staged on node %s at %s, which no pod there uses", p.Volume, f.driver, p.Node, p.Path)
		} else if given := kubeletcsi.StagingPath(pv); f.onNode(p) != given {
			f.add(f.leak(Staging, p), "volume %s of driver %s, staged on node %s at %s, a path that the driver was not given; it was given %s", p.Volume,
				f.driver, p.Node, p.Path, given)
		}
	}
	for _, p := range held.Published {
		if pod := f.podOf(p); pod == nil {
			f.add(f.leak(Publication, p), "volume %s of driver %s, published on node %s at %s, whose pod is gone", p.Volume, f.driver, p.Node, p.Path)
		} else if given := f.givenFor(pod, p); len(given) > 0 && !slices.Contains(given, f.onNode(p)) {
			f.add(f.leak(Publication, p), "volume %s of driver %s, published on node %s at %s, a path that the driver was not given; for pod %s/%s it was given %s",
				p.Volume, f.driver, p.Node, p.Path, pod.Namespace, pod.Name, strings.Join(given, " or "))
		}
	}
}

// givenFor returns the paths that a pod's kubelet may have given the driver to publish a volume.
func (f *driverFinder) givenFor(pod *v1.Pod, p deploy.Place) (given []string) {
	if pv := f.volumes[p.Volume]; pv != nil {
		paths := kubeletcsi.PublishPaths(pv.Name, pod.UID)
		if pv.Spec.VolumeMode != nil && *pv.Spec.VolumeMode == v1.PersistentVolumeBlock {
			return paths[1:]
		}
		return paths[:1]
	}
	for _, v := range pod.Spec.Volumes {
		if v.CSI != nil && v.CSI.Driver == f.driver {
			given = append(given, kubeletcsi.PublishPaths(v.Name, pod.UID)[0])
		}
	}
	return given
}

// onNode returns the path as the node sees it. A driver in another process is given the real
// path on this machine.
func (f *driverFinder) onNode(p deploy.Place) string {
	m, err := f.view.Machines.Find("node/" + f.nodeOf(p.Node))
	if err != nil || m.Dir() == "" {
		return p.Path
	}
	return strings.TrimPrefix(p.Path, m.Dir())
}

// compareDisks finds mounts that the driver no longer knows: in the directory where its volumes
// are staged, and of its file systems outside of pods' directories.
func (f *driverFinder) compareDisks(held deploy.Holdings) error {
	for _, m := range f.view.Machines.Of(machine.Node) {
		mounts, err := m.Mounter().List()
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		for _, at := range mounts {
			known := slices.ContainsFunc(slices.Concat(held.Staged, held.Published),
				func(p deploy.Place) bool { return f.onNode(p) == at.Path && f.nodeOf(p.Node) == m.Name() })
			own := strings.HasPrefix(at.Path, "/var/lib/kubelet/plugins/kubernetes.io/csi/"+f.driver+"/") ||
				f.types[at.Type] != nil && !strings.HasPrefix(at.Path, "/var/lib/kubelet/pods/")
			if own && !known {
				f.add(Leak{Kind: Staging, Provisioner: f.driver, Machine: m.String(), Path: at.Path},
					"a mount on %s at %s, which driver %s does not know of", m.Name(), at.Path, f.driver)
			}
		}
	}
	return nil
}

// podOf returns the pod on the node that a volume is published for, nil if it is gone. The
// pod's UID is an element of the path.
func (f *driverFinder) podOf(p deploy.Place) *v1.Pod {
	elements := strings.Split(p.Path, "/")
	for i := range f.podList {
		pod := &f.podList[i]
		if pod.Spec.NodeName == f.nodeOf(p.Node) && slices.Contains(elements, string(pod.UID)) {
			return pod
		}
	}
	return nil
}

// nodeOf returns the name of the Node that the driver knows by id; "" if no node has that ID.
func (f *driverFinder) nodeOf(id string) string {
	for i := range f.csiNodes {
		for _, d := range f.csiNodes[i].Spec.Drivers {
			if d.Name == f.driver && d.NodeID == id {
				return f.csiNodes[i].Name
			}
		}
	}
	for _, m := range f.view.Machines.Of(machine.Node) { // without a CSINode the ID is the name
		if m.Name() == id {
			return id
		}
	}
	return ""
}

// isInline reports whether a volume is an inline volume of a pod, by its ID.
func (f *driverFinder) isInline(id string) bool {
	return strings.HasPrefix(id, "csi-") && len(id) == len("csi-")+64
}
