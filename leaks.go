package storagesim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
)

// Leak is something that was left behind.
type Leak struct {
	// What it is and where, for example "directory
	// /var/openebs/local/pvc-1 on node-1, which no volume uses".
	What string
	// Maker is the actor that made it, if the trace still knows.
	Maker string
}

func (l Leak) String() string {
	if l.Maker == "" {
		return l.What
	}
	return fmt.Sprintf("%s (made by %s)", l.What, l.Maker)
}

// LeakError is the error of RequireNoLeaks.
type LeakError struct{ Leaks []Leak }

func (e *LeakError) Error() string {
	lines := make([]string, len(e.Leaks))
	for i, l := range e.Leaks {
		lines[i] = "\n  " + l.String()
	}
	return fmt.Sprintf("%d left behind:%s", len(e.Leaks), strings.Join(lines, ""))
}

// RequireNoLeaks compares what the backends hold, the API's objects, the nodes'
// directories and the mounts, and returns a *LeakError that names what was left
// behind and who made it. Settle first: what is under way is not a leak, but
// looks like one.
//
// These are leaks: a volume of a backend (provisioner.Inventory) or a directory
// made by a helper pod that no PersistentVolume stands for, and a
// PersistentVolume whose volume the backend does not hold; a provisioned volume
// with reclaim policy Delete whose claim is gone; a bound claim without its
// volume; a helper pod still there; the directory or mount of a pod that is not
// on the node any more.
func (c *Cluster) RequireNoLeaks() error {
	l := &leakFinder{Cluster: c, ctx: context.Background()}
	for _, find := range []func() error{l.read, l.backends, l.volumes, l.claims, l.helpers, l.directories, l.pods} {
		if err := find(); err != nil {
			return err
		}
	}
	if len(l.leaks) == 0 {
		return nil
	}
	return &LeakError{l.leaks}
}

type leakFinder struct {
	*Cluster
	ctx   context.Context
	leaks []Leak

	pvs    []v1.PersistentVolume
	pvcs   map[types.UID]*v1.PersistentVolumeClaim
	podsOn map[types.UID]*v1.Pod
	all    []v1.Pod
}

func (l *leakFinder) add(maker, format string, args ...any) {
	l.leaks = append(l.leaks, Leak{What: fmt.Sprintf(format, args...), Maker: maker})
}

// read lists what the API has.
func (l *leakFinder) read() error {
	pvs, err1 := l.client.CoreV1().PersistentVolumes().List(l.ctx, metav1.ListOptions{})
	pvcs, err2 := l.client.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List(l.ctx, metav1.ListOptions{})
	pods, err3 := l.client.CoreV1().Pods(metav1.NamespaceAll).List(l.ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	l.pvs, l.all = pvs.Items, pods.Items
	l.pvcs, l.podsOn = map[types.UID]*v1.PersistentVolumeClaim{}, map[types.UID]*v1.Pod{}
	for i := range pvcs.Items {
		l.pvcs[pvcs.Items[i].UID] = &pvcs.Items[i]
	}
	for i := range l.all {
		l.podsOn[l.all[i].UID] = &l.all[i]
	}
	return nil
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
		for _, pv := range l.pvs {
			if pv.Annotations[binding.AnnDynamicallyProvisioned] != p.name {
				continue
			}
			known.Insert(pv.Name)
			if _, ok := slices.BinarySearch(held, pv.Name); !ok {
				l.add(l.maker("PersistentVolume", "", pv.Name), "pv %s stands for a volume that the backend of %s does not hold", pv.Name, p.name)
			}
		}
		for _, name := range held {
			if !known.Has(name) {
				l.add(p.name, "volume %s in the backend of %s, which no pv stands for", name, p.name)
			}
		}
	}
	return nil
}

