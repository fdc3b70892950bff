package volumemanager

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet/internal/layout"
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

// BenchmarkMountUnmountManaged measures the one side alone, for counting system calls.
func BenchmarkMountUnmountManaged(b *testing.B) {
	m := newManager(b)
	for b.Loop() {
		m.mountAndUnmount()
	}
}

// BenchmarkMountUnmountBare measures the other.
func BenchmarkMountUnmountBare(b *testing.B) {
	bare := newBare(b)
	for b.Loop() {
		bare.mountAndUnmount()
	}
}

const benchPod = types.UID("11111111-2222-3333-4444-555555555555")

// manager is a volume manager that is at work alone, and a pod that can have a volume.
type manager struct {
	*rig
	wanted volumeToMount
}

func newManager(b *testing.B) *manager {
	b.Helper()
	m := &manager{rig: newRig(b, engine.Config{TraceLimit: 100})}
	m.add(benchPod)
	m.Settle()
	m.wanted = *m.vm.desired.ofPod(benchPod)[0]
	m.unmount()
	return m
}

func (m *manager) mountAndUnmount() {
	delete(m.pods.released, benchPod)
	wanted := m.wanted
	m.vm.desired.add(&wanted)
	m.vm.touchPod(benchPod)
	m.Settle()
	if !m.vm.actual.isMounted(wanted.podVolume) {
		m.Fatal("not mounted")
	}
	m.unmount()
}

func (m *manager) unmount() {
	m.release(benchPod)
	m.Settle()
	if m.vm.actual.podHasVolumes(benchPod) {
		m.Fatal("not unmounted")
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
		target: filepath.Join(dir, layout.PodVolumeDir(benchPod, "kubernetes.io~local-volume", "pv-data")),
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
