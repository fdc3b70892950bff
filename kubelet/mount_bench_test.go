package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

// BenchmarkMountUnmount mounts a local volume for a pod and unmounts it again,
// through both worlds, the reconciler and the operations queue with a TempDir, and
// then does with bare system calls what that leaves on disk on the way. times-bare is the
// one by the other, in the same run.
func BenchmarkMountUnmount(b *testing.B) {
	m := newManager(b)
	bare := newBare(b)
	var managed, called time.Duration
	for b.Loop() {
		began := time.Now()
		m.mountAndUnmount()
		middle := time.Now()
		bare.mountAndUnmount()
		managed += middle.Sub(began)
		called += time.Since(middle)
	}
	b.ReportMetric(float64(managed.Nanoseconds())/float64(b.N), "ns-managed")
	b.ReportMetric(float64(called.Nanoseconds())/float64(b.N), "ns-bare")
	b.ReportMetric(float64(managed)/float64(called), "times-bare")
}

// BenchmarkMountUnmountManaged is the one side alone, for counting system calls.
func BenchmarkMountUnmountManaged(b *testing.B) {
	m := newManager(b)
	for b.Loop() {
		m.mountAndUnmount()
	}
}

// BenchmarkMountUnmountBare is the other.
func BenchmarkMountUnmountBare(b *testing.B) {
	bare := newBare(b)
	for b.Loop() {
		bare.mountAndUnmount()
	}
}

const benchPod = types.UID("11111111-2222-3333-4444-555555555555")

// manager is a kubelet whose volume manager alone is at work.
type manager struct {
	b      *testing.B
	e      *engine.Engine
	k      *kubelet
	pod    *v1.Pod
	volume *volumeToMount
}

func newManager(b *testing.B) *manager {
	b.Helper()
	m := &manager{b: b, e: engine.New(engine.Config{TraceLimit: 100})}
	b.Cleanup(m.e.Close)
	node, err := disk.Open(b.TempDir())
	m.check(err)
	b.Cleanup(func() { _ = node.Close() })
	cfg := Config{Root: node}
	cfg.Node.Name = "node-1"
	m.check(m.e.Add("kubelet/node-1", func(env control.Env) (err error) {
		if m.k, err = newKubelet(cfg, env); err == nil {
			m.k.run()
		}
		return err
	}))
	m.check(m.e.Settle())
	m.k.podQueue = deaf{m.k.podQueue} // nobody but the volume manager is at work
	m.check(node.MkdirAll("/disk/data", 0o755))
	m.check(node.MkdirAll(podVolumesDir(benchPod), 0o750))

	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-data"}, Spec: v1.PersistentVolumeSpec{
		PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disk/data"}},
		NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"node-1"}}},
		}}}},
	}}
	m.pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: benchPod}}
	spec := volume.NewSpecFromPersistentVolume(pv, false)
	plugin, err := m.k.plugins.FindPluginBySpec(spec)
	m.check(err)
	device, err := m.k.plugins.FindDeviceMountablePluginBySpec(spec)
	m.check(err)
	name, err := getUniqueVolumeName(spec, plugin, true, benchPod)
	m.check(err)
	m.volume = &volumeToMount{
		podVolume: podVolume{volume: name, pod: benchPod}, outerName: "data", about: m.pod, spec: spec, plugin: plugin, device: device,
	}
	return m
}

// deaf is a queue that takes nothing.
type deaf struct{ control.Queue }

func (deaf) Add(string) {}

func (m *manager) check(err error) {
	m.b.Helper()
	if err != nil {
		m.b.Fatal(err)
	}
}

func (m *manager) mountAndUnmount() {
	delete(m.k.workers, benchPod)
	wanted := *m.volume
	m.k.desired.add(&wanted)
	m.k.touchPod(benchPod)
	m.check(m.e.Settle())
	if !m.k.actual.isMounted(m.volume.podVolume) {
		m.b.Fatal("not mounted")
	}
	m.k.workers[benchPod] = &podWorker{uid: benchPod, pod: m.pod, released: true}
	m.k.desired.deletePod(benchPod)
	m.k.touchPod(benchPod)
	m.check(m.e.Settle())
	if m.k.actual.podHasVolumes(benchPod) {
		m.b.Fatal("not unmounted")
	}
}

// bare is the system calls that mounting and unmounting with a TempDir cannot do
// without: is the volume there, is something mounted already, the directory, the
// record, the link in place of the directory; and all of it back.
type bare struct {
	b                        *testing.B
	source, target, to, file string
	record                   []byte
}

func newBare(b *testing.B) *bare {
	b.Helper()
	dir := b.TempDir()
	s := &bare{
		b: b, source: filepath.Join(dir, "disk", "data"), to: "../../../../../../../../disk/data",
		target: filepath.Join(dir, podVolumeDir(benchPod, "kubernetes.io~local-volume", "pv-data")),
		file:   filepath.Join(dir, "run", "mounts", fmt.Sprintf("%032x.json", 1)),
		record: make([]byte, 200),
	}
	for _, d := range []string{s.source, filepath.Dir(s.target), filepath.Dir(s.file)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func (s *bare) mountAndUnmount() {
	_, err1 := os.Lstat(s.source)
	if _, err := os.Lstat(s.target); err == nil {
		s.b.Fatal("mounted already")
	}
	s.do(err1, os.Mkdir(s.target, 0o750), os.WriteFile(s.file, s.record, 0o644), os.Remove(s.target), os.Symlink(s.to, s.target))
	text, err := os.Readlink(s.target)
	if text != s.to {
		s.b.Fatal("not mounted")
	}
	s.do(err, os.Remove(s.target), os.Mkdir(s.target, 0o750), os.Remove(s.file), os.Remove(s.target))
}

func (s *bare) do(errs ...error) {
	for _, err := range errs {
		if err != nil {
			s.b.Fatal(err)
		}
	}
}