// volumes finds provisioned volumes that outlived their claim.
func (l *leakFinder) volumes() error {
	for _, pv := range l.pvs {
		ref := pv.Spec.ClaimRef
		if pv.Annotations[binding.AnnDynamicallyProvisioned] == "" || ref == nil || ref.UID == "" ||
			pv.Spec.PersistentVolumeReclaimPolicy != v1.PersistentVolumeReclaimDelete {
			continue
		}
		if l.pvcs[ref.UID] == nil {
			l.add(l.maker("PersistentVolume", "", pv.Name), "pv %s (%s), whose claim %s/%s is gone", pv.Name, pv.Status.Phase, ref.Namespace, ref.Name)
		}
	}
	return nil
}

// claims finds claims bound to nothing.
func (l *leakFinder) claims() error {
	for _, uid := range sets.List(sets.KeySet(l.pvcs)) {
		claim := l.pvcs[uid]
		there := slices.ContainsFunc(l.pvs, func(pv v1.PersistentVolume) bool { return pv.Name == claim.Spec.VolumeName })
		if claim.Status.Phase == v1.ClaimBound && !there {
			l.add("", "pvc %s/%s is bound to pv %s, which is gone", claim.Namespace, claim.Name, claim.Spec.VolumeName)
		}
	}
	return nil
}

// helpers finds pods that a provisioner started and left.
func (l *leakFinder) helpers() error {
	for _, pod := range l.all {
		maker := l.maker("Pod", pod.Namespace, pod.Name)
		if slices.ContainsFunc(l.provisioners, func(p *installed) bool { return p.name == maker }) {
			l.add(maker, "helper pod %s/%s (%s)", pod.Namespace, pod.Name, pod.Status.Phase)
		}
	}
	return nil
}

// directories finds what helper pods made on nodes and no volume uses.
func (l *leakFinder) directories() error {
	used := sets.New[string]()
	for _, pv := range l.pvs {
		switch {
		case pv.Spec.Local != nil:
			used.Insert(path.Clean(pv.Spec.Local.Path))
		case pv.Spec.HostPath != nil:
			used.Insert(path.Clean(pv.Spec.HostPath.Path))
		}
	}
	seen := sets.New[string]()
	for _, entry := range l.engine.Trace().Entries() {
		command, ok := entry.Record.(control.Command)
		root := l.roots[command.Node]
		if !ok || root == nil || len(command.Argv) == 0 || command.Argv[0] != "mkdir" {
			continue
		}
		for _, dir := range command.Paths {
			dir = path.Clean(dir)
			if used.Has(dir) || seen.Has(command.Node+dir) {
				continue
			}
			seen.Insert(command.Node + dir)
			if _, err := root.Lstat(dir); err == nil {
				l.add(l.maker("Pod", command.About.Namespace, command.About.Name), "directory %s on %s, which no volume uses", dir, command.Node)
			}
		}
	}
	return nil
}

// podsDir is where a kubelet keeps the directories of its pods.
const podsDir = "/var/lib/kubelet/pods"

// pods finds directories and mounts of pods that are not on the node any more.
func (l *leakFinder) pods() error {
	for _, node := range l.cfg.Nodes {
		root := l.roots[node.Name]
		uids, err := root.List(podsDir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, uid := range uids {
			uid = strings.TrimSuffix(uid, "/") // a directory's mark
			if pod := l.podsOn[types.UID(uid)]; pod == nil || pod.Spec.NodeName != node.Name {
				l.add("kubelet/"+node.Name, "directory %s on %s, whose pod is gone", path.Join(podsDir, uid), node.Name)
			}
		}
	}
	return nil
}

// maker is the actor that created an object, as the trace remembers it.
func (l *leakFinder) maker(kind, namespace, name string) string {
	maker := ""
	for _, entry := range l.engine.Trace().Entries() {
		w, ok := entry.Record.(engine.Write)
		if ok && w.Err == nil && w.Old == nil && w.New != nil && w.Kind == kind && w.Namespace == namespace && w.Name == name {
			maker = entry.Actor
		}
	}
	return maker
}
