package explore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/trace"
)

// A provisioner takes from the class what the user of a cluster reads there. The library does not look at it, and a cluster does not either: the claim is
// bound, and the loss comes to light when the claim is deleted, or when a pod is to run in the zone that the class names. An administrator may change a
// volume later, so that only its creation is looked at.
//
// Upstream: https://kubernetes.io/docs/concepts/storage/storage-classes/, "Reclaim policy", "Mount options", "Allowed topologies".
type asClass struct {
	c       *storagesim.Cluster
	classes map[string]*storagev1.StorageClass
	nodes   map[string]*v1.Node // all that there were at a rest
	zonal   []zonal
}

// zonal is a volume whose class allows some topologies, as it was made. It is looked at when the nodes are there, too.
type zonal struct {
	pv    *v1.PersistentVolume
	class *storagev1.StorageClass
}

func newAsClass(c *storagesim.Cluster) *asClass {
	return &asClass{c: c, classes: map[string]*storagev1.StorageClass{}, nodes: map[string]*v1.Node{}}
}

func (a *asClass) write(w trace.Write) error {
	if w.Err == nil && w.Kind == "StorageClass" {
		delete(a.classes, w.Name)
		if class, ok := w.New.(*storagev1.StorageClass); ok {
			a.classes[w.Name] = class
		}
	}
	if pv, ok := w.New.(*v1.PersistentVolume); ok && w.Err == nil && w.Old == nil && w.Actor != storagesim.User {
		return a.made(pv)
	}
	return nil
}

// made looks at a volume that was just created.
func (a *asClass) made(pv *v1.PersistentVolume) error {
	maker, class := pv.Annotations[binding.AnnDynamicallyProvisioned], a.classes[pv.Spec.StorageClassName]
	if maker == "" || class == nil {
		return nil
	}
	if wants := class.ReclaimPolicy; wants != nil && pv.Spec.PersistentVolumeReclaimPolicy != *wants {
		return unlikeClass(pv, class, "persistentVolumeReclaimPolicy "+string(pv.Spec.PersistentVolumeReclaimPolicy), "reclaimPolicy "+string(*wants))
	}
	// Volumes of the other types take no options.
	if pv.Spec.NFS != nil || pv.Spec.CSI != nil {
		for _, option := range class.MountOptions {
			if !slices.Contains(pv.Spec.MountOptions, option) {
				return unlikeClass(pv, class, fmt.Sprint("mountOptions ", pv.Spec.MountOptions), fmt.Sprint("mountOptions ", class.MountOptions))
			}
		}
	}
	if len(class.AllowedTopologies) > 0 {
		a.zonal = append(a.zonal, zonal{pv, class})
	}
	return nil
}

func unlikeClass(pv *v1.PersistentVolume, class *storagev1.StorageClass, has, says string) error {
	ref := pathOfVolume(pv.Name)
	return about(ref, "%s made %s with %s; its class %s has %s", pv.Annotations[binding.AnnDynamicallyProvisioned], ref, has, class.Name, says)
}

func (a *asClass) rest() error {
	if len(a.zonal) == 0 {
		return nil
	}
	list, err := a.c.Client().CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		a.nodes[list.Items[i].Name] = &list.Items[i]
	}
	for _, z := range a.zonal {
		if nodes := forbidden(a.nodes, z.pv, z.class.AllowedTopologies); len(nodes) > 0 {
			return unlikeClass(z.pv, z.class, "a nodeAffinity for "+strings.Join(nodes, ", ")+" alone", "allowedTopologies for other nodes")
		}
	}
	return nil
}

// forbidden returns the nodes that reach a volume, if the class allows the topology of none of them. A volume that no node reaches is no matter of the class,
// and neither is one that nodes of other topologies reach as well.
func forbidden(nodes map[string]*v1.Node, pv *v1.PersistentVolume, terms []v1.TopologySelectorTerm) (reach []string) {
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		switch node := nodes[name]; {
		case !binding.Reachable(pv, node):
		case matchesTopology(terms, node.Labels):
			return nil
		default:
			reach = append(reach, name)
		}
	}
	return reach
}

func matchesTopology(terms []v1.TopologySelectorTerm, labels map[string]string) bool {
	return len(terms) == 0 || slices.ContainsFunc(terms, func(term v1.TopologySelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchLabelExpressions, func(r v1.TopologySelectorLabelRequirement) bool {
			return !slices.Contains(r.Values, labels[r.Key])
		})
	})
}
