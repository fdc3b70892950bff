package csi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/rigs/enginetest"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/csi"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/kubelet/volumemanager"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/volume"
)

const (
	actor     = "kubelet/node-1"
	onMachine = "node/node-1"
	endpoint  = "/var/lib/kubelet/plugins/" + driverName + "/csi.sock"
	regSocket = csi.RegistryDir + "/" + driverName + "-reg.sock"
)

// world is a node with its kubelet and a driver on sockets of the node. The user also plays
// the scheduler, the PV controller and the attach/detach controller.
type world struct {
	t          testing.TB
	e          *engine.Engine
	user       kubernetes.Interface
	disk       *disk.Disk
	containers runtime.Service
	sockets    *call.Sockets
	driver     *nodeDriver
	registrar  *registrar
	listening  []*call.Listener
}

// newWorld makes a node whose driver does not listen yet.
func newWorld(t testing.TB, cfg engine.Config) *world {
	return newDecidingWorld(t, cfg, volumemanager.Decisions{})
}

func newDecidingWorld(t testing.TB, cfg engine.Config, decisions volumemanager.Decisions) *world {
	t.Helper()
	w := &world{t: t}
	w.disk = disk.InMemory(func() time.Time {
		if w.e == nil {
			return engine.Start()
		}
		return w.e.Now()
	})
	mounter, err := mount.NewTempDir(mount.Config{Dir: w.disk})
	require.NoError(t, err)
	w.containers = runtime.New(runtime.Config{Root: w.disk})
	w.sockets = &call.Sockets{Disk: func(string) *disk.Disk { return w.disk }}
	t.Cleanup(w.sockets.Close)
	node := &csi.Node{
		Machine: onMachine, Transport: w.sockets.Transport,
		Sockets: func(dir string) []string { return w.sockets.In(onMachine, dir) },
		Watch:   func(dir string, changed func(string)) func() { return w.sockets.Watch(onMachine, dir, changed) },
	}
	rig := enginetest.New(t, cfg, actor, kubelet.New(kubelet.Config{
		Node: v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, Root: w.disk, Mounter: mounter, Runtime: w.containers,
		Plugins: func() []volume.VolumePlugin { return append(kubelet.DefaultPlugins(), node.NewPlugin()) }, Decisions: decisions,
	}))
	w.e, w.user = rig.Engine, rig.User
	w.driver = newNodeDriver(w.disk, mounter)
	w.registrar = &registrar{info: &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: driverName, Endpoint: endpoint,
		SupportedVersions: []string{"1.0.0"}}}
	return w
}

// listen starts the driver's two servers.
func (w *world) listen() {
	w.t.Helper()
	driver := call.Socket{
		Machine: onMachine, Driver: driverName, Path: endpoint,
		Register: func(s grpc.ServiceRegistrar) { csipb.RegisterNodeServer(s, w.driver) },
	}
	for _, s := range []call.Socket{driver, w.registration(regSocket)} {
		l, err := call.Listen(w.sockets, s)
		require.NoError(w.t, err)
		w.listening = append(w.listening, l)
	}
}

// registration returns the server that registers the driver.
func (w *world) registration(path string) call.Socket {
	registrar := w.registrar
	return call.Socket{
		Machine: onMachine, Driver: driverName, Path: path,
		Register: func(s grpc.ServiceRegistrar) { registerapi.RegisterRegistrationServer(s, registrar) },
	}
}

// withDriver returns a node on which the driver has registered.
func withDriver(t testing.TB, cfg engine.Config, spec storagev1.CSIDriverSpec) *world {
	return withKubelet(t, cfg, spec, volumemanager.Decisions{})
}

// withKubelet returns such a node whose kubelet decides otherwise.
func withKubelet(t testing.TB, cfg engine.Config, spec storagev1.CSIDriverSpec, decisions volumemanager.Decisions) *world {
	w := newDecidingWorld(t, cfg, decisions)
	w.csiDriver(spec)
	w.listen()
	w.run(5 * time.Second)
	require.Equal(t, []string{"true "}, w.registrar.told)
	return w
}

