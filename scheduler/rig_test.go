package scheduler_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// rig is a control plane whose nodes are objects and nothing else: a pod has reached its
// goal when it has a node. It watches every write for what must never
// happen.
type rig struct {
	*storagesimtest.Cluster
	unsafe []string

	nodes   map[string]*v1.Node
	pods    map[string]*v1.Pod
	claims  map[string]*v1.PersistentVolumeClaim
	volumes map[string]*v1.PersistentVolume
}

// newRig has the nodes named, the class "local" for volumes that exist and the
// class "made", both WaitForFirstConsumer.
func newRig(t testing.TB, cfg storagesim.Config, nodes ...string) *rig {
	t.Helper()
	cfg.NoNodes = true
	if cfg.Only == nil {
		cfg.Only = rigConfig().Only
	}
	return rigOf(storagesimtest.New(t, cfg), nodes...)
}

// rigConfig returns the configuration of a rig's cluster.
func rigConfig() storagesim.Config {
	return storagesim.Config{
		NoNodes: true,
		Only:    []string{storagesim.PVController, storagesim.PVCProtection, storagesim.PVProtection, storagesim.Scheduler},
	}
}

// rigOf returns a rig for a cluster that exists.
func rigOf(c *storagesimtest.Cluster, nodes ...string) *rig {
	c.T.Helper()
	r := &rig{
		Cluster: c, nodes: map[string]*v1.Node{}, pods: map[string]*v1.Pod{},
		claims: map[string]*v1.PersistentVolumeClaim{}, volumes: map[string]*v1.PersistentVolume{},
	}
	c.Engine().Server().OnWrite(r.watch)
	r.class("local", binding.NotSupportedProvisioner)
	r.class("made", rackName)
	for _, node := range nodes {
		r.node(node)
	}
	r.Settle()
	return r
}

func (r *rig) violated(format string, args ...any) {
	r.unsafe = append(r.unsafe, fmt.Sprintf(format, args...))
}

// safe fails the test with what has happened that must never happen.
func (r *rig) safe() {
	r.T.Helper()
	if len(r.unsafe) > 0 {
		r.T.Fatalf("unsafe: %s", strings.Join(r.unsafe, "; "))
	}
}

// watch receives every write.
func (r *rig) watch(w trace.Write) {
	if w.Err != nil {
		return
	}
	key := strings.TrimPrefix(w.Namespace+"/"+w.Name, "/")
	switch w.Kind {
	case "Node":
		if node, ok := w.New.(*v1.Node); ok {
			r.nodes[key] = node // remembered when it is gone: a pod may have been sent there before
		}
	case "PersistentVolume":
		r.watchVolume(w)
		remember(r.volumes, key, w)
	case "PersistentVolumeClaim":
		r.watchClaim(w)
		remember(r.claims, key, w)
	case "Pod":
		r.watchPod(w)
		remember(r.pods, key, w)
	}
}

func remember[T any](objects map[string]T, key string, w trace.Write) {
	if obj, ok := w.New.(T); ok {
		objects[key] = obj
	} else {
		delete(objects, key)
	}
}

// watchVolume: a volume that belongs to a claim stays with it, and stays while the
// claim does.
func (r *rig) watchVolume(w trace.Write) {
	pv, _ := w.New.(*v1.PersistentVolume)
	old, _ := w.Old.(*v1.PersistentVolume)
	if old == nil || old.Spec.ClaimRef == nil || old.Spec.ClaimRef.UID == "" {
		return
	}
	switch owner := r.claims[ownerOf(old)]; {
	case pv != nil && pv.Spec.ClaimRef != nil && pv.Spec.ClaimRef.UID != old.Spec.ClaimRef.UID:
		r.violated("%s gives pv %s of claim %s to claim %s", w.Actor, pv.Name, ownerOf(old), ownerOf(pv))
	case pv == nil && owner != nil && owner.UID == old.Spec.ClaimRef.UID && owner.Spec.VolumeName == old.Name:
		r.violated("%s deletes pv %s, to which claim %s is bound", w.Actor, old.Name, ownerOf(old))
	}
}

