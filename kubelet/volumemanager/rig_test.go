package volumemanager

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

const actor = "kubelet/node-1"

// fakePods is a kubelet that knows pods and does nothing with them.
type fakePods struct {
	pods     map[types.UID]*v1.Pod
	released map[types.UID]bool
	woken    []types.UID
	reports  int // of the node's status
}

func (f *fakePods) GetPodByUID(uid types.UID) *v1.Pod     { return f.pods[uid] }
func (f *fakePods) WantsVolumes(uid types.UID) bool       { return f.pods[uid] != nil && !f.released[uid] }
func (f *fakePods) HasReleasedVolumes(uid types.UID) bool { return f.released[uid] }
func (f *fakePods) IsRegistered(uid types.UID) bool       { return f.pods[uid] != nil }
func (f *fakePods) WakePod(uid types.UID)                 { f.woken = append(f.woken, uid) }
func (f *fakePods) ReportNodeStatus()                     { f.reports++ }

// rig is a node with a volume manager, and a local volume that is bound to a claim.
type rig struct {
	*enginetest.Rig
	vm   *VolumeManager
	node *disk.Disk
	pods *fakePods
	// mountFails, if it is set, is asked before each look at the mounts, and each change of them.
	mountFails func(mount.Op) error
}

func newRig(t testing.TB, cfg engine.Config) *rig {
	t.Helper()
	return newRigOf(t, cfg, boundClaim(), localVolume, func(cfg *Config) { cfg.Plugins = []volume.VolumePlugin{local.NewPlugin()} })
}

// newFakeRig returns a node with a plugin that fails where the test says, and a volume of it. The claim and the volume are changed before they are made.
func newFakeRig(t testing.TB, claimed func(*v1.PersistentVolumeClaim), change func(*v1.PersistentVolume)) (*rig, *fakePlugin) {
	t.Helper()
	plugin, claim := newFakePlugin(), boundClaim()
	if claimed != nil {
		claimed(claim)
	}
	r := newRigOf(t, engine.Config{}, claim, func(claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
		pv := localVolume(claim)
		pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "fake.example.com", VolumeHandle: "data"}}
		if change != nil {
			change(pv)
		}
		return pv
	}, func(cfg *Config) { cfg.Plugins = []volume.VolumePlugin{plugin} })
	return r, plugin
}

// newRigOf returns a node with a volume that is bound to the claim.
func newRigOf(t testing.TB, cfg engine.Config, claim *v1.PersistentVolumeClaim, bound func(*v1.PersistentVolumeClaim) *v1.PersistentVolume,
	change func(*Config)) *rig {
	t.Helper()
	node, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	require.NoError(t, node.MkdirAll("/disk/data", 0o755))
	tempDir, err := mount.NewTempDir(mount.Config{Dir: node})
	require.NoError(t, err)
	r := &rig{node: node, pods: &fakePods{pods: map[types.UID]*v1.Pod{}, released: map[types.UID]bool{}}}
	mounter := mount.Failing(tempDir, func(op mount.Op) error {
		if r.mountFails == nil {
			return nil
		}
		return r.mountFails(op)
	})
	r.Rig = enginetest.New(t, cfg, actor, func(env control.Env) (err error) {
		cfg := Config{
			Node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, Root: node, Mounter: mounter,
			Recorder: env.Recorder("kubelet"), Pods: r.pods, Kubelet: r.pods,
		}
		change(&cfg)
		r.vm, err = New(cfg, env)
		r.vm.Reconstruct()
		r.vm.Start()
		return err
	})
	ctx := context.Background()
	_, err = r.User.CoreV1().Nodes().Create(ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", Labels: map[string]string{v1.LabelHostname: "node-1"}}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	claim, err = r.User.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim, metav1.CreateOptions{})
	require.NoError(t, err)
	claim.Status.Phase, claim.Status.Capacity = v1.ClaimBound, oneGi()
	_, err = r.User.CoreV1().PersistentVolumeClaims("default").UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = r.User.CoreV1().PersistentVolumes().Create(ctx, bound(claim), metav1.CreateOptions{})
	require.NoError(t, err)
	return r
}

func boundClaim() *v1.PersistentVolumeClaim {
	class := "manual"
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, VolumeName: "pv-data", StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{Requests: oneGi()},
		},
	}
}

func oneGi() v1.ResourceList {
	return v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
}

