package storagesim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/storagesim/storagesim/storagesimtest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/provisioner"
)

// Bugs of the past, each as a story that goes wrong without its fix and well with
// it. Some fixes are the library's, and then an option switches them; most are
// the provisioner's own, and then it behaves the old way.

// janitor is a shelf's provisioner that, when it starts, throws away what has
// neither a volume nor a claim: it mends what the library cannot, which writes
// nothing down before it calls Provision.
func janitor(s *shelf) func(control.Env) (provisioner.Provisioner, error) {
	return func(env control.Env) (provisioner.Provisioner, error) {
		env.Go("clean up", func(ctx context.Context) {
			claims, err := env.Client().CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
			if err != nil {
				return
			}
			volumes, err := env.Client().CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
			if err != nil {
				return
			}
			for name := range s.holds {
				claimed := slices.ContainsFunc(claims.Items, func(c v1.PersistentVolumeClaim) bool { return "pvc-"+string(c.UID) == name })
				saved := slices.ContainsFunc(volumes.Items, func(v v1.PersistentVolume) bool { return v.Name == name })
				if !claimed && !saved {
					delete(s.holds, name)
				}
			}
		})
		return s, nil
	}
}

// Bug 1, kubernetes-csi/external-provisioner 486, open: the process ends after
// Provision and before the object is there; the claim is deleted. The fix is a
// provisioner that compares its backend with the API when it starts.
func TestBug1ACrashBeforeTheObjectAndAClaimDeletedMeanwhile(t *testing.T) {
	for fixed, want := range map[bool]string{false: "in the backend of example.com/shelf, for which there is no pv", true: ""} {
		x := rigForTest(t, func(c *provisioner.Config) {
			if s := c.Provisioner.(*provisioner.Faulty).Provisioner.(*shelf); fixed {
				c.Provisioner, c.New = nil, janitor(s)
			}
		})
		require.NoError(t, x.Inject(engine.Fault{Actor: shelfName, Verb: "create", Resource: "pv", Crash: true, Restart: time.Minute}))
		require.NoError(t, x.Apply(shelfClaim("data")))
		require.NoError(t, x.RunFor(10*time.Second))
		require.Len(t, x.shelf.holds, 1)
		require.NoError(t, x.Delete("pvc/data"))
		require.NoError(t, x.RunFor(time.Hour))
		requireLeak(t, x.RequireNoLeaks(), want)
	}
}

// requireLeak checks that one thing leaked, or, if want is empty, nothing.
func requireLeak(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
		return
	}
	var found *storagesim.LeakError
	require.ErrorAs(t, err, &found)
	require.Len(t, found.Leaks, 1)
	require.ErrorContains(t, err, want)
}

// Bug 2, external-provisioner 131 and 311, fixed in 312: a call timed out, and the
// backend finishes it after the claim has been deleted. The fix is the answer
// Background instead of Finished: nothing is over until a final answer.
func TestBug2ATimeoutIsNoFinalAnswer(t *testing.T) {
	for state, want := range map[provisioner.ProvisioningState]string{
		provisioner.ProvisioningFinished:     "in the backend of example.com/shelf, for which there is no pv",
		provisioner.ProvisioningInBackground: "",
	} {
		x := rigForTest(t)
		x.faulty.OnProvision(provisioner.Answer{AnswerLost: true, State: state})
		require.NoError(t, x.Apply(shelfClaim("data")))
		require.NoError(t, x.RunFor(time.Second))
		require.NoError(t, x.Delete("pvc/data"))
		require.NoError(t, x.RunFor(time.Hour))
		requireLeak(t, x.RequireNoLeaks(), want)
	}
}

// Bug 3, external-provisioner 94, fixed in 216 and 251: each round of retries
// deleted what had been made, and began again. The fix is the queue store,
// Config.CreateProvisionedPVLimiter.
func TestBug3RetriesDoNotDeleteWhatTheyWaitFor(t *testing.T) {
	for fixed, want := range map[bool]int{false: 3, true: 1} {
		x := rigForTest(t, func(c *provisioner.Config) {
			if fixed {
				queued(c)
			}
		})
		require.NoError(t, x.Inject(refusals(10)))
		require.NoError(t, x.Apply(shelfClaim("data")))
		require.NoError(t, x.RunFor(20*time.Minute))
		claim, err := x.Claim("data")
		require.NoError(t, err)
		require.Equal(t, v1.ClaimBound, claim.Status.Phase)
		require.Equal(t, want, x.shelf.made[claim.Spec.VolumeName], "times the asset was made")
	}
}

// racks is a backend with a shelf on each node. It looks its node up, and its
// fields say how it behaves when that goes wrong.
type racks struct {
	env   control.Env
	holds map[string]string // volume -> node
	made  int
	full  string // a node without room

	reschedules bool // answers Reschedule where the old way was Finished
	finishes    bool // goes on with what it has begun, whatever became of the node
	slow        bool // its first answer is lost
}

func (r *racks) New(env control.Env) (provisioner.Provisioner, error) {
	r.env = env
	return r, nil
}