// watchClaim: a claim that is bound stays with its volume, and no volume has two such
// claims. What an unbound claim names is no more than a wish.
func (r *rig) watchClaim(w trace.Write) {
	claim, _ := w.New.(*v1.PersistentVolumeClaim)
	old, _ := w.Old.(*v1.PersistentVolumeClaim)
	if bound(old) && claim != nil && old.Spec.VolumeName != claim.Spec.VolumeName {
		r.violated("%s moves claim %s from pv %s to pv %s", w.Actor, claim.Name, old.Spec.VolumeName, claim.Spec.VolumeName)
	}
	if !bound(claim) {
		return
	}
	for _, other := range r.claims {
		if other.UID != claim.UID && bound(other) && other.Spec.VolumeName == claim.Spec.VolumeName {
			r.violated("%s binds claim %s to pv %s, which claim %s has", w.Actor, claim.Name, claim.Spec.VolumeName, other.Name)
		}
	}
}

// bound: the PV controller has tied the claim to its volume.
func bound(claim *v1.PersistentVolumeClaim) bool {
	return claim != nil && claim.Spec.VolumeName != "" && claim.Annotations[binding.AnnBindCompleted] != ""
}

// watchPod: a pod gets one node, and on it all of its volumes.
func (r *rig) watchPod(w trace.Write) {
	pod, _ := w.New.(*v1.Pod)
	old, _ := w.Old.(*v1.Pod)
	switch {
	case pod == nil || old == nil || pod.Spec.NodeName == old.Spec.NodeName:
	case old.Spec.NodeName != "":
		r.violated("pod %s moves from %s to %s", pod.Name, old.Spec.NodeName, pod.Spec.NodeName)
	case !selects(pod.Spec.NodeSelector, r.nodes[pod.Spec.NodeName].Labels):
		r.violated("pod %s is bound to %s, where it must not go", pod.Name, pod.Spec.NodeName)
	default:
		if err := r.hasItsVolumes(pod); err != nil {
			r.violated("pod %s is bound to %s, and %v", pod.Name, pod.Spec.NodeName, err)
		}
	}
}

func selects(want, labels map[string]string) bool {
	for key, value := range want {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// hasItsVolumes: each claim of the pod is bound to a volume that can be reached from
// its node.
func (r *rig) hasItsVolumes(pod *v1.Pod) error {
	node := r.nodes[pod.Spec.NodeName]
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim := r.claims[pod.Namespace+"/"+v.PersistentVolumeClaim.ClaimName]
		if !bound(claim) {
			return fmt.Errorf("claim %s is not bound", v.PersistentVolumeClaim.ClaimName)
		}
		pv := r.volumes[claim.Spec.VolumeName]
		if pv == nil || pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID {
			return fmt.Errorf("pv %s is not that of claim %s", claim.Spec.VolumeName, claim.Name)
		}
		if err := binding.CheckNodeAffinity(pv, node.Labels); err != nil {
			return fmt.Errorf("pv %s of claim %s is elsewhere: %w", pv.Name, claim.Name, err)
		}
	}
	return nil
}

// consistent checks what must hold at rest beside safe: every claim that is bound has its
// volume, and no volume is kept for a claim that has another.
func (r *rig) consistent() {
	r.T.Helper()
	for _, name := range slices.Sorted(maps.Keys(r.volumes)) {
		pv := r.volumes[name]
		if pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID == "" {
			continue
		}
		claim := r.claims[ownerOf(pv)]
		if claim != nil && claim.UID == pv.Spec.ClaimRef.UID && claim.Spec.VolumeName != name {
			r.T.Fatalf("pv %s is kept for claim %s, which has pv %q", name, claim.Name, claim.Spec.VolumeName)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.claims)) {
		claim := r.claims[key]
		if claim.Status.Phase == v1.ClaimBound && r.volumes[claim.Spec.VolumeName] == nil {
			r.T.Fatalf("claim %s is bound to pv %s, which does not exist", claim.Name, claim.Spec.VolumeName)
		}
	}
	r.safe()
}

// placed fails the test if one of the pods has no node.
func (r *rig) placed(pods ...string) {
	r.T.Helper()
	for _, name := range pods {
		r.Must(r.placement(name))
	}
}

// placement returns an error if the pod has no node, which says why.
func (r *rig) placement(name string) error {
	if r.nodeOf(name) != "" {
		return nil
	}
	why, _ := r.Cluster.Cluster.Explain("pod/" + name)
	return fmt.Errorf("pod %s has no node: %s", name, why)
}

func ownerOf(pv *v1.PersistentVolume) string {
	return pv.Spec.ClaimRef.Namespace + "/" + pv.Spec.ClaimRef.Name
}