func localVolume(claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-data"},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: claim.Spec.AccessModes, Capacity: oneGi(), StorageClassName: "manual",
			ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data", UID: claim.UID},
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disk/data"}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"node-1"}}},
			}}}},
		},
	}
}

// add makes the volume manager know a pod with the volume.
// syncs reports whether the pod's volumes are looked at regularly.
func (r *rig) syncs(uid types.UID) bool { return !r.vm.desired.pods[uid].nextSync.IsZero() }

func (r *rig) add(uid types.UID) { r.addPod(podOf(uid, false)) }

// podOf returns a pod with the volume, as a directory or as a device.
func podOf(uid types.UID, block bool) *v1.Pod {
	container := v1.Container{Name: "c", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/data"}}}
	if block {
		container = v1.Container{Name: "c", VolumeDevices: []v1.VolumeDevice{{Name: "data", DevicePath: "/dev/data"}}}
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: uid},
		Spec: v1.PodSpec{
			Containers: []v1.Container{container},
			Volumes: []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
			}}},
		},
	}
}

// addPod makes the volume manager know a pod.
func (r *rig) addPod(pod *v1.Pod) {
	r.Helper()
	require.NoError(r, r.node.MkdirAll(layout.PodVolumesDir(pod.UID), 0o750))
	r.pods.pods[pod.UID] = pod
	r.vm.ExpectPod(pod.UID)
	r.vm.UpdatePod(pod, true, false)
}

// do carries f out as a task of the kubelet.
func (r *rig) do(f func(ctx context.Context)) {
	r.Helper()
	done := false
	r.vm.env.Go("test", func(ctx context.Context) { f(ctx); done = true })
	r.run(time.Millisecond)
	require.True(r, done)
}

// failAt makes one operation on the node's disk or mounts fail, "mkdir /path" or "unmount /path", until it is called with "".
func (r *rig) failAt(which string) {
	r.mountFails = func(op mount.Op) error {
		if op.Verb+" "+op.Target == which {
			return syscall.EPERM
		}
		return nil
	}
	r.node.Fail(func(op, name string) error { return r.mountFails(mount.Op{Verb: op, Target: name}) })
}

// mounts returns the mounts and unmounts that the trace has.
func (r *rig) mounts() (list []string) {
	for _, entry := range r.Engine.Trace().Entries() {
		if m, ok := entry.Record.(trace.Mount); ok {
			list = append(list, strings.TrimSpace(m.String()+" "+strings.Join(m.Options, ",")))
		}
	}
	return list
}

// mode returns the mode of a directory or file of the node.
func (r *rig) mode(name string) string {
	info, err := r.node.Lstat(name)
	if err != nil {
		return err.Error()
	}
	return info.Mode().String()
}

// said returns the events so far as "REASON: MESSAGE", repeats only once.
func (r *rig) said() []string { return r.told(false) }

// told returns the events so far, with their repeats or without.
func (r *rig) told(repeats bool) (list []string) {
	for _, entry := range r.Engine.Trace().Entries() {
		if e, ok := entry.Record.(trace.Event); ok && (repeats || !e.Repeated) {
			list = append(list, e.Reason+": "+e.Message)
		}
	}
	return list
}

// failed returns the errors of operations that are tried again.
func (r *rig) failed() (list []string) {
	for _, entry := range r.Engine.Trace().Entries() {
		if retry, ok := entry.Record.(trace.Retry); ok {
			list = append(list, retry.Err.Error())
		}
	}
	return list
}

// run lets so much time pass.
func (r *rig) run(d time.Duration) {
	r.Helper()
	require.NoError(r, r.Engine.RunFor(d))
}

// noted returns the decisions that the trace has, in words.
func (r *rig) noted() (list []string) {
	for _, entry := range r.Engine.Trace().Entries() {
		if d, ok := entry.Record.(trace.Decision); ok {
			list = append(list, d.Text)
		}
	}
	return list
}

// release makes the volume manager unmount the pod's volume.
func (r *rig) release(uid types.UID) {
	r.pods.released[uid] = true
	r.vm.ReleasePod(uid, false)
}

// forget deletes a pod whose volume is unmounted.
func (r *rig) forget(uid types.UID) {
	delete(r.pods.pods, uid)
	delete(r.pods.released, uid)
	r.vm.ForgetPod(uid)
}
