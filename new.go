package storagesim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/crd"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/gaps"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/trace"
)

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
		Server: api.Config{DefaultAccounts: true, TaintNewNodes: cfg.runs(NodeLifecycle), DenyPrivileged: cfg.DenyPrivileged,
			RequireAccounts: !cfg.NoServiceAccountAdmission, Manager: managerOf},
	})
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

// startsLate reports whether an actor starts after all others are at rest, so that it does not
// change the order in which a seed starts the others.
func startsLate(actor string) bool {
	late := []string{NamespaceDeletion, VACProtection, ResourceQuotas, Disruption, Deployments, ReplicaSets, DaemonSets, Jobs, TTLAfterFinished, CronJobs,
		ReplicationControllers}
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
		return fmt.Errorf("%s stays: this system does not tell what is mounted there, and CSI driver %s may have mounted its volumes; unmount them, and remove it",
			c.dir, strings.Join(c.realPaths, ", "))
	}
	if err := c.own.Remove(); err != nil {
		return err
	}
	c.own = nil
	return nil
}

// programsGone returns an error that names the programs that had not returned when the engine was
// closed.
func (c *Cluster) programsGone() error {
	if late := c.engine.Lingering(); len(late) > 0 {
		return fmt.Errorf("programs that have not returned although their context has ended: %s", strings.Join(late, ", "))
	}
	return nil
}

// follow returns the progress of a cluster with rounds, nil for another.
func (cfg Config) follow() *progress {
	if cfg.Seed == 0 && cfg.Policy == nil && !cfg.Rounds {
		return nil
	}
	return &progress{unfinished: map[trace.Ref]bool{}}
}
