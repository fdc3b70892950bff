package scheduler_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/trace"
)

const actor = "kube-scheduler"

// world is an API server with the scheduler and, if wanted, others played by
// hand: only the scheduler is under test.
type world struct {
	t   testing.TB
	e   *engine.Engine
	api kubernetes.Interface
	ctx context.Context
}

func newWorld(t testing.TB, cfg engine.Config, nodes ...*v1.Node) *world {
	return newWorldOf(t, cfg, scheduler.Config{}, nodes...)
}

// newWorldOf returns a world with a scheduler of that configuration.
func newWorldOf(t testing.TB, cfg engine.Config, configured scheduler.Config, nodes ...*v1.Node) *world {
	e := engine.New(cfg)
	t.Cleanup(e.Close)
	w := &world{t: t, e: e, api: fake.New(e.Server(), "user"), ctx: context.Background()}
	require.NoError(t, e.Add(actor, scheduler.New(configured)))
	for _, node := range nodes {
		_, err := w.api.CoreV1().Nodes().Create(w.ctx, node, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return w
}

// withPVController adds an actor that finishes the scheduler's work: it binds a
// claim to the volume that names it.
func (w *world) withPVController() *world {
	require.NoError(w.t, w.e.Add("persistent-volume-binder", func(env control.Env) error {
		pvs := control.NewCache[*v1.PersistentVolume](env, control.PersistentVolumes())
		claims := control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims())
		queue := env.Queue(control.QueueConfig{Name: "volumes", Reconcile: func(ctx context.Context, key string) error {
			pv, ok := pvs.Get(key)
			if !ok || pv.Spec.ClaimRef == nil {
				return nil
			}
			claim, ok := claims.Get(pv.Spec.ClaimRef.Namespace + "/" + pv.Spec.ClaimRef.Name)
			if !ok || claim.UID != pv.Spec.ClaimRef.UID || claim.Annotations[binding.AnnBindCompleted] != "" {
				return nil
			}
			claim = claim.DeepCopy()
			claim.Spec.VolumeName = pv.Name
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, binding.AnnBindCompleted, "yes")
			_, err := env.Client().CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, claim, metav1.UpdateOptions{})
			return err
		}})
		pvs.Handle(control.Enqueue[*v1.PersistentVolume](queue.Add))
		claims.Handle(control.Enqueue[*v1.PersistentVolumeClaim](func(string) {
			for pv := range pvs.All() {
				queue.Add(pv.Name)
			}
		}))
		return nil
	}))
	return w
}

// withProvisioner adds an actor that makes a volume on the selected node.
func (w *world) withProvisioner() *world {
	require.NoError(w.t, w.e.Add("example.com/ext", func(env control.Env) error {
		claims := control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims())
		queue := env.Queue(control.QueueConfig{Name: "claims", Reconcile: func(ctx context.Context, key string) error {
			claim, ok := claims.Get(key)
			if !ok || claim.Spec.VolumeName != "" || claim.Annotations[binding.AnnSelectedNode] == "" {
				return nil
			}
			pv := volume("pvc-"+claim.Name, "5Gi", *claim.Spec.StorageClassName, claim.Annotations[binding.AnnSelectedNode])
			pv.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
			_, err := env.Client().CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{})
			return err
		}})
		claims.Handle(control.Enqueue[*v1.PersistentVolumeClaim](queue.Add))
		return nil
	}))
	return w
}

func (w *world) settle() {
	w.t.Helper()
	require.NoError(w.t, w.e.Settle())
}

func (w *world) class(name, provisioner string, mode storagev1.VolumeBindingMode, topology ...v1.TopologySelectorTerm) {
	w.t.Helper()
	_, err := w.api.StorageV1().StorageClasses().Create(w.ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode, AllowedTopologies: topology,
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// volume makes an Available volume; node "" is everywhere.
func (w *world) volume(name, size, class, node string) {
	w.t.Helper()
	pv, err := w.api.CoreV1().PersistentVolumes().Create(w.ctx, volume(name, size, class, node), metav1.CreateOptions{})
	require.NoError(w.t, err)
	pv.Status.Phase = v1.VolumeAvailable
	_, err = w.api.CoreV1().PersistentVolumes().UpdateStatus(w.ctx, pv, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func volume(name, size, class, node string) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: class,
		Capacity:               v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)},
		PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/data/" + name}},
	}}
	if node != "" {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
		}}}}
	}
	return pv
}

func (w *world) claim(name, size, class string, modes ...v1.PersistentVolumeAccessMode) {
	w.t.Helper()
	if len(modes) == 0 {
		modes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	}
	_, err := w.api.CoreV1().PersistentVolumeClaims("default").Create(w.ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}}},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// patch merges a JSON patch into the claim.
func (w *world) patch(claim, patch string) {
	w.t.Helper()
	_, err := w.api.CoreV1().PersistentVolumeClaims("default").Patch(w.ctx, claim, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(w.t, err)
}

func (w *world) pod(name string, claims ...string) { w.create(newPod(name, claims...)) }

func (w *world) create(pod *v1.Pod) {
	w.t.Helper()
	_, err := w.api.CoreV1().Pods("default").Create(w.ctx, pod, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func newPod(name string, claims ...string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "busybox"}}}}
	for i, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "v" + string(rune('0'+i)), VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	return pod
}

func (w *world) deletePod(name string) {
	w.t.Helper()
	now := int64(0)
	require.NoError(w.t, w.api.CoreV1().Pods("default").Delete(w.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}

func (w *world) getPod(name string) *v1.Pod {
	w.t.Helper()
	pod, err := w.api.CoreV1().Pods("default").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return pod
}

func (w *world) getClaim(name string) *v1.PersistentVolumeClaim {
	w.t.Helper()
	claim, err := w.api.CoreV1().PersistentVolumeClaims("default").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return claim
}

func (w *world) getVolume(name string) *v1.PersistentVolume {
	w.t.Helper()
	pv, err := w.api.CoreV1().PersistentVolumes().Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return pv
}

// nodeOf returns the pod's node.
func (w *world) nodeOf(pod string) string { return w.getPod(pod).Spec.NodeName }

// did returns the scheduler's writes and events in the trace, in short.
func (w *world) did() []string {
	var list []string
	for _, entry := range w.e.Trace().Entries() {
		if entry.Actor != actor {
			continue
		}
		switch r := entry.Record.(type) {
		case trace.Write:
			line := r.Verb + " " + strings.TrimSuffix(r.Resource.Resource+"/"+r.Subresource, "/") + " " + r.Name
			if r.Err != nil {
				line += " refused"
			}
			list = append(list, line)
		case trace.Event:
			list = append(list, r.Reason+" "+r.About.Name)
		}
	}
	return list
}

// condition returns the pod's PodScheduled condition.
func (w *world) condition(pod string) v1.PodCondition {
	for _, c := range w.getPod(pod).Status.Conditions {
		if c.Type == v1.PodScheduled {
			return c
		}
	}
	return v1.PodCondition{}
}

func node(name string, change ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110"),
		}},
	}
	for _, f := range change {
		f(n)
	}
	return n
}
