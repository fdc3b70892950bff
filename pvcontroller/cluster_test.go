package pvcontroller_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/pvcontroller/ephemeral"
	"github.com/storagesim/storagesim/pvcontroller/expand"
	"github.com/storagesim/storagesim/pvcontroller/protection"
	"github.com/storagesim/storagesim/trace"
)

// cluster is an API server with the PV controller and the small controllers beside it, and no
// other actor.
type cluster struct {
	testing.TB
	engine *engine.Engine
	user   kubernetes.Interface
}

var ctx = context.Background()

func newCluster(t testing.TB, ecfg engine.Config, cfg pvcontroller.Config) *cluster {
	t.Helper()
	e := engine.New(ecfg)
	t.Cleanup(e.Close)
	require.NoError(t, e.Add(pvcontroller.ActorName, pvcontroller.New(cfg)))
	require.NoError(t, e.Add(protection.PVCActorName, protection.NewPVC()))
	require.NoError(t, e.Add(protection.PVActorName, protection.NewPV()))
	require.NoError(t, e.Add(ephemeral.ActorName, ephemeral.New()))
	require.NoError(t, e.Add(expand.ActorName, expand.New()))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("\n" + e.Trace().Story(engine.Start()))
		}
	})
	return &cluster{TB: t, engine: e, user: fake.New(e.Server(), "user")}
}

func (c *cluster) settle() {
	c.Helper()
	require.NoError(c, c.engine.Settle())
}

// resync settles, and lets the controller look at everything once more.
func (c *cluster) resync() {
	c.Helper()
	c.settle()
	require.NoError(c, c.engine.RunFor(16*time.Second))
	c.settle()
}

func (c *cluster) claim(name string) *v1.PersistentVolumeClaim {
	c.Helper()
	claim, err := c.user.CoreV1().PersistentVolumeClaims("default").Get(ctx, name, metav1.GetOptions{})
	require.NoError(c, err)
	return claim
}

func (c *cluster) volume(name string) *v1.PersistentVolume {
	c.Helper()
	volume, err := c.user.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	require.NoError(c, err)
	return volume
}

// claimed creates a claim for 5Gi of class manual.
func (c *cluster) claimed(name string, change ...func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	c.Helper()
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: new("manual"),
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("5Gi")}},
		},
	}
	for _, f := range change {
		f(claim)
	}
	claim, err := c.user.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim, metav1.CreateOptions{})
	require.NoError(c, err)
	return claim
}

// offered creates a hostPath volume of class manual, Retain.
func (c *cluster) offered(name, size string, change ...func(*v1.PersistentVolume)) *v1.PersistentVolume {
	c.Helper()
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: "manual",
			Capacity:                      v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)},
			PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/tmp/" + name}},
		},
	}
	for _, f := range change {
		f(volume)
	}
	volume, err := c.user.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	require.NoError(c, err)
	return volume
}

// class creates a storage class.
func (c *cluster) class(name, provisioner string, mode storagev1.VolumeBindingMode, change ...func(*storagev1.StorageClass)) {
	c.Helper()
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
	for _, f := range change {
		f(class)
	}
	_, err := c.user.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
	require.NoError(c, err)
}

// pod creates a pod that uses the claim, on the node if there is one.
func (c *cluster) pod(name, claim, node string) {
	c.Helper()
	_, err := c.user.CoreV1().Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: v1.PodSpec{
			NodeName:   node,
			Containers: []v1.Container{{Name: "c", Image: "busybox"}},
			Volumes: []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}}},
		},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
}

func (c *cluster) deleteClaim(name string) {
	c.Helper()
	require.NoError(c, c.user.CoreV1().PersistentVolumeClaims("default").Delete(ctx, name, metav1.DeleteOptions{}))
}

func (c *cluster) deletePod(name string) {
	c.Helper()
	now := int64(0)
	require.NoError(c, c.user.CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}

func (c *cluster) patchVolume(name, patch string) {
	c.Helper()
	_, err := c.user.CoreV1().PersistentVolumes().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c, err)
}

func (c *cluster) patchClaim(name, patch string) {
	c.Helper()
	_, err := c.user.CoreV1().PersistentVolumeClaims("default").Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c, err)
}

func (c *cluster) patchPod(name, patch string) {
	c.Helper()
	_, err := c.user.CoreV1().Pods("default").Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c, err)
}

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

// removeVolume deletes a volume by force, finalizers and all.
func (c *cluster) removeVolume(name string) {
	c.Helper()
	require.NoError(c, c.user.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{}))
	c.patchVolume(name, `{"metadata":{"finalizers":null}}`)
}

