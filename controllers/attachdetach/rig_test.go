package attachdetach_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/trace"
)

const (
	driver = "disk.example.com"
	rwo    = v1.ReadWriteOnce
	rwx    = v1.ReadWriteMany
)

var ctx = context.Background()

// rig is an API server with the attach/detach controller. The test plays all others: scheduler, kubelets, and the
// attacher unless it is added.
type rig struct{ *enginetest.Rig }

func newRig(t testing.TB, cfg engine.Config, ad attachdetach.Config) *rig {
	t.Helper()
	r := &rig{enginetest.New(t, cfg, attachdetach.ActorName, attachdetach.New(ad))}
	for _, name := range []string{"node-1", "node-2"} {
		r.node(name)
	}
	return r
}

// withAttacher returns a rig whose driver attaches and detaches at once.
func withAttacher(t testing.TB) *rig {
	t.Helper()
	r := newRig(t, engine.Config{}, attachdetach.Config{})
	require.NoError(t, r.Engine.Add("csi-attacher", attacher))
	return r
}

// attacher returns a small csi-attacher: a finalizer, then the status; and back.
func attacher(env control.Env) error {
	cache := control.NewCache[*storagev1.VolumeAttachment](env, control.VolumeAttachments())
	queue := env.Queue(control.QueueConfig{Name: "attachments", Reconcile: func(ctx context.Context, name string) error {
		va, ok := cache.Get(name)
		var patch string
		switch {
		case !ok || va.DeletionTimestamp != nil && len(va.Finalizers) == 0:
			return nil
		case va.DeletionTimestamp != nil:
			patch = `{"metadata":{"finalizers":null}}`
		case len(va.Finalizers) == 0:
			patch = `{"metadata":{"finalizers":["external-attacher/disk-example-com"]}}`
		case !va.Status.Attached:
			_, err := env.Client().StorageV1().VolumeAttachments().Patch(ctx, name, types.MergePatchType, []byte(`{"status":{"attached":true}}`),
				metav1.PatchOptions{}, "status")
			return err
		default:
			return nil
		}
		_, err := env.Client().StorageV1().VolumeAttachments().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}})
	cache.Handle(control.Enqueue[*storagev1.VolumeAttachment](queue.Add))
	return nil
}

func (r *rig) node(name string) {
	r.Helper()
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}}}
	_, err := r.User.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	require.NoError(r, err)
	r.ready(name, v1.ConditionTrue)
}

func (r *rig) ready(node string, status v1.ConditionStatus) {
	r.Helper()
	r.patchNode(node, "status", map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status}}}})
}

// inUse plays a kubelet that reports the volumes in use.
func (r *rig) inUse(node string, names ...v1.UniqueVolumeName) {
	r.Helper()
	r.patchNode(node, "status", map[string]any{"status": map[string]any{"volumesInUse": names}})
}

func (r *rig) patchNode(node, sub string, patch any) {
	r.Helper()
	data, err := json.Marshal(patch)
	require.NoError(r, err)
	var subs []string
	if sub != "" {
		subs = []string{sub}
	}
	_, err = r.User.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, data, metav1.PatchOptions{}, subs...)
	require.NoError(r, err)
}

// heartbeat changes a node as its kubelet does every five minutes.
func (r *rig) heartbeat(node string) {
	r.Helper()
	r.patchNode(node, "", map[string]any{"metadata": map[string]any{"annotations": map[string]string{"beat": r.Engine.Now().String()}}})
}

// outOfService adds the taint to a node, or removes it.
func (r *rig) outOfService(node string) {
	r.Helper()
	r.patchNode(node, "",
		map[string]any{"spec": map[string]any{"taints": []any{map[string]any{"key": v1.TaintNodeOutOfService, "value": "nodeshutdown", "effect": "NoExecute"}}}})
}

// unique returns the name of a volume in the status of nodes.
func unique(volume string) v1.UniqueVolumeName {
	return v1.UniqueVolumeName("kubernetes.io/csi/" + driver + "^handle-" + volume)
}

func size() v1.VolumeResourceRequirements {
	return v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}}
}

// volume makes a PersistentVolume of that name and a claim of the same name, bound.
func (r *rig) volume(name string, modes ...v1.PersistentVolumeAccessMode) {
	r.Helper()
	r.volumeFrom(name, v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "handle-" + name}}, modes...)
}

func (r *rig) volumeFrom(name string, source v1.PersistentVolumeSource, modes ...v1.PersistentVolumeAccessMode) {
	r.Helper()
	claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.PersistentVolumeClaimSpec{AccessModes: modes, VolumeName: name, Resources: size()},
	}, metav1.CreateOptions{})
	require.NoError(r, err)
	_, err = r.User.CoreV1().PersistentVolumes().Create(ctx, &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: modes, Capacity: size().Requests, PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain,
			ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: name, UID: claim.UID},
			PersistentVolumeSource: source,
		},
	}, metav1.CreateOptions{})
	require.NoError(r, err)
	r.phase(name, v1.ClaimBound)
}

