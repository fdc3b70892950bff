package pvcontroller_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/pvcontroller"
)

// A scenario is something the PV controller does, which must end well wherever it is
// broken off.
type scenario struct {
	cfg pvcontroller.Config
	// prepare and act are acts of the user; in between the cluster comes to rest.
	prepare, act func(c *cluster)
	// check must hold in the end.
	check func(c *cluster)
}

// horizon is the time after act that is looked at: a resync falls into it.
const horizon = 20 * time.Second

// start makes a cluster and plays the scenario's beginning.
func (s scenario) start(t *testing.T, policy engine.Policy) *cluster {
	c := newCluster(t, engine.Config{Policy: policy}, s.cfg)
	require.NoError(t, c.engine.Add("kubelet", playKubelet))
	s.prepare(c)
	c.resync()
	s.act(c)
	return c
}

// crashAtEveryStep crashes the PV controller at each of the scenario's steps: not only
// at its calls, but also where it sleeps, polls, is idle, or has just been told
// something.
func (s scenario) crashAtEveryStep(t *testing.T) {
	s.atEveryStep(t, func(c *cluster) { require.NoError(c, c.engine.Crash(pvcontroller.ActorName)) })
}

// atEveryStep plays the scenario once to the end, and then again for each of its steps,
// where meddle comes between.
func (s scenario) atEveryStep(t *testing.T, meddle func(c *cluster)) {
	for name, policy := range map[string]func() engine.Policy{
		"in order": func() engine.Policy { return nil },
		"seed 1":   func() engine.Policy { return engine.Seeded(1) },
		"seed 2":   func() engine.Policy { return engine.Seeded(2) },
	} {
		t.Run(name, func(t *testing.T) {
			c := s.start(t, policy())
			steps := 0
			for end := c.engine.Now().Add(horizon); c.engine.Now().Before(end); steps++ {
				_, err := c.engine.Step()
				require.NoError(t, err)
			}
			c.resync()
			for n := range steps {
				c := s.start(t, policy())
				for range n {
					_, err := c.engine.Step()
					require.NoError(t, err)
				}
				meddle(c)
				c.resync()
				c.resync()
				s.check(c)
				if t.Failed() {
					t.Fatalf("after step %d of %d", n, steps)
				}
			}
			require.Greater(t, steps, 10)
			t.Logf("%d steps", steps)
		})
	}
}

// playKubelet returns an actor that runs recycler pods to their end.
func playKubelet(env control.Env) error {
	pods := control.NewCache[*v1.Pod](env, control.Pods())
	queue := env.Queue(control.QueueConfig{Name: "pods", Reconcile: func(ctx context.Context, key string) error {
		pod, found := pods.Get(key)
		if !found || pod.Status.Phase != v1.PodPending || !strings.HasPrefix(pod.Name, "recycler-for-") {
			return nil
		}
		clone := pod.DeepCopy()
		clone.Status.Phase = v1.PodSucceeded
		_, err := env.Client().CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, clone, metav1.UpdateOptions{})
		return err
	}})
	pods.Handle(control.Enqueue[*v1.Pod](queue.Add))
	return nil
}

// bound prepares a volume of that policy with its claim; released deletes the claim.
func bound(policyName v1.PersistentVolumeReclaimPolicy) func(c *cluster) {
	return func(c *cluster) {
		c.offered("pv", "5Gi", policy(policyName))
		c.claimed("data")
		c.resync()
		c.requireBound("data", "pv")
	}
}

func released(c *cluster) { c.deleteClaim("data") }

func TestBindConvergesWhereverTheControllerCrashes(t *testing.T) { // semantics 1 must 5
	scenario{
		prepare: func(c *cluster) {
			c.offered("a", "5Gi")
			c.offered("b", "5Gi")
		},
		act: func(c *cluster) { c.claimed("data") },
		check: func(c *cluster) {
			other := c.requireOneBound("data", "a", "b")
			require.Equal(c, v1.VolumeAvailable, other.Status.Phase)
			require.Nil(c, other.Spec.ClaimRef)
		},
	}.crashAtEveryStep(t)
}

func TestReleaseConvergesWhereverTheControllerCrashes(t *testing.T) {
	scenario{
		prepare: bound(v1.PersistentVolumeReclaimRetain), act: released,
		check: func(c *cluster) {
			require.Equal(c, v1.VolumeReleased, c.volume("pv").Status.Phase)
			require.NotNil(c, c.volume("pv").Spec.ClaimRef)
		},
	}.crashAtEveryStep(t)
}

func TestDeletionConvergesWhereverTheControllerCrashes(t *testing.T) {
	disk := map[string]bool{}
	scenario{
		cfg: pvcontroller.Config{Deleters: map[string]pvcontroller.Deleter{
			pvcontroller.HostPathPlugin: pvcontroller.NewHostPathDeleter(func(path string) error {
				delete(disk, path)
				return nil
			}),
		}},
		prepare: func(c *cluster) {
			disk["/tmp/pv"] = true
			c.offered("pv", "5Gi", policy(v1.PersistentVolumeReclaimDelete), annotated("pv.kubernetes.io/provisioned-by=kubernetes.io/host-path"))
			c.claimed("data")
			c.resync()
			require.Contains(c, c.volume("pv").Finalizers, "kubernetes.io/pv-controller")
		},
		act: released,
		check: func(c *cluster) {
			c.requireGone("pv")
			require.Empty(c, disk)
		},
	}.crashAtEveryStep(t)
}

func TestRecyclingConvergesWhereverTheControllerCrashes(t *testing.T) {
	scenario{
		prepare: bound(v1.PersistentVolumeReclaimRecycle), act: released,
		check: func(c *cluster) {
			require.Equal(c, v1.VolumeAvailable, c.volume("pv").Status.Phase)
			require.Nil(c, c.volume("pv").Spec.ClaimRef)
			_, found := c.podNamed(recycler)
			require.False(c, found, "the recycler pod is left")
		},
	}.crashAtEveryStep(t)
}

func TestDefaultClassAssignmentConvergesWhereverTheControllerCrashes(t *testing.T) {
	scenario{
		prepare: func(c *cluster) {
			c.claimed("data", func(claim *v1.PersistentVolumeClaim) { claim.Spec.StorageClassName = nil })
		},
		act: func(c *cluster) {
			c.class("std", "example.com/ext", storagev1.VolumeBindingImmediate, func(class *storagev1.StorageClass) {
				class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
			})
		},
		check: func(c *cluster) {
			require.Equal(c, new("std"), c.claim("data").Spec.StorageClassName)
			require.Equal(c, "example.com/ext", c.claim("data").Annotations["volume.kubernetes.io/storage-provisioner"])
		},
	}.crashAtEveryStep(t)
}

func TestUnbindingConvergesWhereverTheControllerCrashes(t *testing.T) {
	scenario{
		prepare: bound(v1.PersistentVolumeReclaimRetain),
		act: func(c *cluster) {
			c.offered("reserved", "5Gi", reservedFor("data"), withUID(string(c.claim("data").UID)))
		},
		check: func(c *cluster) {
			require.Equal(c, v1.VolumeAvailable, c.volume("reserved").Status.Phase)
			require.Empty(c, c.volume("reserved").Spec.ClaimRef.UID)
			c.requireBound("data", "pv")
		},
	}.crashAtEveryStep(t)
}