// events returns the events about an object, in order, as "Type Reason", repeats left out.
func (c *cluster) events(name string) []string {
	var said []string
	for _, entry := range c.engine.Trace().Entries() {
		if event, ok := entry.Record.(trace.Event); ok && event.About.Name == name && !event.Repeated {
			said = append(said, event.Type+" "+event.Reason)
		}
	}
	return said
}

// writes returns the controllers' successful writes on an object since a point in the
// trace, as "verb resource".
func (c *cluster) writes(name string, since int) []string {
	var done []string
	for _, entry := range c.engine.Trace().Since(since) {
		w, ok := entry.Record.(trace.Write)
		if !ok || w.Name != name || w.Err != nil || w.Actor == "user" {
			continue
		}
		resource := w.Resource.Resource
		if w.Subresource != "" {
			resource += "/" + w.Subresource
		}
		done = append(done, w.Verb+" "+resource)
	}
	return done
}

// requireBound: volume and claim point to each other, and both say so.
func (c *cluster) requireBound(claimName, volumeName string) {
	c.Helper()
	claim, volume := c.claim(claimName), c.volume(volumeName)
	require.Equal(c, v1.ClaimBound, claim.Status.Phase)
	require.Equal(c, volumeName, claim.Spec.VolumeName)
	require.Contains(c, claim.Annotations, "pv.kubernetes.io/bind-completed")
	require.Equal(c, v1.VolumeBound, volume.Status.Phase)
	require.Equal(c, claim.UID, volume.Spec.ClaimRef.UID)
	require.Equal(c, volume.Spec.AccessModes, claim.Status.AccessModes)
}

// requireOneBound: the claim is bound to one of two equal volumes. It returns the other.
func (c *cluster) requireOneBound(claimName, first, second string) (other *v1.PersistentVolume) {
	c.Helper()
	if c.claim(claimName).Spec.VolumeName == second {
		first, second = second, first
	}
	c.requireBound(claimName, first)
	return c.volume(second)
}

func reservedFor(claim string) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) {
		volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: claim}
	}
}

func ofClass(name string) func(*v1.PersistentVolumeClaim) {
	return func(claim *v1.PersistentVolumeClaim) { claim.Spec.StorageClassName = &name }
}

func policy(p v1.PersistentVolumeReclaimPolicy) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) { volume.Spec.PersistentVolumeReclaimPolicy = p }
}

func annotated(pairs ...string) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) {
		volume.Annotations = map[string]string{}
		for _, pair := range pairs {
			key, value, _ := strings.Cut(pair, "=")
			volume.Annotations[key] = value
		}
	}
}

// atEverySeed runs a test in order and under some seeds.
func atEverySeed(t *testing.T, seeds int, test func(c *cluster)) {
	t.Helper()
	enginetest.AtEverySeed(t, seeds, func(t testing.TB, cfg engine.Config) {
		t.Helper()
		test(newCluster(t, cfg, pvcontroller.Config{}))
	})
}

// requireConsistent: bound claims and volumes are pairs, no claim waits that a free
// volume would do for, and no volume is left half bound.
func (c *cluster) requireConsistent() {
	c.Helper()
	claims, err := c.user.CoreV1().PersistentVolumeClaims("default").List(ctx, metav1.ListOptions{})
	require.NoError(c, err)
	volumes, err := c.user.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	require.NoError(c, err)
	uids := map[types.UID]string{}
	for _, claim := range claims.Items {
		uids[claim.UID] = claim.Spec.VolumeName
		if claim.Status.Phase == v1.ClaimBound {
			c.requireBound(claim.Name, claim.Spec.VolumeName)
		}
	}
	for _, volume := range volumes.Items {
		ref := volume.Spec.ClaimRef
		switch volume.Status.Phase {
		case v1.VolumeBound:
			require.Equal(c, volume.Name, uids[ref.UID])
		case v1.VolumeAvailable:
			require.Nil(c, ref)
			for _, claim := range claims.Items {
				if claim.Status.Phase == v1.ClaimPending {
					require.Negative(c, volume.Spec.Capacity.Storage().Cmp(*claim.Spec.Resources.Requests.Storage()), "%s would do for %s", volume.Name, claim.Name)
				}
			}
		default:
			require.Equal(c, v1.VolumeReleased, volume.Status.Phase)
			require.NotContains(c, uids, ref.UID)
		}
	}
}
