package provisioner_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/csitest"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/trace"
)

const actor = "csi-provisioner"

var ctx = context.Background()

// rig is a provisioner and its driver. The test plays the PV controller and the scheduler.
type rig struct {
	*enginetest.Rig
	driver *csitest.Driver
}

type change = func(*csitest.Driver, *provisioner.Config)

func newRig(t testing.TB, cfg engine.Config, changes ...change) *rig {
	t.Helper()
	driver := csitest.New()
	pcfg := provisioner.Config{Driver: csitest.Name, Dial: driver.Dial, Actor: actor}
	for _, f := range changes {
		f(driver, &pcfg)
	}
	return &rig{enginetest.New(t, cfg, actor, provisioner.New(pcfg)), driver}
}

// class creates the class fast with these parameters.
func (r *rig) class(parameters map[string]string, changes ...func(*storage.StorageClass)) {
	r.Helper()
	class := &storage.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: csitest.Name, Parameters: parameters}
	for _, f := range changes {
		f(class)
	}
	_, err := r.User.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
	require.NoError(r, err)
}

// claim creates a claim in the state after the PV controller has asked for a volume.
func (r *rig) claim(name string, changes ...func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	r.Helper()
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Annotations: map[string]string{binding.AnnStorageProvisioner: csitest.Name}},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: ptr("fast"), AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	for _, f := range changes {
		f(claim)
	}
	claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim, metav1.CreateOptions{})
	require.NoError(r, err)
	return claim
}

func onNode(name string) func(*v1.PersistentVolumeClaim) {
	return func(claim *v1.PersistentVolumeClaim) { claim.Annotations[binding.AnnSelectedNode] = name }
}

// forget deletes a claim and its finalizers.
func (r *rig) forget(name string) {
	r.Helper()
	claims := r.User.CoreV1().PersistentVolumeClaims("default")
	claim, err := claims.Get(ctx, name, metav1.GetOptions{})
	require.NoError(r, err)
	claim.Finalizers = nil
	_, err = claims.Update(ctx, claim, metav1.UpdateOptions{})
	require.NoError(r, err)
	require.NoError(r, claims.Delete(ctx, name, metav1.DeleteOptions{}))
}

// release marks a volume released, and removes its protection.
func (r *rig) release(name string) {
	r.Helper()
	volumes := r.User.CoreV1().PersistentVolumes()
	pv, err := volumes.Get(ctx, name, metav1.GetOptions{})
	require.NoError(r, err)
	pv.Finalizers = slices.DeleteFunc(pv.Finalizers, func(f string) bool { return f == binding.PVProtectionFinalizer })
	pv, err = volumes.Update(ctx, pv, metav1.UpdateOptions{})
	require.NoError(r, err)
	pv.Status.Phase = v1.VolumeReleased
	_, err = volumes.UpdateStatus(ctx, pv, metav1.UpdateOptions{})
	require.NoError(r, err)
}

func (r *rig) volumes() []v1.PersistentVolume {
	r.Helper()
	list, err := r.User.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	require.NoError(r, err)
	return list.Items
}

// volume returns the only volume.
func (r *rig) volume() *v1.PersistentVolume {
	r.Helper()
	list := r.volumes()
	require.Len(r, list, 1)
	return &list[0]
}

// events returns the events as "TYPE REASON MESSAGE from SOURCE", in order.
func (r *rig) events() []string {
	var list []string
	for _, entry := range r.Engine.Trace().Entries() {
		if e, ok := entry.Record.(trace.Event); ok {
			list = append(list, e.Type+" "+e.Reason+" "+e.Message)
		}
	}
	return slices.Compact(list)
}

// failed returns the message of the last ProvisioningFailed.
func (r *rig) failed() string {
	for _, entry := range slices.Backward(r.Engine.Trace().Entries()) {
		if e, ok := entry.Record.(trace.Event); ok && e.Reason == "ProvisioningFailed" {
			return e.Message
		}
	}
	return ""
}

// nodes creates nodes with the driver and a zone each.
func (r *rig) nodes(zones map[string]string) {
	r.Helper()
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		zone, ok := zones[name]
		if !ok {
			continue
		}
		_, err := r.User.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{zoneKey: zone}}},
			metav1.CreateOptions{})
		require.NoError(r, err)
		_, err = r.User.StorageV1().CSINodes().Create(ctx, &storage.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       storage.CSINodeSpec{Drivers: []storage.CSINodeDriver{{Name: csitest.Name, NodeID: "id-" + name, TopologyKeys: []string{zoneKey}}}},
		}, metav1.CreateOptions{})
		require.NoError(r, err)
	}
}

// plainNode creates a node without the driver.
func (r *rig) plainNode(name string) {
	r.Helper()
	_, err := r.User.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(r, err)
}

const zoneKey = "topo.csi.example.com/zone"

func (r *rig) secret(name string) {
	r.Helper()
	_, err := r.User.CoreV1().Secrets("default").Create(ctx, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"k": []byte(name)}},
		metav1.CreateOptions{})
	require.NoError(r, err)
}

func ptr[T any](v T) *T { return &v }
