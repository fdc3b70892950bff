package scheduler

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
)

func testNode(name string, change ...func(*v1.Node)) *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1", Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110"),
		}},
	}
	for _, f := range change {
		f(node)
	}
	return node
}

func testPod(name string, claims ...string) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"},
		Spec:       v1.PodSpec{SchedulerName: "default-scheduler", Containers: []v1.Container{{Name: "c"}}},
	}
	for i, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "v" + strconv.Itoa(i), VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	return pod
}

func testClaim(name, size, class string, change ...func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}},
		},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending},
	}
	for _, f := range change {
		f(claim)
	}
	return claim
}

func boundTo(volume string) func(*v1.PersistentVolumeClaim) {
	return func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.VolumeName = volume
		claim.Status.Phase = v1.ClaimBound
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, binding.AnnBindCompleted, "yes")
	}
}

func selectedNode(node string) func(*v1.PersistentVolumeClaim) {
	return func(claim *v1.PersistentVolumeClaim) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, binding.AnnSelectedNode, node)
	}
}

// testVolume returns a volume that is local to the node, or reachable from everywhere if node is "".
func testVolume(name, size, class, node string, change ...func(*v1.PersistentVolume)) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: class,
			Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}
	if node != "" {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
		}}}}
	}
	for _, f := range change {
		f(pv)
	}
	return pv
}

func labelled(key, value string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) { pv.Labels = map[string]string{key: value} }
}

// ofDriver makes it a volume of the CSI driver example.com/ext.
func ofDriver(handle string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) {
		pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "example.com/ext", VolumeHandle: handle}
	}
}

// attaches returns a CSINode on which example.com/ext attaches at most so many volumes,
// and another driver any number.
func attaches(node string, count int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node, ResourceVersion: "1"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "example.com/free", NodeID: node}, {Name: "example.com/ext", NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
	}}}
}

func attachment(volume, node string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: volume + "-on-" + node, ResourceVersion: "1"}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "example.com/ext", NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
	}}
}

func selecting(key, value string) *v1.Pod {
	pod := testPod("web")
	pod.Spec.NodeSelector = map[string]string{key: value}
	return pod
}

// withDisk adds a disk written straight into the manifest.
func withDisk(pod *v1.Pod, disk string) *v1.Pod {
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		v1.Volume{Name: disk, VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: disk}}})
	return pod
}

func testClass(name, provisioner string, change ...func(*storagev1.StorageClass)) *storagev1.StorageClass {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}, Provisioner: provisioner, VolumeBindingMode: &mode,
	}
	for _, f := range change {
		f(class)
	}
	return class
}
