package provisioner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// shelfRig is a control plane without nodes and the shelf's provisioner, with
// trouble before it. It watches for what must never happen.
type shelfRig struct {
	*storagesimtest.Cluster
	shelf  *clustertest.Shelf
	faulty *provisioner.Faulty
	unsafe []string

	claims   map[string]*v1.PersistentVolumeClaim // by UID, as they are
	volumeOf map[string]string                    // claim's UID -> its volume, while there is one
	hadOne   map[string]bool                      // UIDs of claims that ever had one
	emptied  map[string]bool                      // volumes whose asset StoreVolume deleted: a quirk
}

func newShelfRig(t testing.TB, cfg storagesim.Config, change ...func(*provisioner.Config)) *shelfRig {
	t.Helper()
	cfg.NoNodes = true
	if cfg.Only == nil {
		cfg.Only = shelfConfig().Only
	}
	return shelfRigOf(storagesimtest.New(t, cfg), change...)
}

// shelfConfig returns the configuration of a shelf rig's cluster.
func shelfConfig() storagesim.Config {
	return storagesim.Config{
		NoNodes: true,
		Only:    []string{storagesim.PVController, storagesim.PVCProtection, storagesim.PVProtection},
	}
}

// shelfRigOf returns a shelfRig for a cluster that exists.
func shelfRigOf(c *storagesimtest.Cluster, change ...func(*provisioner.Config)) *shelfRig {
	c.T.Helper()
	s := clustertest.NewShelf()
	x := &shelfRig{
		Cluster: c, shelf: s, faulty: &provisioner.Faulty{Provisioner: s},
		claims: map[string]*v1.PersistentVolumeClaim{}, volumeOf: map[string]string{}, hadOne: map[string]bool{}, emptied: map[string]bool{},
	}
	c.Engine().Server().OnWrite(x.watch)
	// provisioner/doc.go: StoreVolume cannot know that a try succeeded whose answer
	// was lost, and after its last one it deletes the asset of a volume that is
	// there.
	s.OnClean = func(volume *v1.PersistentVolume) {
		x.emptied[volume.Name] = x.volumeOf[string(volume.Spec.ClaimRef.UID)] == volume.Name
	}
	pc := provisioner.Config{Name: clustertest.ShelfName, Provisioner: x.faulty}
	for _, f := range change {
		f(&pc)
	}
	c.AddProvisionController(pc)
	c.Apply(clustertest.ShelfClass)
	c.Settle()
	return x
}

func (x *shelfRig) violated(format string, args ...any) {
	x.unsafe = append(x.unsafe, fmt.Sprintf(format, args...))
}

// safe fails the test with what has happened that must never happen.
func (x *shelfRig) safe() {
	x.T.Helper()
	if len(x.unsafe) > 0 {
		x.T.Fatalf("unsafe: %s", strings.Join(x.unsafe, "; "))
	}
}

// watch checks after every write that a claim has one volume at most, and that a
// bound claim's volume is on the shelf.
func (x *shelfRig) watch(w trace.Write) {
	if w.Err != nil {
		return
	}
	switch w.Kind {
	case "PersistentVolume":
		volume, _ := w.New.(*v1.PersistentVolume)
		old, _ := w.Old.(*v1.PersistentVolume)
		switch {
		case old == nil:
			uid := string(volume.Spec.ClaimRef.UID)
			if other := x.volumeOf[uid]; other != "" {
				x.violated("claim %s has the volumes %s and %s", uid, other, volume.Name)
			}
			x.volumeOf[uid], x.hadOne[uid] = volume.Name, true
		case volume == nil:
			delete(x.volumeOf, string(old.Spec.ClaimRef.UID))
		}
	case "PersistentVolumeClaim":
		if claim, ok := w.New.(*v1.PersistentVolumeClaim); ok {
			x.claims[string(claim.UID)] = claim
		} else {
			delete(x.claims, string(w.Old.(*v1.PersistentVolumeClaim).UID))
		}
	}
	for _, claim := range x.claims {
		if claim.Status.Phase == v1.ClaimBound && claim.DeletionTimestamp == nil && !x.shelf.Holds[claim.Spec.VolumeName] && !x.emptied[claim.Spec.VolumeName] {
			x.violated("claim %s is bound to %s, which is not on the shelf", claim.Name, claim.Spec.VolumeName)
		}
	}
}

// crashes returns the number of crashes of the provisioner so far.
func (x *shelfRig) crashes() int {
	n := 0
	for _, entry := range x.Engine().Trace().Entries() {
		if _, ok := entry.Record.(trace.Crashed); ok && entry.Actor == clustertest.ShelfName {
			n++
		}
	}
	return n
}

// bound reports whether the claim is.
func (x *shelfRig) bound(name string) bool {
	claim, err := x.Cluster.Cluster.Claim(name)
	return err == nil && claim.Status.Phase == v1.ClaimBound
}

// says returns the reasons of the events about an object, sorted, each once.
func (x *shelfRig) says(name string) []string {
	list, err := x.Client().CoreV1().Events(metav1.NamespaceAll).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	var reasons []string
	for _, event := range list.Items {
		if event.InvolvedObject.Name == name {
			reasons = append(reasons, event.Reason)
		}
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

// lastMessage returns the message of an object's last event with that reason.
func (x *shelfRig) lastMessage(t require.TestingT, name, reason string) string {
	list, err := x.Client().CoreV1().Events(metav1.NamespaceAll).List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	message := ""
	for _, event := range list.Items {
		if event.InvolvedObject.Name == name && event.Reason == reason {
			message = event.Message
		}
	}
	return message
}

// countNodeRemovals counts the writes that take selected-node off a claim.
func countNodeRemovals(n *int) func(trace.Write) {
	return func(w trace.Write) {
		old, _ := w.Old.(*v1.PersistentVolumeClaim)
		claim, _ := w.New.(*v1.PersistentVolumeClaim)
		if w.Err == nil && old != nil && claim != nil && old.Annotations[binding.AnnSelectedNode] != "" && claim.Annotations[binding.AnnSelectedNode] == "" {
			*n++
		}
	}
}