// phase sets the phase of a claim.
func (r *rig) phase(name string, phase v1.PersistentVolumeClaimPhase) {
	r.Helper()
	claim, err := r.User.CoreV1().PersistentVolumeClaims("default").Get(ctx, name, metav1.GetOptions{})
	require.NoError(r, err)
	claim.Status.Phase = phase
	_, err = r.User.CoreV1().PersistentVolumeClaims("default").UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	require.NoError(r, err)
}

// needsNoAttach declares that the volumes of a driver need not be attached.
func (r *rig) needsNoAttach(driver string) {
	r.Helper()
	_, err := r.User.StorageV1().CSIDrivers().Create(ctx, &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{AttachRequired: new(false)},
	}, metav1.CreateOptions{})
	require.NoError(r, err)
}

// deleteAttachment deletes the only VolumeAttachment by hand.
func (r *rig) deleteAttachment() {
	r.Helper()
	require.Len(r, r.list(), 1)
	require.NoError(r, r.User.StorageV1().VolumeAttachments().Delete(ctx, r.list()[0].Name, metav1.DeleteOptions{}))
}

// finalizers sets the finalizers of the VolumeAttachments of a volume, as JSON.
func (r *rig) finalizers(volume, list string) {
	r.Helper()
	for _, va := range r.list() {
		if *va.Spec.Source.PersistentVolumeName == volume {
			patch := []byte(`{"metadata":{"finalizers":` + list + `}}`)
			_, err := r.User.StorageV1().VolumeAttachments().Patch(ctx, va.Name, types.MergePatchType, patch, metav1.PatchOptions{})
			require.NoError(r, err)
		}
	}
}

// story returns the trace in words.
func (r *rig) story() string { return r.Engine.Trace().Story(engine.Start()) }

// idle reports whether the controller waits for nothing that time brings.
func (r *rig) idle() bool {
	_, waits := r.Engine.NextTimer()
	return !waits
}

// pod makes a pod that is scheduled to a node and uses claims; "" stands for a volume of no claim.
func (r *rig) pod(name, node string, claims ...string) {
	r.Helper()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "c", Image: "busybox"}}}}
	for _, claim := range claims {
		if claim == "" {
			pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
			continue
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes,
			v1.Volume{Name: claim, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
	_, err := r.User.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	require.NoError(r, err)
}

// deletePod removes a pod at once.
func (r *rig) deletePod(name string) {
	r.Helper()
	require.NoError(r, r.User.CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
}

// endPod makes a pod one that has succeeded.
func (r *rig) endPod(name string) {
	r.Helper()
	r.patchPod(name, `{"status":{"phase":"Succeeded"}}`)
}

func (r *rig) patchPod(name, status string) {
	r.Helper()
	_, err := r.User.CoreV1().Pods("default").Patch(ctx, name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	require.NoError(r, err)
}

func (r *rig) runFor(d time.Duration) {
	r.Helper()
	require.NoError(r, r.Engine.RunFor(d))
}

// status changes the status of the only VolumeAttachment at a node.
func (r *rig) status(node, status string) {
	r.Helper()
	for _, va := range r.list() {
		if va.Spec.NodeName == node {
			_, err := r.User.StorageV1().VolumeAttachments().Patch(ctx, va.Name, types.MergePatchType, []byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status")
			require.NoError(r, err)
		}
	}
}

func (r *rig) list() []storagev1.VolumeAttachment {
	r.Helper()
	list, err := r.User.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	require.NoError(r, err)
	return list.Items
}

// attachments returns "volume@node", sorted, with a question mark if not attached.
func (r *rig) attachments() string {
	r.Helper()
	var list []string
	for _, va := range r.list() {
		text := *va.Spec.Source.PersistentVolumeName + "@" + va.Spec.NodeName
		if !va.Status.Attached {
			text += "?"
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// listed returns the volumes that a node's status lists as attached.
func (r *rig) listed(node string) []v1.UniqueVolumeName {
	r.Helper()
	n, err := r.User.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	require.NoError(r, err)
	var names []v1.UniqueVolumeName
	for _, v := range n.Status.VolumesAttached {
		names = append(names, v.Name)
	}
	return names
}

// events returns the events of a pod, as "1.7s Reason: message".
func (r *rig) events(pod string) []string {
	var list []string
	for _, entry := range r.Engine.Trace().Entries() {
		if e, ok := entry.Record.(trace.Event); ok && e.About.Name == pod {
			list = append(list, fmt.Sprintf("%.1fs %s: %s", entry.Time.Sub(engine.Start()).Seconds(), e.Reason, e.Message))
		}
	}
	return list
}

// writes returns the controller's writes, as "verb resource".
func (r *rig) writes() []string {
	var list []string
	for _, entry := range r.Engine.Trace().Entries() {
		if w, ok := entry.Record.(trace.Write); ok && w.Actor == attachdetach.ActorName && w.Resource.Resource != "events" {
			list = append(list, w.Verb+" "+w.Resource.Resource)
		}
	}
	return list
}
