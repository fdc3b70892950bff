// Package storagesimtest makes clusters for tests, so that package storagesim need not
// import testing.
//
//	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
//	c.Apply(manifests)
//	c.Settle()
//	c.RequireRunning("web")
package storagesimtest

import (
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/deploy"
	"github.com/storagesim/storagesim/internal/drain"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/terminal"
	nfsserver "github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// Cluster is a storagesim.Cluster for a test: where a call on that returns an error,
// the same call here fails the test at once. The field of that name is the cluster
// itself, for a test that expects an error.
type Cluster struct {
	*storagesim.Cluster
	// T is the test that fails. With package explore it is that of one run.
	T testing.TB
}

// New makes a cluster that is closed when the test ends. Its machines' files are in memory, which is several times faster than
// directories, unless cfg asks for those (Config.Disks, Dir or RealMounts). If the test
// fails, it prints the seed and the story so far, in 80 columns and with short identifiers. If
// objects asked for what the simulation does not model, it logs one line about that, and one for each
// injected fault that struck nothing.
func New(t testing.TB, cfg storagesim.Config) *Cluster {
	t.Helper()
	if cfg.Disks == storagesim.DefaultDisks && cfg.Dir == "" && !cfg.RealMounts {
		cfg.Disks = storagesim.MemoryDisks
	}
	c, err := storagesim.New(cfg)
	if err != nil {
		t.Fatalf("storagesim.New: %v", err)
	}
	t.Cleanup(func() {
		if gaps := c.Trace().Gaps(); len(gaps) > 0 {
			texts := make([]string, len(gaps))
			for i, gap := range gaps {
				texts[i] = gap.String()
			}
			t.Logf("storagesim %s", strings.Join(texts, "; and "))
		}
		for _, d := range c.Trace().Deviations() {
			t.Logf("storagesim: this run %s", d)
		}
		for _, fault := range c.Lab().MissedFaults() {
			t.Logf("storagesim: an injected fault struck nothing: %s", fault)
		}
		if t.Failed() {
			t.Logf("storagesim: seed %d; the story so far:\n%s", cfg.Seed,
				c.Trace().Tell(trace.Telling{Width: terminal.TestWidth, Shorten: c.Trace().ShortIDs, Calls: true}))
		}
		if err := c.Close(); err != nil {
			t.Errorf("storagesim: Close: %v", err)
		}
	})
	return &Cluster{c, t}
}

// Must fails the test if err is an error.
func (c *Cluster) Must(err error) {
	c.T.Helper()
	if err != nil {
		c.T.Fatal(c.told(err))
	}
}

// told returns an error as the test prints it. A test of go test has lines that fit; an exploration is given the error itself, and tells
// it in the width that it is asked for.
func (c *Cluster) told(err error) any {
	if _, whole := c.T.(*testing.T); whole {
		return prose.Wrap(err.Error(), terminal.TestWidth, 2)
	}
	return err
}

// Apply applies YAML, as Cluster.Apply does.
func (c *Cluster) Apply(manifests ...string) {
	c.T.Helper()
	c.Must(c.Cluster.Apply(manifests...))
}

// ApplyFile applies files, as Cluster.ApplyFile does.
func (c *Cluster) ApplyFile(paths ...string) {
	c.T.Helper()
	c.Must(c.Cluster.ApplyFile(paths...))
}

// Delete deletes objects, as Cluster.Delete does.
func (c *Cluster) Delete(refs ...string) {
	c.T.Helper()
	c.Must(c.Cluster.Delete(refs...))
}

// AddNode adds a node, as Cluster.AddNode does.
func (c *Cluster) AddNode(node storagesim.Node) {
	c.T.Helper()
	c.Must(c.Cluster.AddNode(node))
}

// AddProgram starts a program, as Cluster.AddProgram does.
func (c *Cluster) AddProgram(p storagesim.Program) {
	c.T.Helper()
	c.Must(c.Cluster.AddProgram(p))
}

// DrainOptions say which pods Drain may evict, and how.
type DrainOptions = drain.Options

// Drain cordons a node and evicts its pods, as kubectl drain does, and returns the warnings. It
// does not wait until the pods are gone: Settle or RunFor lets that happen.
func (c *Cluster) Drain(node string, o DrainOptions) (warnings []string) {
	c.T.Helper()
	done, err := drain.Node(c.T.Context(), c.Client(), node, o)
	c.Must(errors.Join(err, done.Err()))
	return done.Warnings
}

// AddProvisioner adds a provisioner, as Cluster.AddProvisioner does.
func (c *Cluster) AddProvisioner(name string, p provisioner.Provisioner) {
	c.T.Helper()
	c.Must(c.Cluster.AddProvisioner(name, p))
}

// AddNFSServer adds an NFS server, as Cluster.AddNFSServer does.
func (c *Cluster) AddNFSServer(name string, exports ...string) *nfsserver.Server {
	c.T.Helper()
	server, err := c.Cluster.AddNFSServer(name, exports...)
	c.Must(err)
	return server
}

// AddProvisionController adds a provisioner, as Cluster.AddProvisionController
// does.
func (c *Cluster) AddProvisionController(cfg provisioner.Config) {
	c.T.Helper()
	c.Must(c.Cluster.AddProvisionController(cfg))
}

// InstallCSIDriver installs a CSI driver and its sidecars, as Cluster.InstallCSIDriver does.
func (c *Cluster) InstallCSIDriver(d deploy.Driver) {
	c.T.Helper()
	c.Must(c.Cluster.InstallCSIDriver(d))
}

// Settle runs until the cluster is at rest.
func (c *Cluster) Settle() {
	c.T.Helper()
	c.Must(c.Cluster.Settle())
}

// Step takes one step and reports whether there was one to take.
func (c *Cluster) Step() bool {
	c.T.Helper()
	more, err := c.Engine().Step()
	c.Must(err)
	return more
}

// RunFor lets d of virtual time pass.
func (c *Cluster) RunFor(d time.Duration) {
	c.T.Helper()
	c.Must(c.Cluster.RunFor(d))
}

// RunUntil runs until cond holds, for at most an hour of virtual time.
func (c *Cluster) RunUntil(cond func() bool) {
	c.T.Helper()
	c.Must(c.Cluster.RunUntil(cond))
}

// Crash ends an actor's process and starts it again.
func (c *Cluster) Crash(actor string) {
	c.T.Helper()
	c.Must(c.Cluster.Crash(actor))
}

// Stop stops an actor or switches a machine off, as Cluster.Stop does.
func (c *Cluster) Stop(actor string) {
	c.T.Helper()
	c.Must(c.Cluster.Stop(actor))
}

// Start starts what Stop has stopped.
func (c *Cluster) Start(actor string) {
	c.T.Helper()
	c.Must(c.Cluster.Start(actor))
}

// Inject adds a fault, as Cluster.Inject does.
func (c *Cluster) Inject(f storagesim.Fault) {
	c.T.Helper()
	c.Must(c.Cluster.Inject(f))
}

// Hold keeps an actor's cache of a resource stale until Release.
func (c *Cluster) Hold(actor, resource string) {
	c.T.Helper()
	c.Must(c.Cluster.Hold(actor, resource))
}

// Release lets a held cache catch up.
func (c *Cluster) Release(actor, resource string) {
	c.T.Helper()
	c.Must(c.Cluster.Release(actor, resource))
}

// Claim returns a claim, as Cluster.Claim says.
func (c *Cluster) Claim(key string) *v1.PersistentVolumeClaim {
	c.T.Helper()
	claim, err := c.Cluster.Claim(key)
	c.Must(err)
	return claim
}

// Volume returns the PersistentVolume of that name.
func (c *Cluster) Volume(name string) *v1.PersistentVolume {
	c.T.Helper()
	volume, err := c.Cluster.Volume(name)
	c.Must(err)
	return volume
}

// Pod returns a pod, as Cluster.Pod says.
func (c *Cluster) Pod(key string) *v1.Pod {
	c.T.Helper()
	pod, err := c.Cluster.Pod(key)
	c.Must(err)
	return pod
}

// Explain answers why an object is as it is, as Cluster.Explain does.
func (c *Cluster) Explain(ref string) string {
	c.T.Helper()
	text, err := c.Cluster.Explain(ref)
	c.Must(err)
	return text
}

// RequireBound fails the test unless the claims are Bound, as Cluster.RequireBound says.
func (c *Cluster) RequireBound(claims ...string) {
	c.T.Helper()
	c.Must(c.Cluster.RequireBound(claims...))
}

// RequireRunning fails the test unless the pods run, as Cluster.RequireRunning says.
func (c *Cluster) RequireRunning(pods ...string) {
	c.T.Helper()
	c.Must(c.Cluster.RequireRunning(pods...))
}

// RequireNoLeaks fails the test if anything was left behind, as
// Cluster.RequireNoLeaks says.
func (c *Cluster) RequireNoLeaks() {
	c.T.Helper()
	c.Must(c.Cluster.RequireNoLeaks())
}

// Get prints what `kubectl get ARGS` prints.
func (c *Cluster) Get(args ...string) string {
	c.T.Helper()
	text, err := c.Cluster.Get(args...)
	c.Must(err)
	return text
}
