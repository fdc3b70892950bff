package storagesim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/crd"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/deploy"
	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/gaps"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/machine/workdir"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/trace"
)

// User is the name of the actor whose calls Cluster.Client makes.
const User = "user"

// Setup is the actor of what comes with a driver or provisioner that is installed: its namespace, its CSIDriver, the definitions of
// snapshots.
const Setup = "setup"

// Cluster is a storage control plane with its nodes. It is not safe for
// concurrent use; its clients are.
type Cluster struct {
	cfg          Config
	engine       *engine.Engine
	client       *fake.Clientset
	setup        *fake.Clientset // calls as Setup
	dir          string
	own          *workdir.Dir // dir, if Close removes it
	mounted      []string     // the numbers of the mounts that were in dir before, if it is the caller's
	realPaths    []string     // the drivers that may mount in dir
	closed       bool
	machines     machine.Set
	containers   map[string]*runtime.Containers // by node
	kubelets     map[string]kubelet.Config      // by node
	nfs          nfs.Network
	applied      map[string][]byte // the manifest that Apply applied last, by object
	provisioners []*installed
	schedulers   []scheduler.Config
	// schedulerActors are the actors of schedulers.
	schedulerActors []string
	sockets         socket.Table // of all machines
	csiDrivers      []deploy.Plan
	snapshots       bool                // InstallSnapshots was called
	onNode          map[string][]string // the actors of each node
	off             map[string]bool     // nodes that are switched off
	began           int                 // the number of records written while the cluster started
	ids             prose.IDs
	onAct           func(verb, ref string) bool
	onRest          func()
	progress        *progress // nil: Settle has no rounds

	helpersMu sync.Mutex // clients write beside the engine
	helpers   map[trace.Ref]bool
	gapsMu    sync.Mutex // clients write beside the engine
	gaps      []trace.Gap
	gapsSeen  map[*gaps.Gap]bool
}