// csiDriver makes the CSIDriver object.
func (w *world) csiDriver(spec storagev1.CSIDriverSpec) {
	w.t.Helper()
	_, err := w.user.StorageV1().CSIDrivers().Create(context.Background(),
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driverName}, Spec: spec}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// noAttach returns what a driver says whose volumes are not attached.
func noAttach() storagev1.CSIDriverSpec { return storagev1.CSIDriverSpec{AttachRequired: new(bool)} }

func (w *world) run(d time.Duration) {
	w.t.Helper()
	require.NoError(w.t, w.e.RunFor(d))
}

// boundVolume makes a CSI PV with handle vol-NAME and a claim, bound to each other.
func (w *world) boundVolume(name string, change func(*v1.PersistentVolume)) {
	w.t.Helper()
	ctx, size := context.Background(), v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	class := ""
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Capacity: size,
			ClaimRef: &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: name},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{
				Driver: driverName, VolumeHandle: "vol-" + name, VolumeAttributes: map[string]string{"made": "yes"},
			}},
		},
	}
	if change != nil {
		change(pv)
	}
	pvc, err := w.user.CoreV1().PersistentVolumeClaims("default").Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: pv.Spec.AccessModes, VolumeName: pv.Name, StorageClassName: &class, VolumeMode: pv.Spec.VolumeMode,
			Resources: v1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	pvc.Status.Phase = v1.ClaimBound
	_, err = w.user.CoreV1().PersistentVolumeClaims("default").UpdateStatus(ctx, pvc, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	pv.Spec.ClaimRef.UID = pvc.UID
	_, err = w.user.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// pod returns a pod on node-1 with these volumes.
func pod(name string, volumes ...v1.Volume) *v1.Pod {
	c := v1.Container{Name: "c", Image: "busybox"}
	for _, v := range volumes {
		c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       v1.PodSpec{NodeName: "node-1", Containers: []v1.Container{c}, Volumes: volumes, ServiceAccountName: "robot"},
	}
}

func claim(name string) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
}

func (w *world) create(p *v1.Pod) *v1.Pod {
	w.t.Helper()
	p, err := w.user.CoreV1().Pods("default").Create(context.Background(), p, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return p
}

func (w *world) phase(name string) v1.PodPhase {
	w.t.Helper()
	p, err := w.user.CoreV1().Pods("default").Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "gone"
	}
	require.NoError(w.t, err)
	return p.Status.Phase
}

func (w *world) delete(name string) {
	w.t.Helper()
	require.NoError(w.t, w.user.CoreV1().Pods("default").Delete(context.Background(), name, metav1.DeleteOptions{}))
}

// events returns the warnings about a pod as "reason: message".
func (w *world) events(name string) (list []string) {
	w.t.Helper()
	events, err := w.user.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, e := range events.Items {
		if e.InvolvedObject.Name == name && e.Type == v1.EventTypeWarning {
			list = append(list, e.Reason+": "+e.Message)
		}
	}
	return list
}

func (w *world) node() *v1.Node {
	w.t.Helper()
	node, err := w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(w.t, err)
	return node
}

func (w *world) csiNode() []storagev1.CSINodeDriver {
	w.t.Helper()
	node, err := w.user.StorageV1().CSINodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(w.t, err)
	return node.Spec.Drivers
}

// requireNothingLeft checks that neither the driver nor the disk has anything of a volume.
func (w *world) requireNothingLeft() {
	w.t.Helper()
	require.Empty(w.t, w.driver.broken)
	require.Empty(w.t, w.driver.staged)
	require.Empty(w.t, w.driver.published)
	for _, dir := range []string{"/var/lib/kubelet/pods", "/run/mounts", "/var/lib/kubelet/plugins/kubernetes.io/csi/" + driverName,
		"/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices"} {
		names, err := w.disk.List(dir)
		if err == nil && strings.HasSuffix(dir, "volumeDevices") { // those of all devices stay, as upstream's
			require.Subset(w.t, []string{"publish/", "staging/"}, names, dir)
			continue
		}
		if err == nil {
			require.Empty(w.t, names, dir)
		}
	}
}
