package provisioner_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/provisioner"
)

const name = "example.com/test"

// backend is a storage system that takes its time and survives crashes of the
// provisioner in front of it.
type backend struct {
	clock    control.Clock
	takes    time.Duration
	fails    error
	state    provisioner.ProvisioningState // of a failure; default Finished
	deletes  int
	volumes  map[string]bool
	inFlight map[string]int
	most     int         // calls in flight at once for one claim
	asked    []time.Time // when Provision was called
}

// New returns the provisioner of one life.
func (b *backend) New(env control.Env) (provisioner.Provisioner, error) {
	b.clock, b.inFlight = env, map[string]int{}
	return b, nil
}

func (b *backend) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	b.asked = append(b.asked, b.clock.Now())
	b.inFlight[options.PVName]++
	b.most = max(b.most, b.inFlight[options.PVName])
	if b.takes > 0 {
		if err := b.clock.Sleep(ctx, b.takes); err != nil {
			return nil, provisioner.ProvisioningInBackground, err
		}
	}
	b.inFlight[options.PVName]--
	if b.fails != nil {
		return nil, cmp.Or(b.state, provisioner.ProvisioningFinished), b.fails
	}
	b.volumes[options.PVName] = true
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			AccessModes:                   options.PVC.Spec.AccessModes,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: options.PVC.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "nas", Path: "/" + options.PVName}},
		},
	}, provisioner.ProvisioningFinished, nil
}

func (b *backend) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	b.deletes++
	delete(b.volumes, volume.Name)
	return nil
}

// world is a provisioner on the real API server and engine; the test plays the
// PV controller.
type world struct {
	*engine.Engine
	t       testing.TB
	user    kubernetes.Interface
	backend *backend
}

func newWorld(t testing.TB, policy engine.Policy, change ...func(*provisioner.Config)) *world {
	t.Helper()
	return newWorldOn(t, engine.Config{Policy: policy}, change...)
}

func newWorldOn(t testing.TB, engineCfg engine.Config, change ...func(*provisioner.Config)) *world {
	t.Helper()
	e := engine.New(engineCfg)
	t.Cleanup(e.Close)
	w := &world{Engine: e, t: t, user: fake.New(e.Server(), "user"), backend: &backend{volumes: map[string]bool{}}}
	cfg := provisioner.Config{Name: name, New: w.backend.New}
	for _, f := range change {
		f(&cfg)
	}
	require.NoError(t, e.Add(name, provisioner.New(cfg)))
	w.class("fast", name)
	return w
}

func (w *world) class(class, provisioner string) {
	w.t.Helper()
	_, err := w.user.StorageV1().StorageClasses().Create(context.Background(),
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: provisioner}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func (w *world) claim() *v1.PersistentVolumeClaim { return w.claimOf("fast", "data", name) }

// claimOf makes a claim as it is when the PV controller has asked the
// provisioner for a volume.
func (w *world) claimOf(class, claimName, provisioner string) *v1.PersistentVolumeClaim {
	w.t.Helper()
	claim, err := w.user.CoreV1().PersistentVolumeClaims("default").Create(context.Background(), &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: claimName, Namespace: "default", Annotations: map[string]string{binding.AnnStorageProvisioner: provisioner}},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: oneGi()},
		},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return claim
}

