package scheduler_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/provisioner"
)

func (r *rig) node(name string) {
	r.T.Helper()
	_, err := r.Client().CoreV1().Nodes().Create(context.Background(), &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110"),
		}},
	}, metav1.CreateOptions{})
	r.Must(err)
}

func (r *rig) class(name, provisionerName string) {
	r.T.Helper()
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	_, err := r.Client().StorageV1().StorageClasses().Create(context.Background(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisionerName, VolumeBindingMode: &mode,
	}, metav1.CreateOptions{})
	r.Must(err)
}

// volume makes a local volume of class "local"; node "" is everywhere.
func (r *rig) volume(name, size, node string) {
	r.T.Helper()
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: "local",
		Capacity:                      v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)},
		PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource:        v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/disks/" + name}},
		NodeAffinity:                  clustertest.OnNode(node),
	}}
	_, err := r.Client().CoreV1().PersistentVolumes().Create(context.Background(), pv, metav1.CreateOptions{})
	r.Must(err)
}

func (r *rig) claim(name, size, class string) {
	r.T.Helper()
	_, err := r.Client().CoreV1().PersistentVolumeClaims("default").Create(context.Background(), &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}},
		},
	}, metav1.CreateOptions{})
	r.Must(err)
}

// claimOf makes a claim that names its volume.
func (r *rig) claimOf(name, volume string) {
	r.T.Helper()
	class := "local"
	_, err := r.Client().CoreV1().PersistentVolumeClaims("default").Create(context.Background(), &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class, VolumeName: volume,
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	r.Must(err)
}

// deleteClaimIfThere deletes a claim, or does nothing without it.
func (r *rig) deleteClaimIfThere(name string) {
	r.T.Helper()
	r.Must(clustertest.IgnoreMissing(r.Cluster.Cluster.Delete("pvc/" + name)))
}

// touch changes a field of a volume that no controller reads, to give it a new
// version. Without the volume it does nothing.
func (r *rig) touch(volume string) {
	r.T.Helper()
	_, err := r.Client().CoreV1().PersistentVolumes().Patch(context.Background(), volume, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"at-%d"}}}`, r.Engine().Steps()), metav1.PatchOptions{})
	r.Must(clustertest.IgnoreMissing(err))
}

// pod makes a pod that uses the claims, on node only unless that is "".
func (r *rig) pod(name, node string, claims ...string) {
	r.T.Helper()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}}}
	if node != "" {
		pod.Spec.NodeSelector = map[string]string{v1.LabelHostname: node}
	}
	for _, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: claim, VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	_, err := r.Client().CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{})
	r.Must(err)
}

// deletePod deletes at once: there is no kubelet to wait for.
func (r *rig) deletePod(name string) {
	r.T.Helper()
	r.Must(r.podDeletion(name))
}

// podDeletion deletes a pod, as deletePod does, and returns the API's answer.
func (r *rig) podDeletion(name string) error {
	now := int64(0)
	return r.Client().CoreV1().Pods("default").Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// free makes a Released volume Available, as an administrator does who has wiped it.
func (r *rig) free(volume string) {
	r.T.Helper()
	_, err := r.Client().CoreV1().PersistentVolumes().Patch(context.Background(), volume, types.MergePatchType,
		[]byte(`{"spec":{"claimRef":null}}`), metav1.PatchOptions{})
	r.Must(err)
}

// nodeOf returns the node of a pod, "" without pod or node.
func (r *rig) nodeOf(pod string) string {
	if p := r.pods["default/"+pod]; p != nil {
		return p.Spec.NodeName
	}
	return ""
}

// flushed is long enough for the scheduler's periodic flush to have come to every
// pod, and for every backoff.
const flushed = 11 * time.Minute

const rackName = "example.com/rack"

// rack provisions the class "made": volumes in the node's own rack, and a node that is
// full gives the claim back.
type rack struct {
	full  map[string]bool
	holds map[string]bool
	asked []string // nodes, in order
}

func (p *rack) Provision(_ context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	p.asked = append(p.asked, o.SelectedNodeName)
	if p.full[o.SelectedNodeName] {
		return nil, provisioner.ProvisioningReschedule, fmt.Errorf("%s is full", o.SelectedNodeName)
	}
	p.holds[o.PVName] = true
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: o.PVName}, Spec: v1.PersistentVolumeSpec{
		Capacity: o.PVC.Spec.Resources.Requests, AccessModes: o.PVC.Spec.AccessModes, NodeAffinity: clustertest.OnNode(o.SelectedNodeName),
		PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
		PersistentVolumeSource:        v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/rack/" + o.PVName}},
	}}, provisioner.ProvisioningFinished, nil
}

func (p *rack) Delete(_ context.Context, pv *v1.PersistentVolume) error {
	delete(p.holds, pv.Name)
	return nil
}

// Volumes tells RequireNoLeaks what there is.
func (p *rack) Volumes(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(p.holds)), nil
}

// addRack adds the provisioner, with nodes that are full.
func (r *rig) addRack(full ...string) *rack {
	p := &rack{full: map[string]bool{}, holds: map[string]bool{}}
	for _, node := range full {
		p.full[node] = true
	}
	r.AddProvisioner(rackName, p)
	r.Settle()
	return p
}
