package storagesim

import (
	"io/fs"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/engine"
	nfsserver "github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/localpath"
	nfsprovisioner "github.com/storagesim/storagesim/provisioner/nfs"
	"github.com/storagesim/storagesim/provisioner/openebs"
)

// TestCluster is a Cluster for a test: where a call on Cluster returns an error,
// the same call here fails the test at once.
type TestCluster struct {
	*Cluster
	t testing.TB
}

// NewForTest makes a cluster that is closed when the test ends. If the test
// fails, it prints the seed and the story so far.
func NewForTest(t testing.TB, cfg Config) *TestCluster {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatalf("storagesim.New: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("storagesim: seed %d; the story so far:\n%s", cfg.Seed, c.Story())
		}
		if err := c.Close(); err != nil {
			t.Errorf("storagesim: Close: %v", err)
		}
	})
	return &TestCluster{c, t}
}

func (c *TestCluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// Apply applies YAML, as Cluster.Apply does.
func (c *TestCluster) Apply(manifests ...string) {
	c.t.Helper()
	c.must(c.Cluster.Apply(manifests...))
}

// ApplyFile applies files, as Cluster.ApplyFile does.
func (c *TestCluster) ApplyFile(paths ...string) {
	c.t.Helper()
	c.must(c.Cluster.ApplyFile(paths...))
}

// Delete deletes objects, as Cluster.Delete does.
func (c *TestCluster) Delete(refs ...string) {
	c.t.Helper()
	c.must(c.Cluster.Delete(refs...))
}

// AddProvisioner adds a provisioner, as Cluster.AddProvisioner does.
func (c *TestCluster) AddProvisioner(name string, p provisioner.Provisioner) {
	c.t.Helper()
	c.must(c.Cluster.AddProvisioner(name, p))
}

// AddNFSServer adds an NFS server, as Cluster.AddNFSServer does.
func (c *TestCluster) AddNFSServer(name string, exports ...string) *nfsserver.Server {
	c.t.Helper()
	server, err := c.Cluster.AddNFSServer(name, exports...)
	c.must(err)
	return server
}

// AddProvisionController adds a provisioner, as Cluster.AddProvisionController
// does.
func (c *TestCluster) AddProvisionController(cfg provisioner.Config) {
	c.t.Helper()
	c.must(c.Cluster.AddProvisionController(cfg))
}

// Counters are a provisioner's metrics, as Cluster.Counters says.
func (c *TestCluster) Counters(name string) *provisioner.Counters {
	c.t.Helper()
	counters, err := c.Cluster.Counters(name)
	c.must(err)
	return counters
}

// InstallOpenEBS installs OpenEBS, as Cluster.InstallOpenEBS does.
func (c *TestCluster) InstallOpenEBS(cfg ...openebs.Config) {
	c.t.Helper()
	c.must(c.Cluster.InstallOpenEBS(cfg...))
}

// InstallLocalPath installs Rancher's local-path provisioner, as
// Cluster.InstallLocalPath does.
func (c *TestCluster) InstallLocalPath(cfg ...localpath.Config) {
	c.t.Helper()
	c.must(c.Cluster.InstallLocalPath(cfg...))
}

// InstallNFS installs the NFS provisioner that makes nothing, as Cluster.InstallNFS
// does.
func (c *TestCluster) InstallNFS() {
	c.t.Helper()
	c.must(c.Cluster.InstallNFS())
}

// InstallNFSSubdir installs the provisioner of subdirectories, as
// Cluster.InstallNFSSubdir does.
func (c *TestCluster) InstallNFSSubdir(cfg nfsprovisioner.Config) {
	c.t.Helper()
	c.must(c.Cluster.InstallNFSSubdir(cfg))
}

// Settle runs until the cluster is at rest.
func (c *TestCluster) Settle() {
	c.t.Helper()
	c.must(c.Cluster.Settle())
}

// Step takes one step and reports whether there was one to take.
func (c *TestCluster) Step() bool {
	c.t.Helper()
	more, err := c.Cluster.Step()
	c.must(err)
	return more
}

// RunFor lets d of virtual time pass.
func (c *TestCluster) RunFor(d time.Duration) {
	c.t.Helper()
	c.must(c.Cluster.RunFor(d))
}

// RunUntil runs until cond holds, for at most an hour of virtual time.
func (c *TestCluster) RunUntil(cond func() bool) {
	c.t.Helper()
	c.must(c.Cluster.RunUntil(cond))
}

// Crash ends an actor's process and starts it again.
func (c *TestCluster) Crash(actor string) {
	c.t.Helper()
	c.must(c.Cluster.Crash(actor))
}

// Inject adds a fault.
func (c *TestCluster) Inject(f engine.Fault) {
	c.t.Helper()
	c.must(c.Cluster.Inject(f))
}

// InjectMachine adds a fault of a machine, as Cluster.InjectMachine does.
func (c *TestCluster) InjectMachine(f MachineFault) {
	c.t.Helper()
	c.must(c.Cluster.InjectMachine(f))
}

// Hold keeps an actor's cache of a resource stale until Release.
func (c *TestCluster) Hold(actor, resource string) {
	c.t.Helper()
	c.must(c.Cluster.Hold(actor, resource))
}

// Release lets a held cache catch up.
func (c *TestCluster) Release(actor, resource string) {
	c.t.Helper()
	c.must(c.Cluster.Release(actor, resource))
}

// Claim is the claim "namespace/name", or "name" in the namespace default.
func (c *TestCluster) Claim(key string) *v1.PersistentVolumeClaim {
	c.t.Helper()
	claim, err := c.Cluster.Claim(key)
	c.must(err)
	return claim
}

// Volume is the PersistentVolume of that name.
func (c *TestCluster) Volume(name string) *v1.PersistentVolume {
	c.t.Helper()
	volume, err := c.Cluster.Volume(name)
	c.must(err)
	return volume
}

// Pod is the pod "namespace/name", or "name" in the namespace default.
func (c *TestCluster) Pod(key string) *v1.Pod {
	c.t.Helper()
	pod, err := c.Cluster.Pod(key)
	c.must(err)
	return pod
}

// ReadFile reads a file of a node or a pod, as Cluster.ReadFile does.
func (c *TestCluster) ReadFile(where, path string) string {
	c.t.Helper()
	data, err := c.Cluster.ReadFile(where, path)
	c.must(err)
	return string(data)
}

// MakeDir makes a directory of a node or a pod, as Cluster.MakeDir does.
func (c *TestCluster) MakeDir(where, path string, mode fs.FileMode) {
	c.t.Helper()
	c.must(c.Cluster.MakeDir(where, path, mode))
}

// WriteFile writes a file of a node or a pod, as Cluster.WriteFile does.
func (c *TestCluster) WriteFile(where, path, data string) {
	c.t.Helper()
	c.must(c.Cluster.WriteFile(where, path, []byte(data)))
}

// Explain answers why an object is as it is, as Cluster.Explain does.
func (c *TestCluster) Explain(ref string) string {
	c.t.Helper()
	text, err := c.Cluster.Explain(ref)
	c.must(err)
	return text
}

// RequireBound fails the test unless the claims are Bound, as Cluster.RequireBound says.
func (c *TestCluster) RequireBound(claims ...string) {
	c.t.Helper()
	c.must(c.Cluster.RequireBound(claims...))
}

// RequireRunning fails the test unless the pods run, as Cluster.RequireRunning says.
func (c *TestCluster) RequireRunning(pods ...string) {
	c.t.Helper()
	c.must(c.Cluster.RequireRunning(pods...))
}

// RequireNoLeaks fails the test if anything was left behind, as
// Cluster.RequireNoLeaks says.
func (c *TestCluster) RequireNoLeaks() {
	c.t.Helper()
	c.must(c.Cluster.RequireNoLeaks())
}

// Get prints what `kubectl get ARGS` prints.
func (c *TestCluster) Get(args ...string) string {
	c.t.Helper()
	text, err := c.Cluster.Get(args...)
	c.must(err)
	return text
}

// GetYAML prints what `kubectl get ARGS -o yaml` prints.
func (c *TestCluster) GetYAML(args ...string) string {
	c.t.Helper()
	text, err := c.Cluster.GetYAML(args...)
	c.must(err)
	return text
}