func oneGi() v1.ResourceList { return v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")} }

// touch changes the claim; all its watchers get the change.
func (w *world) touch(value string) {
	w.t.Helper()
	claims := w.user.CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Get(context.Background(), "data", metav1.GetOptions{})
	require.NoError(w.t, err)
	metav1.SetMetaDataLabel(&claim.ObjectMeta, "touched", value)
	_, err = claims.Update(context.Background(), claim, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// release removes the claim and makes its volume Released.
func (w *world) release(volumeName string) {
	w.t.Helper()
	ctx, claims, volumes := context.Background(), w.user.CoreV1().PersistentVolumeClaims("default"), w.user.CoreV1().PersistentVolumes()
	claim, err := claims.Get(ctx, "data", metav1.GetOptions{})
	require.NoError(w.t, err)
	claim.Finalizers = nil
	_, err = claims.Update(ctx, claim, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	require.NoError(w.t, claims.Delete(ctx, "data", metav1.DeleteOptions{}))
	// The provisioner gets the change first. A stale claim would have its volume made
	// again (kubernetes-csi/external-provisioner 1469), and here is no PV
	// controller to release that one too.
	require.NoError(w.t, w.Settle())

	volume, err := volumes.Get(ctx, volumeName, metav1.GetOptions{})
	require.NoError(w.t, err)
	volume.Finalizers = slices.DeleteFunc(volume.Finalizers, func(f string) bool { return f == binding.PVProtectionFinalizer })
	volume, err = volumes.Update(ctx, volume, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	volume.Status.Phase = v1.VolumeReleased
	_, err = volumes.UpdateStatus(ctx, volume, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func (w *world) volumes() []v1.PersistentVolume {
	w.t.Helper()
	list, err := w.user.CoreV1().PersistentVolumes().List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	return list.Items
}

// events returns the messages of the events about an object, the last one by reason.
func (w *world) events(objectName string) map[string]string {
	w.t.Helper()
	list, err := w.user.CoreV1().Events("").List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	messages := map[string]string{}
	for _, event := range list.Items {
		if event.InvolvedObject.Name == objectName {
			messages[event.Reason] = event.Message
		}
	}
	return messages
}

// semantics 3 must 1.
func TestAtMostOneProvisionIsInFlightForAClaim(t *testing.T) {
	seedtest.Each(t, 20, func(t testing.TB, seed uint64) {
		w := newWorld(t, engine.Seeded(seed))
		w.backend.takes = 20 * time.Second
		w.claim()
		for i := range 9 {
			require.NoError(t, w.RunFor(3*time.Second))
			w.touch(fmt.Sprint(i))
		}
		require.NoError(t, w.Settle())
		assert.Equal(t, 1, w.backend.most)
		assert.Len(t, w.backend.asked, 1)
		assert.Len(t, w.volumes(), 1)
	})
}

// semantics 3 must 7.
func TestAClaimGivenUpIsTriedOncePerEvent(t *testing.T) {
	w := newWorld(t, nil, func(c *provisioner.Config) { c.FailedProvisionThreshold, c.ResyncPeriod = 3, 1000*time.Hour })
	w.backend.fails = errors.New("no space")
	begin := w.Now()
	w.claim()
	require.NoError(t, w.RunFor(10*time.Hour))
	var after []time.Duration
	for _, at := range w.backend.asked {
		after = append(after, at.Sub(begin))
	}
	assert.Equal(t, []time.Duration{0, 15 * time.Second, 45 * time.Second, 105 * time.Second}, after)

	w.touch("again")
	require.NoError(t, w.RunFor(10*time.Hour))
	assert.Len(t, w.backend.asked, 5)

	w.backend.fails = nil
	w.touch("and-again")
	require.NoError(t, w.RunFor(time.Hour))
	assert.Len(t, w.volumes(), 1)
}

// semantics 3.1, FailedDeleteThreshold: as with claims.
func TestAVolumeGivenUpIsTriedOncePerEvent(t *testing.T) {
	faulty := &provisioner.Faulty{}
	var at []time.Time
	w := newWorld(t, nil, func(c *provisioner.Config) {
		build := c.New
		c.FailedDeleteThreshold, c.ResyncPeriod = 2, 100*time.Hour
		c.New = func(env control.Env) (_ provisioner.Provisioner, err error) {
			faulty.Provisioner, err = build(env)
			return faulty, err
		}
	})
	claim := w.claim()
	require.NoError(t, w.Settle())
	faulty.OnDelete(provisioner.Answer{Times: -1, Before: func() { at = append(at, w.Now()) }, Err: errors.New("busy")})
	w.release("pvc-" + string(claim.UID))
	require.NoError(t, w.RunFor(10*time.Hour))
	require.Len(t, at, 3)
	assert.Equal(t, []time.Duration{15 * time.Second, 30 * time.Second}, []time.Duration{at[1].Sub(at[0]), at[2].Sub(at[1])})

	faulty.Clear()
	require.NoError(t, w.RunFor(91*time.Hour))
	assert.Empty(t, w.volumes(), "the resync tries again")
	assert.Empty(t, w.backend.volumes)
}

func TestAResyncTriesEverythingAgain(t *testing.T) {
	w := newWorld(t, nil, func(c *provisioner.Config) { c.FailedProvisionThreshold = 1 })
	w.backend.fails = errors.New("no space")
	w.claim()
	require.NoError(t, w.RunFor(14*time.Minute))
	assert.Len(t, w.backend.asked, 2)
	w.backend.fails = nil
	require.NoError(t, w.RunFor(2*time.Minute))
	assert.Len(t, w.volumes(), 1)
}

// semantics 3 must 10: a user's early delete does not lose the asset.
func TestWithTheFinalizerAVolumeDeletedEarlyKeepsItsAssetUntilReleased(t *testing.T) {
	w := newWorld(t, nil, func(c *provisioner.Config) { c.AddFinalizer = true })
	claim := w.claim()
	require.NoError(t, w.Settle())
	volume := "pvc-" + string(claim.UID)
	require.NoError(t, w.user.CoreV1().PersistentVolumes().Delete(context.Background(), volume, metav1.DeleteOptions{}))
	require.NoError(t, w.Settle())
	require.Len(t, w.volumes(), 1)
	assert.True(t, w.backend.volumes[volume])

	w.release(volume)
	require.NoError(t, w.Settle())
	assert.Empty(t, w.volumes())
	assert.Empty(t, w.backend.volumes)
}

// semantics 3 must 2.
func TestACrashAtAnyCallMakesOneVolumeAndLeavesNone(t *testing.T) {
	seedtest.Each(t, 60, func(t testing.TB, seed uint64) {
		w := newWorld(t, engine.Seeded(seed), func(c *provisioner.Config) { c.AddFinalizer = seed%3 == 0 })
		require.NoError(t, w.Inject(engine.Fault{Actor: name, Skip: int(seed / 2 % 5), After: seed%2 == 0, Crash: true}))
		claim := w.claim()
		require.NoError(t, w.Settle())
		volume := "pvc-" + string(claim.UID)
		require.Len(t, w.volumes(), 1)
		assert.Equal(t, map[string]bool{volume: true}, w.backend.volumes)
		w.release(volume)
		require.NoError(t, w.Settle())
		assert.Empty(t, w.volumes())
		assert.Empty(t, w.backend.volumes)
	})
}

func TestEventsComeFromTheProvisionerAndItsIdentity(t *testing.T) {
	w := newWorld(t, nil, func(c *provisioner.Config) { c.Identity = "host_1" })
	w.claim()
	require.NoError(t, w.Settle())
	events, err := w.user.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, events.Items, 2)
	for _, event := range events.Items {
		assert.Equal(t, "example.com/test_host_1", event.Source.Component)
	}
}

// As upstream: "<name>_<host>_<uuid>".
func TestTheIdentityIsAHostAndAUUIDOfTheSeed(t *testing.T) {
	const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
	seen := map[string]bool{}
	for _, who := range []string{"example.com/one", "example.com/two"} {
		for seed := range uint64(3) {
			id := provisioner.IdentityOf(who, seed)
			assert.Regexp(t, "^provisioner-0_"+uuid+"$", id)
			assert.Equal(t, id, provisioner.IdentityOf(who, seed))
			seen[id] = true
		}
	}
	assert.Len(t, seen, 6)

	w := newWorld(t, nil)
	w.claim()
	require.NoError(t, w.Settle())
	events, err := w.user.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, events.Items, 2)
	for _, event := range events.Items {
		assert.Equal(t, name+"_"+provisioner.IdentityOf(name, 0), event.Source.Component)
	}
}

func TestAPanickingProvisionerDoesNotStopItsNeighbours(t *testing.T) {
	const bad = "example.com/broken"
	w := newWorld(t, nil)
	require.NoError(t, w.Add(bad, provisioner.New(provisioner.Config{Name: bad, Provisioner: broken{}})))
	w.class("broken", bad)
	w.claimOf("broken", "other", bad)
	w.claim()
	require.NoError(t, w.Settle())

	assert.Len(t, w.volumes(), 1)
	assert.Regexp(t, `example\.com/broken panics in Provision of pvc default/other, at provisioner/driven_test\.go:\d+: assignment to entry in nil `+
		`map; its process ends`, w.Trace().String())
	assert.NotContains(t, w.events("other"), "ProvisioningFailed")
}

type broken struct{}

func (broken) Provision(context.Context, provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	var m map[string]bool
	m["x"] = true //nolint:staticcheck // It is meant to panic.
	return nil, "", nil
}

func (broken) Delete(context.Context, *v1.PersistentVolume) error { return nil }
