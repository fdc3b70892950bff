package explore

import (
	"encoding/json"
	"maps"
	"path"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/trace"
)

// disks knows where the data of each volume is that a provisioner has made.
type disks struct {
	of map[string]disk // by the volume's name
}

// disk is the place of a volume's data, and the claim that it was made for.
type disk struct {
	place string
	claim types.UID
}

// write checks the rule OneDisk. A volume that a user makes may share its data with another one on purpose. CSIAnswers tells the volumes of CSI drivers
// apart, and names the call.
func (d *disks) write(w trace.Write) error {
	if w.Kind != "PersistentVolume" {
		return nil
	}
	pv, ok := w.New.(*v1.PersistentVolume)
	if !ok {
		delete(d.of, w.Name)
		return nil
	}
	if _, known := d.of[pv.Name]; known {
		return nil // where its data is does not change
	}
	if pv.Annotations[binding.AnnDynamicallyProvisioned] == "" || pv.Spec.CSI != nil || pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID == "" {
		return nil
	}
	made := disk{placeOf(pv), pv.Spec.ClaimRef.UID}
	d.of[pv.Name] = made
	for _, name := range slices.Sorted(maps.Keys(d.of)) {
		if other := d.of[name]; other.place == made.place && other.claim != made.claim {
			return about(pathOfVolume(pv.Name), "%s has its data where %s, which was made for another claim, has it: %s",
				pathOfVolume(pv.Name), pathOfVolume(name), made.place)
		}
	}
	return nil
}

// placeOf says where the data of a volume is: on which nodes and in which directory.
func placeOf(pv *v1.PersistentVolume) string {
	from := &pv.Spec.PersistentVolumeSource
	switch {
	case from.NFS != nil:
		return from.NFS.Server + ":" + path.Clean(from.NFS.Path)
	case from.HostPath != nil:
		return path.Clean(from.HostPath.Path) + nodesOf(pv)
	case from.Local != nil:
		return path.Clean(from.Local.Path) + nodesOf(pv)
	}
	return jsonOf(from)
}

// nodesOf says which nodes reach a volume, in the words of its node affinity.
func nodesOf(pv *v1.PersistentVolume) string {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return " on any node"
	}
	return " on nodes with " + jsonOf(pv.Spec.NodeAffinity.Required.NodeSelectorTerms)
}

func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // a part of an API object
	}
	return string(text)
}