func (r *racks) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	refusal := provisioner.ProvisioningFinished
	if r.reschedules {
		refusal = provisioner.ProvisioningReschedule
	}
	node, begun := options.SelectedNodeName, r.holds[options.PVName]
	if !r.finishes || begun == "" {
		_, err := r.env.Client().CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, refusal, err
		case err != nil:
			return nil, provisioner.ProvisioningNoChange, err
		case node == r.full:
			return nil, refusal, errors.New("ResourceExhausted")
		}
	}
	if r.holds[options.PVName] != node {
		r.made++
	}
	r.holds[options.PVName] = node
	if r.slow {
		r.slow = false
		return nil, provisioner.ProvisioningInBackground, provisioner.ErrAnswerLost
	}
	volume, state, err := newShelf().Provision(ctx, options)
	volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	return volume, state, err
}

func (r *racks) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	delete(r.holds, volume.Name)
	return nil
}

const racksYAML = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: racks}
provisioner: example.com/racks
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: racks
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
`

// playRacks has a pod want a volume on some node, with a step between the
// scheduler's choice and the provisioner's start. Nodes are objects without a
// kubelet, so that a deleted one stays away.
func playRacks(t *testing.T, r *racks, between func(c *storagesim.Cluster, chosen string)) *storagesimtest.Cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{
		NoNodes: true,
		Only:    []string{storagesim.PVController, storagesim.PVCProtection, storagesim.PVProtection, storagesim.Scheduler},
	})
	for i := range 2 {
		name := fmt.Sprintf("node-%d", i+1)
		_, err := c.Client().CoreV1().Nodes().Create(context.Background(), &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
			Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourcePods: resource.MustParse("110")}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	c.Apply(racksYAML)
	c.RunUntil(func() bool { return c.Claim("data").Annotations[binding.AnnSelectedNode] != "" })
	r.holds = map[string]string{}
	between(c.Cluster, c.Claim("data").Annotations[binding.AnnSelectedNode])
	if r.env == nil {
		c.AddProvisionController(provisioner.Config{Name: "example.com/racks", New: r.New})
	}
	c.RunFor(time.Hour)
	return c
}

func deleteNode(t *testing.T, c *storagesim.Cluster, node string) {
	t.Helper()
	require.NoError(t, c.Client().CoreV1().Nodes().Delete(context.Background(), node, metav1.DeleteOptions{}))
}

// Bug 5, sig-storage-lib 121 and kubernetes 100485, fixed in lib 139: selected-node
// names a node that is gone. The fix is the answer Reschedule to NotFound.
func TestBug5TheSelectedNodeIsGone(t *testing.T) {
	for fixed, want := range map[bool]v1.PersistentVolumeClaimPhase{false: v1.ClaimPending, true: v1.ClaimBound} {
		c := playRacks(t, &racks{reschedules: fixed}, func(c *storagesim.Cluster, chosen string) { deleteNode(t, c, chosen) })
		require.Equal(t, want, c.Claim("data").Status.Phase, "fixed %v", fixed)
		require.Equal(t, fixed, c.Pod("web").Spec.NodeName != "")
	}
}

// Bug 6, sig-storage-lib 152, fixed in 194: fix 5 leaks when provisioning had begun
// on the node that is gone: it begins again elsewhere. The fix is to go on with
// what was begun.
func TestBug6TheSelectedNodeGoesWhileProvisioningIsUnderWay(t *testing.T) {
	for fixed, want := range map[bool]int{false: 2, true: 1} {
		r := &racks{reschedules: true, slow: true, finishes: fixed}
		c := playRacks(t, r, func(c *storagesim.Cluster, chosen string) {
			require.NoError(t, c.AddProvisionController(provisioner.Config{Name: "example.com/racks", New: r.New}))
			require.NoError(t, c.RunUntil(func() bool { return r.made == 1 }))
			deleteNode(t, c, chosen)
		})
		require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
		require.Equal(t, want, r.made, "assets made for one claim")
	}
}

// Bug 7, sig-storage-lib 68: the chosen node has no room. The fix is Reschedule.
func TestBug7TheSelectedNodeIsFull(t *testing.T) {
	for fixed, want := range map[bool]v1.PersistentVolumeClaimPhase{false: v1.ClaimPending, true: v1.ClaimBound} {
		r := &racks{reschedules: fixed}
		c := playRacks(t, r, func(c *storagesim.Cluster, chosen string) {
			r.full = chosen
			// Cordoned, as a scheduler that knows of capacity would have it: else it
			// may choose the same node for ever.
			patch := []byte(`{"spec":{"unschedulable":true}}`)
			_, err := c.Client().CoreV1().Nodes().Patch(context.Background(), chosen, "application/merge-patch+json", patch, metav1.PatchOptions{})
			require.NoError(t, err)
		})
		require.Equal(t, want, c.Claim("data").Status.Phase, "fixed %v", fixed)
	}
}

// Bug 8, external-provisioner 546, fixed by KEP-2644: the volume is deleted before
// its claim, and the asset stays. The fix is the finalizer, Config.AddFinalizer.
func TestBug8TheVolumeIsDeletedBeforeItsClaim(t *testing.T) {
	for fixed, want := range map[bool]string{false: "in the backend of example.com/shelf, for which there is no pv", true: ""} {
		x := rigForTest(t, func(c *provisioner.Config) { c.AddFinalizer = fixed })
		require.NoError(t, x.Apply(shelfClaim("data")))
		require.NoError(t, x.Settle())
		claim, err := x.Claim("data")
		require.NoError(t, err)
		require.NoError(t, x.Delete("pv/"+claim.Spec.VolumeName))
		require.NoError(t, x.Settle())
		require.NoError(t, x.Delete("pvc/data"))
		require.NoError(t, x.RunFor(time.Hour))
		requireLeak(t, x.RequireNoLeaks(), want)
	}
}
