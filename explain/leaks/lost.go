package leaks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/csi/deploy"
	"github.com/storagesim/storagesim/trace"
)

// Loss is something that users have according to the API, and that the backend does not hold: their data is lost, or goes to another place.
type Loss struct {
	// Kind is MissingVolume, of a bound claim; or Staging or Publication, of a volume of a running pod for which the
	// driver answered OK.
	Kind Kind
	// Object is the claim or the pod (trace.Ref.Path), and What says what is missing.
	Object, What string
}

// Lost returns all losses, in an order that depends on nothing but the view. It makes no request. A backend that does not say what it
// holds loses nothing.
func Lost(ctx context.Context, view View) []Loss {
	if !view.hasInventory() {
		return nil // nothing is read: explorations ask at each rest
	}
	f := &lossFinder{finder: finder{view: view, ctx: ctx}, claims: map[string]*v1.PersistentVolumeClaim{}}
	f.readFrom(view.Objects())
	f.ofProvisioners()
	for _, d := range view.CSIDrivers {
		if d.Inventory != nil {
			f.ofDriver(d)
		}
	}
	return f.losses
}

// hasInventory reports whether any backend says what it holds.
func (v View) hasInventory() bool {
	return slices.ContainsFunc(v.Provisioners, func(p Provisioner) bool { return p.Inventory != nil }) ||
		slices.ContainsFunc(v.CSIDrivers, func(d deploy.Plan) bool { return d.Inventory != nil })
}

// lossFinder is one search for losses.
type lossFinder struct {
	finder
	claims map[string]*v1.PersistentVolumeClaim // those that are bound, with their volume bound to them, and not being deleted, by that volume
	losses []Loss
}

func (f *lossFinder) add(kind Kind, object, format string, args ...any) {
	f.losses = append(f.losses, Loss{kind, object, fmt.Sprintf(format, args...)})
}

// owned calls see for each volume that a claim has.
func (f *lossFinder) owned(see func(pv *v1.PersistentVolume, owner string)) {
	for i := range f.volumeList {
		if claim := f.claims[f.volumeList[i].Name]; claim != nil {
			see(&f.volumeList[i], trace.RefOf("PersistentVolumeClaim", claim).Path())
		}
	}
}

// ofProvisioners finds bound claims whose volume is gone from the backend of a provisioner.
func (f *lossFinder) ofProvisioners() {
	for _, p := range f.view.Provisioners {
		if p.Inventory == nil {
			continue
		}
		held, err := p.Inventory.Volumes(f.ctx)
		if err != nil {
			continue // Find says it
		}
		f.owned(func(pv *v1.PersistentVolume, owner string) {
			by := pv.Annotations[binding.AnnDynamicallyProvisioned]
			if by != p.Name && !slices.Contains(p.Also, by) || slices.Contains(held, pv.Name) {
				return
			}
			if maker := f.volumeMaker(pv.Name); maker == p.Name || !f.isProvisioner(maker) {
				f.add(MissingVolume, owner, "%s is bound to pv %s, and the backend of %s does not have that volume", owner, pv.Name, p.Name)
			}
		})
	}
}

// ofDriver finds bound claims whose volume a driver does not have, and volumes of running pods that it does not have where it said so.
func (f *lossFinder) ofDriver(d deploy.Plan) {
	held, calls := d.Inventory.Holdings(), lastMounts(f.view.Log, d.Name)
	at := &driverFinder{finder: &f.finder, driver: d.Name}
	f.owned(func(pv *v1.PersistentVolume, owner string) {
		source := pv.Spec.CSI
		if source == nil || source.Driver != d.Name {
			return
		}
		if id := source.VolumeHandle; !slices.Contains(held.Volumes, id) && (held.Others == nil || !held.Others(id)) {
			f.add(MissingVolume, owner, "%s is bound to pv %s, and driver %s does not have its volume %s", owner, pv.Name, d.Name, id)
		}
		for i := range f.podList {
			pod := &f.podList[i]
			if pod.Status.Phase != v1.PodRunning || pod.DeletionTimestamp != nil || !slices.Contains(binding.ClaimKeysOfPod(pod), claimOf(pv)) {
				continue
			}
			isThere := func(list []deploy.Place, path string) bool {
				return slices.ContainsFunc(list, func(p deploy.Place) bool {
					return p.Volume == source.VolumeHandle && at.nodeOf(p.Node) == pod.Spec.NodeName && strings.Contains(p.Path, path)
				})
			}
			ref := trace.RefOf("Pod", pod).Path()
			on := mount{source.VolumeHandle, "node/" + pod.Spec.NodeName, ""}
			if calls[on] && !isThere(held.Staged, "") {
				f.add(Staging, ref, "%s runs on %s with volume %s, which driver %s answered to have staged there, and has not", ref, pod.Spec.NodeName,
					source.VolumeHandle, d.Name)
			}
			if on.pod = string(pod.UID); calls[on] && !isThere(held.Published, on.pod) {
				f.add(Publication, ref, "%s runs on %s with volume %s, which driver %s answered to have published for it, and has not", ref,
					pod.Spec.NodeName, source.VolumeHandle, d.Name)
			}
		}
	})
}

// mount is a volume that is staged on a machine, or published there for a pod, by its UID.
type mount struct{ volume, machine, pod string }

// lastMounts returns the mounts of which the last call to a driver asked for the mount, and was answered with OK.
func lastMounts(log *trace.Log, driver string) map[mount]bool {
	last := map[mount]bool{}
	for _, entry := range log.Entries() {
		rpc, ok := entry.Record.(trace.RPC)
		if !ok || rpc.Driver != driver {
			continue
		}
		volume, _ := rpc.Request["volume_id"].(string)
		path, _ := rpc.Request["target_path"].(string)
		done := rpc.Code == "OK"
		switch rpc.Method {
		case "NodeStageVolume", "NodeUnstageVolume":
			last[mount{volume, rpc.Machine, ""}] = done && rpc.Method == "NodeStageVolume"
		case "NodePublishVolume", "NodeUnpublishVolume":
			for element := range strings.SplitSeq(path, "/") {
				if element != "" {
					last[mount{volume, rpc.Machine, element}] = done && rpc.Method == "NodePublishVolume"
				}
			}
		}
	}
	return last
}

// readFrom reads the objects that losses need.
func (f *lossFinder) readFrom(objects []runtime.Object) {
	bound := map[types.UID]*v1.PersistentVolumeClaim{}
	for _, obj := range objects {
		switch o := obj.(type) {
		case *v1.PersistentVolume:
			f.volumeList = append(f.volumeList, *o)
		case *v1.Pod:
			f.podList = append(f.podList, *o)
		case *storagev1.CSINode:
			f.csiNodes = append(f.csiNodes, *o)
		case *v1.PersistentVolumeClaim:
			if o.Status.Phase == v1.ClaimBound && o.DeletionTimestamp == nil {
				bound[o.UID] = o
			}
		}
	}
	for i := range f.volumeList {
		pv := &f.volumeList[i]
		ref := pv.Spec.ClaimRef
		if ref == nil || pv.Status.Phase != v1.VolumeBound || pv.DeletionTimestamp != nil {
			continue
		}
		if claim := bound[ref.UID]; claim != nil && claim.Spec.VolumeName == pv.Name {
			f.claims[pv.Name] = claim
		}
	}
	f.readMakers()
}
