package kubelet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
)

const actor = "kubelet/node-1"

// world is one node with its kubelet, and the user, who also plays scheduler and
// PV controller.
type world struct {
	t    testing.TB
	e    *engine.Engine
	user kubernetes.Interface
	node *disk.Disk
	// runtime runs the node's containers.
	runtime runtime.Service
	// during, if set, calls f, which lets the kubelet work.
	during func(f func() error) error
}

func newWorld(t testing.TB, cfg engine.Config, kcfg kubelet.Config) *world {
	t.Helper()
	node := kcfg.Root
	if node == nil {
		node = disk.InMemory(time.Now)
	}
	t.Cleanup(func() { _ = node.Close() })
	kcfg.Node.Name, kcfg.Root = "node-1", node
	if kcfg.Runtime == nil {
		kcfg.Runtime = runtime.New(runtime.Config{Root: node})
	}
	if kcfg.Server == nil {
		kcfg.Server = &kubelet.Server{}
	}
	rig := enginetest.New(t, cfg, actor, kubelet.New(kcfg))
	rig.Engine.Server().OnWrite(func(trace.Write) {
		if broken := kubelet.BrokenWorker(kcfg.Server); broken != "" {
			t.Error(broken)
		}
	})
	w := &world{t: t, e: rig.Engine, user: rig.User, node: node, runtime: kcfg.Runtime}
	require.NoError(t, node.MkdirAll("/disk/data", 0o755))
	return w
}

// fakeRuntime returns a node with the runtime of upstream's tests.
func fakeRuntime(t testing.TB) *world {
	t.Helper()
	node, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	containers := runtime.New(runtime.Config{Root: node, Kind: runtime.FakeRuntime})
	return newWorld(t, engine.Config{}, kubelet.Config{Root: node, Runtime: containers})
}

func simple(t testing.TB) *world { return newWorld(t, engine.Config{}, kubelet.Config{}) }

func (w *world) settle() {
	w.t.Helper()
	if w.during != nil {
		require.NoError(w.t, w.during(w.e.Settle))
		return
	}
	require.NoError(w.t, w.e.Settle())
}

// boundVolume makes a local PV on /disk/<name> and a claim, bound to each other.
func (w *world) boundVolume(name string, change func(*v1.PersistentVolume)) {
	w.t.Helper()
	ctx, size := context.Background(), v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	class := "manual"
	pvc, err := w.user.CoreV1().PersistentVolumeClaims("default").Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, VolumeName: "pv-" + name, StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	pvc.Status.Phase = v1.ClaimBound
	_, err = w.user.CoreV1().PersistentVolumeClaims("default").UpdateStatus(ctx, pvc, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: pvc.Spec.AccessModes, Capacity: size, StorageClassName: class,
			ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: name, UID: pvc.UID},
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disk/" + name}},
			NodeAffinity:           onNode("node-1"),
		},
	}
	if change != nil {
		change(pv)
	}
	_, err = w.user.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func onNode(name string) *v1.VolumeNodeAffinity {
	return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{name}}},
	}}}}
}

// pod returns a pod on node-1 with one container, whose volumes are mounted at
// /<volume name>.
func pod(name string, volumes ...v1.Volume) *v1.Pod {
	c := v1.Container{Name: "c", Image: "busybox"}
	for _, v := range volumes {
		c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       v1.PodSpec{NodeName: "node-1", Containers: []v1.Container{c}, Volumes: volumes},
	}
}

func claim(name string) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
}

func hostPath(name, path string, kind v1.HostPathType) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: path, Type: &kind}}}
}

// helper makes a pod run a command to its end, as provisioners' helper pods do.
func helper(p *v1.Pod, argv ...string) *v1.Pod {
	p.Spec.RestartPolicy = v1.RestartPolicyNever
	p.Spec.Containers[0].Command = argv
	p.Spec.Containers[0].TerminationMessagePolicy = v1.TerminationMessageFallbackToLogsOnError
	return p
}

func (w *world) create(p *v1.Pod) *v1.Pod {
	w.t.Helper()
	p, err := w.user.CoreV1().Pods("default").Create(context.Background(), p, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return p
}

func (w *world) get(name string) *v1.Pod {
	w.t.Helper()
	p, err := w.user.CoreV1().Pods("default").Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return p
}

// gone reports whether there is no such pod.
func (w *world) gone(name string) bool {
	w.t.Helper()
	_, err := w.user.CoreV1().Pods("default").Get(context.Background(), name, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

func (w *world) delete(name string, grace ...int64) {
	w.t.Helper()
	options := metav1.DeleteOptions{}
	if len(grace) > 0 {
		options.GracePeriodSeconds = &grace[0]
	}
	require.NoError(w.t, w.user.CoreV1().Pods("default").Delete(context.Background(), name, options))
}

// events returns a pod's events as "reason: message".
func (w *world) events(name string) (list []string) {
	w.t.Helper()
	events, err := w.user.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, e := range events.Items {
		if e.InvolvedObject.Name == name {
			list = append(list, e.Reason+": "+e.Message)
		}
	}
	return list
}

func (w *world) requireEvent(name, reason, part string) {
	w.t.Helper()
	for _, e := range w.events(name) {
		if strings.HasPrefix(e, reason+": ") && strings.Contains(e, part) {
			return
		}
	}
	require.Fail(w.t, fmt.Sprintf("no event %s with %q", reason, part), "%s", w.events(name))
}

// requireWaiting checks that a container waits, and with it its pod is pending.
func (w *world) requireWaiting(name, container, reason, message string) {
	w.t.Helper()
	p := w.get(name)
	require.Equal(w.t, v1.PodPending, p.Status.Phase)
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.Name == container {
			require.Equal(w.t, &v1.ContainerStateWaiting{Reason: reason, Message: message}, c.State.Waiting)
			return
		}
	}
	require.Fail(w.t, "no such container", container)
}

// mounts returns the node's mount table as a new process reads it.
func (w *world) mounts() []mount.MountPoint {
	w.t.Helper()
	m, err := mount.NewTempDir(mount.Config{Dir: w.node})
	require.NoError(w.t, err)
	list, err := m.List()
	require.NoError(w.t, err)
	return list
}

// requireNothingLeft checks that no pod left anything on the node.
func (w *world) requireNothingLeft() {
	w.t.Helper()
	require.Empty(w.t, w.mounts())
	for _, dir := range []string{"/var/lib/kubelet/pods", "/run/mounts"} {
		names, err := w.node.List(dir)
		if err == nil {
			require.Empty(w.t, names, dir)
		}
	}
	sandboxes, err := w.runtime.ListPodSandboxes()
	require.NoError(w.t, err)
	require.Empty(w.t, sandboxes)
	pods, err := w.user.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	require.Empty(w.t, pods.Items)
}

// trace returns the story so far, one line a record.
func (w *world) trace() string { return w.e.Trace().Story(engine.Start()) }