// New makes a cluster and starts its actors. When it returns the nodes have registered, and
// nothing else has happened. The error names the field of cfg that is wrong. Close the cluster
// when done.
func New(cfg Config) (*Cluster, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if len(cfg.Nodes) == 0 && !cfg.NoNodes {
		cfg.Nodes = Nodes("node-1")
	}
	cfg.NoNodes = false // nodes may be added
	policy := cfg.Policy
	if policy == nil && cfg.Seed != 0 {
		policy = engine.Seeded(cfg.Seed)
	}
	e := engine.New(engine.Config{
		Start: cfg.Start, Policy: policy, Patience: cfg.Patience, Phase: cfg.ResyncPhase, StepLimit: cfg.StepLimit, Seed: cfg.Seed, Blocked: cfg.Blocked,
		TraceLimit: cfg.TraceLimit, RecordValues: cfg.RecordValues,
	})
	e.Server().MakeDefaultAccounts()
	if err := crd.Install(e.Server(), e.Now); err != nil {
		return nil, err
	}
	c := &Cluster{
		cfg: cfg, engine: e, client: fake.NewWithoutActions(e.Server(), User), setup: fake.NewWithoutActions(e.Server(), Setup), dir: cfg.Dir,
		containers: map[string]*runtime.Containers{}, kubelets: map[string]kubelet.Config{}, applied: map[string][]byte{},
		onNode: map[string][]string{}, off: map[string]bool{}, progress: cfg.follow(),
		gapsSeen: map[*gaps.Gap]bool{},
	}
	if c.progress != nil {
		e.Server().OnWrite(c.progress.write)
	}
	e.Server().OnWrite(c.noteGaps)
	if cfg.TakePrograms {
		c.helpers = map[trace.Ref]bool{}
		e.Server().OnWrite(c.noteHelper)
	}
	if cfg.Dir != "" {
		c.mounted = mount.Mounted(cfg.Dir)
	}
	c.sockets.Disk = c.diskOf
	c.machines.Struck = func(struck trace.MachineStruck) { e.Record(User, struck) }
	if err := c.start(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// start adds the actors, first the control plane and then the nodes, and runs until they are up.
func (c *Cluster) start() error {
	if c.cfg.runs(NodeLifecycle) {
		c.server().TaintNewNodes()
	}
	if c.cfg.CrossNamespaceVolumeDataSource {
		c.server().Registry().AllowCrossNamespaceDataSources()
	}
	cfg := c.cfg
	cfg.PVController = c.withDeleter(cfg.PVController)
	cfg.Scheduler.ClaimUID = c.claimUID
	controlPlane := cfg.controlPlane()
	for _, actor := range controlPlane {
		if startsLate(actor.Name) {
			continue
		}
		if err := c.engine.Add(actor.Name, actor.Factory); err != nil {
			return err
		}
	}
	if c.cfg.runs(Scheduler) {
		c.schedulers, c.schedulerActors = append(c.schedulers, c.cfg.Scheduler), append(c.schedulerActors, Scheduler)
	}
	for _, server := range c.cfg.NFSServers {
		if _, err := c.AddNFSServer(server.Name, server.Exports...); err != nil {
			return err
		}
	}
	for _, node := range c.cfg.Nodes {
		if err := c.addNode(node); err != nil {
			return err
		}
	}
	err := c.engine.Settle()
	for _, actor := range controlPlane {
		if err == nil && startsLate(actor.Name) {
			err = errors.Join(c.engine.Add(actor.Name, actor.Factory), c.engine.Settle())
		}
	}
	for _, more := range c.cfg.Schedulers {
		if err == nil {
			err = c.addActor(more.Name(), scheduler.New(more))
		}
		c.schedulers, c.schedulerActors = append(c.schedulers, more), append(c.schedulerActors, more.Name())
	}
	c.began = c.engine.Trace().Len()
	return err
}

// addActor adds an actor that is not of the control plane.
func (c *Cluster) addActor(name string, f control.Factory) error {
	return c.engine.Add(name, c.cfg.wrapped(name, f))
}

// startsLate reports whether an actor starts after all others are at rest, so that it does not
// change the order in which a seed starts the others.
func startsLate(actor string) bool {
	late := []string{NamespaceDeletion, VACProtection, ResourceQuotas, Disruption, Deployments, ReplicaSets, DaemonSets, Jobs, TTLAfterFinished, CronJobs}
	return slices.Contains(late, actor)
}

// Close ends the actors and the machines' faults, waits until programs (AddProgram) have returned,
// removes real mounts and the temporary directory, if there is one. A mount that is busy stays, and so
// does one that others have made in the directory, such as a CSI driver in another process, and so does the
// directory. The error names each and the command that ends it (mount.MountedError); Close can be called again when
// they are gone.
//
// Config.Dir stays, but the mounts in it do not, since what removes it later, such as
// t.TempDir, goes through mounts: those that came since New are detached, also busy ones. Close fails if one cannot
// be, or is the last of a file system in memory, whose files would be lost.
//
// The API's objects and the story can still be read; methods that need the actors or the nodes' directories
// return engine.ErrClosed.
func (c *Cluster) Close() error {
	c.closed = true
	c.engine.Close()
	late := c.programsGone()
	c.sockets.Close()
	for _, node := range slices.Sorted(maps.Keys(c.containers)) {
		c.containers[node].Close()
	}
	c.machines.ClearFaults()
	if err := c.unmount(); err != nil {
		return errors.Join(late, err) // unmounting needs the disks
	}
	return errors.Join(late, c.machines.Close(), c.removeDir())
}

// unmount takes the mounts in the machines' directories away: our own, and in a directory of the caller's also those of
// others.
func (c *Cluster) unmount() error {
	err := c.machines.Unmount()
	if c.own != nil || c.dir == "" || !mount.Known() {
		return err
	}
	if err := mount.Detach(c.dir, c.mounted); err != nil {
		return fmt.Errorf("Config.Dir: what removes it later, such as t.TempDir, goes through mounts: %w", err)
	}
	return nil
}

// removeDir removes the temporary directory.
func (c *Cluster) removeDir() error {
	if c.own == nil {
		return nil
	}
	if len(c.realPaths) > 0 && !mount.Known() {
		return fmt.Errorf("%s stays: this system does not tell what is mounted there, and CSI driver %s may have mounted its volumes; unmount them, and remove it", c.dir, strings.Join(c.realPaths, ", "))
	}
	if err := c.own.Remove(); err != nil {
		return err
	}
	c.own = nil
	return nil
}

// Client returns a clientset whose calls the trace attributes to "user". It is one of client-go's
// fakes (*fake.Clientset), so PrependReactor works, but it does not keep its actions: the
// trace has them.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// RESTConfig returns the configuration of a client that calls as actor. It works with
// kubernetes.NewForConfig, dynamic and metadata clients and all else that takes a
// *rest.Config. No port is opened: requests are served in the goroutine that
// makes them, and only a watch has a goroutine of its own.
func (c *Cluster) RESTConfig(actor string) *restclient.Config {
	return rest.New(c.server(), c.server().Registry(), c.Now).Config(actor)
}

func (c *Cluster) server() *api.Server { return c.engine.Server() }

// Engine returns the engine that drives the actors. Engine.Server is the API server.
func (c *Cluster) Engine() *engine.Engine { return c.engine }

// Now returns the virtual time.
func (c *Cluster) Now() time.Time { return c.engine.Now() }

// RunFor lets d of virtual time pass.
func (c *Cluster) RunFor(d time.Duration) error { return c.rested(c.engine.RunFor(d)) }

// RunUntil runs until cond holds, for at most an hour of virtual time.
func (c *Cluster) RunUntil(cond func() bool) error {
	err := c.engine.RunUntil(time.Hour, cond)
	if missed, ok := errors.AsType[*engine.ConditionError](err); ok {
		err = c.withUnfinished(missed)
	}
	return c.rested(err)
}

// Crash ends an actor's process: it forgets everything and starts again at once. Engine.CrashFor keeps it down for a while.
func (c *Cluster) Crash(actor string) error { return c.engine.Crash(actor) }

// Stop ends an actor's process until Start. Its files on the node's disk stay, and a
// kubelet's containers go on running, unreported. "node/node-1" instead of an actor switches
// the whole machine off: its kubelet and its parts of CSI
// drivers stop, its containers end and its mounts are gone; only its disk stays.
func (c *Cluster) Stop(actor string) error {
	if node, ok := c.nodeOf(actor); ok {
		return c.switchOff(node)
	}
	return c.engine.Stop(actor)
}

// Start starts a stopped actor again, with empty caches, in the next Settle, Step or RunFor.
// "node/node-1" switches on a machine that Stop has switched off, with all that runs there.
func (c *Cluster) Start(actor string) error {
	if node, ok := c.nodeOf(actor); ok {
		return c.switchOn(node)
	}
	return c.engine.Start(actor)
}

// Hold delivers no more changes to an actor's cache of a resource until Release. The resource may
// have any name that kubectl knows ("persistentvolumes", "pv").
func (c *Cluster) Hold(actor, resource string) error { return c.cache(c.engine.Hold, actor, resource) }

// Release lets a held cache catch up.
func (c *Cluster) Release(actor, resource string) error {
	return c.cache(c.engine.Release, actor, resource)
}

func (c *Cluster) cache(do func(actor, resource string) error, actor, resource string) error {
	resource, err := manifest.Plural(c.server().Registry(), resource)
	if err != nil {
		return err
	}
	return do(actor, resource)
}

// Story returns the transcript so far: who did what, when and why, one line a record. It leaves
// out how the cluster started. A very long story has lost its beginning, and says so.
func (c *Cluster) Story() string { return c.Trace().Tell(trace.Telling{}) }

// Claim returns a claim: "data" in the namespace default, or "namespace/data", with or without
// "pvc/" before it.
func (c *Cluster) Claim(ref string) (*v1.PersistentVolumeClaim, error) {
	at, err := manifest.ParseRefOf(c.server().Registry(), "pvc", ref)
	if err != nil {
		return nil, err
	}
	return c.client.CoreV1().PersistentVolumeClaims(at.Namespace).Get(context.Background(), at.Name, metav1.GetOptions{})
}

// Volume returns the PersistentVolume "name" or "pv/name".
func (c *Cluster) Volume(ref string) (*v1.PersistentVolume, error) {
	at, err := manifest.ParseRefOf(c.server().Registry(), "pv", ref)
	if err != nil {
		return nil, err
	}
	return c.client.CoreV1().PersistentVolumes().Get(context.Background(), at.Name, metav1.GetOptions{})
}

// Pod returns a pod: "web" in the namespace default, or "namespace/web", with or without
// "pod/" before it.
func (c *Cluster) Pod(ref string) (*v1.Pod, error) {
	at, err := manifest.ParseRefOf(c.server().Registry(), "pod", ref)
	if err != nil {
		return nil, err
	}
	return c.client.CoreV1().Pods(at.Namespace).Get(context.Background(), at.Name, metav1.GetOptions{})
}
