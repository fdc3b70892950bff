package storagesim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

const shelfName = "example.com/shelf"

// shelf is a backend that an author could write: it keeps its volumes under their
// names, so that making one twice makes one.
type shelf struct {
	holds map[string]bool
	made  map[string]int // how often each was put there, not counting repeats
	onPut func(name string)
	// onClean hears of assets deleted by StoreVolume, for want of an object.
	onClean func(volume *v1.PersistentVolume)
}

func newShelf() *shelf { return &shelf{holds: map[string]bool{}, made: map[string]int{}} }

func (s *shelf) Provision(_ context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if !s.holds[options.PVName] {
		s.holds[options.PVName] = true
		s.made[options.PVName]++
	}
	if s.onPut != nil {
		s.onPut(options.PVName)
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      options.PVC.Spec.Resources.Requests,
			AccessModes:                   options.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			PersistentVolumeSource:        v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "shelf", Path: "/" + options.PVName}},
		},
	}, provisioner.ProvisioningFinished, nil
}

func (s *shelf) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	if volume.Status.Phase == "" && s.onClean != nil {
		s.onClean(volume)
	}
	delete(s.holds, volume.Name)
	return nil
}

func (s *shelf) Volumes(context.Context) ([]string, error) {
	var names []string
	for name := range s.holds {
		names = append(names, name)
	}
	return names, nil
}

const shelfClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: shelf}
provisioner: example.com/shelf
`

func shelfClaim(name string) string {
	return strings.ReplaceAll(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec:
  storageClassName: shelf
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
`, "NAME", name)
}

// shelfRig is a control plane without nodes and the shelf's provisioner, with
// trouble before it. It watches for what must never happen.
type shelfRig struct {
	*storagesim.Cluster
	shelf  *shelf
	faulty *provisioner.Faulty
	unsafe []string

	claims   map[string]*v1.PersistentVolumeClaim // by UID, as they are
	volumeOf map[string]string                    // claim's UID -> its volume, while there is one
	hadOne   map[string]bool                      // UIDs of claims that ever had one
	emptied  map[string]bool                      // volumes whose asset StoreVolume deleted: a quirk
}

func newShelfRig(cfg storagesim.Config, change ...func(*provisioner.Config)) (*shelfRig, error) {
	cfg.NoNodes = true
	if cfg.Only == nil {
		cfg.Only = shelfConfig().Only
	}
	c, err := storagesim.New(cfg)
	if err != nil {
		return nil, err
	}
	return shelfRigOf(c, change...)
}

// shelfConfig is the configuration of a shelf rig's cluster.
func shelfConfig() storagesim.Config {
	return storagesim.Config{
		NoNodes: true,
		Only:    []string{storagesim.PVController, storagesim.PVCProtection, storagesim.PVProtection},
	}
}

// shelfRigOf is newShelfRig for a cluster that there is.
func shelfRigOf(c *storagesim.Cluster, change ...func(*provisioner.Config)) (*shelfRig, error) {
	s := newShelf()
	x := &shelfRig{
		Cluster: c, shelf: s, faulty: &provisioner.Faulty{Provisioner: s},
		claims: map[string]*v1.PersistentVolumeClaim{}, volumeOf: map[string]string{}, hadOne: map[string]bool{}, emptied: map[string]bool{},
	}
	c.Server().OnWrite(x.watch)
	// provisioner/doc.go: StoreVolume cannot know that a try succeeded whose answer
	// was lost, and after its last one it deletes the asset of a volume that is
	// there.
	s.onClean = func(volume *v1.PersistentVolume) {
		x.emptied[volume.Name] = x.volumeOf[string(volume.Spec.ClaimRef.UID)] == volume.Name
	}
	pc := provisioner.Config{Name: shelfName, Provisioner: x.faulty}
	for _, f := range change {
		f(&pc)
	}
	return x, errors.Join(c.AddProvisionController(pc), c.Apply(shelfClass), c.Settle())
}

func (x *shelfRig) violated(format string, args ...any) {
	x.unsafe = append(x.unsafe, fmt.Sprintf(format, args...))
}

func (x *shelfRig) safe() error {
	if len(x.unsafe) == 0 {
		return nil
	}
	return errors.New("unsafe: " + strings.Join(x.unsafe, "; "))
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
		if claim.Status.Phase == v1.ClaimBound && claim.DeletionTimestamp == nil && !x.shelf.holds[claim.Spec.VolumeName] && !x.emptied[claim.Spec.VolumeName] {
			x.violated("claim %s is bound to %s, which is not on the shelf", claim.Name, claim.Spec.VolumeName)
		}
	}
}

// crashes is how often the provisioner has crashed so far.
func (x *shelfRig) crashes() int {
	n := 0
	for _, entry := range x.Engine().Trace().Entries() {
		if _, ok := entry.Record.(trace.Crashed); ok && entry.Actor == shelfName {
			n++
		}
	}
	return n
}

// bound says whether the claim is.
func (x *shelfRig) bound(name string) bool {
	claim, err := x.Claim(name)
	return err == nil && claim.Status.Phase == v1.ClaimBound
}

// says are the reasons of the events about an object, sorted, each once.
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

// lastMessage is what the last event of that reason about an object says.
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
