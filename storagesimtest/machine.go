package storagesimtest

import (
	"io/fs"
	"testing"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine/disk"
)

// Machine is a storagesim.Machine for a test: what returns an error there fails the test here. The field of that name is
// the machine itself, for a test that expects an error.
type Machine struct {
	storagesim.Machine
	t testing.TB
}

// Machine returns a machine or a pod, as Cluster.Machine says.
func (c *Cluster) Machine(name string) Machine { return Machine{c.Cluster.Machine(name), c.T} }

func (m Machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// ReadFile returns the text of a file, as Machine.ReadFile does.
func (m Machine) ReadFile(path string) string {
	m.t.Helper()
	text, err := m.Machine.ReadFile(path)
	m.must(err)
	return text
}

// WriteFile writes a text to a file, as Machine.WriteFile does.
func (m Machine) WriteFile(path, text string) {
	m.t.Helper()
	m.must(m.Machine.WriteFile(path, text))
}

// MakeDir makes a directory, as Machine.MakeDir does.
func (m Machine) MakeDir(path string, mode fs.FileMode) {
	m.t.Helper()
	m.must(m.Machine.MakeDir(path, mode))
}

// ListDir lists a directory, as Machine.ListDir does.
func (m Machine) ListDir(path string) []string {
	m.t.Helper()
	names, err := m.Machine.ListDir(path)
	m.must(err)
	return names
}

// Disk returns the machine's disk, as Machine.Disk does.
func (m Machine) Disk() *disk.Disk {
	m.t.Helper()
	d, err := m.Machine.Disk()
	m.must(err)
	return d
}

// Exec runs a command in a container of the pod, as Machine.Exec does.
func (m Machine) Exec(container string, command ...string) storagesim.ExecResult {
	m.t.Helper()
	result, err := m.Machine.Exec(container, command...)
	m.must(err)
	return result
}

// Logs returns what a container of the pod has printed, as Machine.Logs does.
func (m Machine) Logs(container string, previous bool) string {
	m.t.Helper()
	text, err := m.Machine.Logs(container, previous)
	m.must(err)
	return text
}

// VolumeStats asks how full the pod's volumes are, as Machine.VolumeStats does.
func (m Machine) VolumeStats() []kubelet.VolumeStats {
	m.t.Helper()
	stats, err := m.Machine.VolumeStats()
	m.must(err)
	return stats
}

// HostDir returns the path of a directory on the machine that runs the test, as Machine.HostDir does.
func (m Machine) HostDir(dir string) string {
	m.t.Helper()
	path, err := m.Machine.HostDir(dir)
	m.must(err)
	return path
}
