package storagesim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/controllers/cronjob"
	"github.com/storagesim/storagesim/controllers/daemonset"
	"github.com/storagesim/storagesim/controllers/deployment"
	"github.com/storagesim/storagesim/controllers/disruption"
	"github.com/storagesim/storagesim/controllers/garbagecollector"
	"github.com/storagesim/storagesim/controllers/job"
	"github.com/storagesim/storagesim/controllers/namespace"
	"github.com/storagesim/storagesim/controllers/nodelifecycle"
	"github.com/storagesim/storagesim/controllers/podgc"
	"github.com/storagesim/storagesim/controllers/replicaset"
	"github.com/storagesim/storagesim/controllers/resourcequota"
	"github.com/storagesim/storagesim/controllers/snapshotcontroller"
	"github.com/storagesim/storagesim/controllers/statefulset"
	"github.com/storagesim/storagesim/controllers/tainteviction"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/pvcontroller/ephemeral"
	"github.com/storagesim/storagesim/pvcontroller/expand"
	"github.com/storagesim/storagesim/pvcontroller/protection"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/volume"
)

// The names of the control plane's actors.
const (
	PVController  = pvcontroller.ActorName
	PVCProtection = protection.PVCActorName
	PVProtection  = protection.PVActorName
	// VACProtection keeps VolumeAttributesClasses while claims or volumes have them.
	VACProtection = protection.VACActorName
	// EphemeralVolumes creates the claims of generic ephemeral volumes.
	EphemeralVolumes = ephemeral.ActorName
	// VolumeExpansion reports for a claim that has grown which component must expand the volume.
	VolumeExpansion = expand.ActorName
	StatefulSets    = statefulset.ActorName
	// GarbageCollection deletes objects whose owners are gone.
	GarbageCollection = garbagecollector.ActorName
	// AttachDetach creates the VolumeAttachments by which CSI volumes are attached to the nodes of
	// their pods, and deletes them.
	AttachDetach = attachdetach.ActorName
	Scheduler    = scheduler.ActorName
	// NodeLifecycle sets the conditions of nodes that have been silent for 50 s to Unknown, and
	// taints nodes by their conditions. While it runs, a new node is tainted not-ready
	// until it is ready, as on a real cluster.
	NodeLifecycle = nodelifecycle.ActorName
	// TaintEviction deletes pods from nodes whose NoExecute taints they do not, or no longer,
	// tolerate.
	TaintEviction = tainteviction.ActorName
	// PodGC deletes pods that no kubelet would end, such as those of nodes that do not exist.
	PodGC = podgc.ActorName
	// NamespaceDeletion empties namespaces that are deleted.
	NamespaceDeletion = namespace.ActorName
	// ResourceQuotas counts what the objects of a namespace take of its ResourceQuotas. It makes no step in a cluster without one.
	ResourceQuotas = resourcequota.ActorName
	// Disruption counts the pods of PodDisruptionBudgets, of which the API server takes evictions. It makes no step in a cluster without one.
	Disruption = disruption.ActorName
	// Deployments makes ReplicaSets for Deployments, and ReplicaSets makes pods for ReplicaSets. Each makes no step in a cluster without such
	// an object.
	Deployments = deployment.ActorName
	ReplicaSets = replicaset.ActorName
	// ReplicationControllers makes pods for ReplicationControllers, the older form of ReplicaSets. It makes no step in a cluster without one.
	ReplicationControllers = replicaset.ReplicationActorName
	// DaemonSets keeps a pod of each DaemonSet on each node that it fits. It makes no step in a cluster without one.
	DaemonSets = daemonset.ActorName
	// Jobs runs the pods of Jobs, and TTLAfterFinished deletes Jobs that have been finished for as long as they say. Neither makes a
	// step in a cluster without a Job.
	Jobs             = job.ActorName
	TTLAfterFinished = job.TTLActorName
	// CronJobs makes Jobs for CronJobs when their schedules are due. It makes no step in a cluster without one.
	CronJobs = cronjob.ActorName
	// SnapshotController binds VolumeSnapshots and their contents. It starts with the first manifest of a snapshot.
	SnapshotController = snapshotcontroller.ActorName
)

// actorNames returns the control plane's actors in the order in which they start. The SnapshotController
// starts later.
func actorNames() []string {
	return []string{
		PVController, PVCProtection, PVProtection, EphemeralVolumes, VolumeExpansion, StatefulSets, GarbageCollection, AttachDetach, Scheduler,
		NodeLifecycle, TaintEviction, PodGC, NamespaceDeletion, VACProtection, ResourceQuotas, Disruption, Deployments, ReplicaSets,
		DaemonSets, Jobs, TTLAfterFinished, CronJobs, ReplicationControllers,
	}
}

// Config describes a cluster. The zero value has one node, "node-1", and runs all
// actors, in order.
type Config struct {
	// Nodes get a kubelet and a directory each. Default one node, "node-1".
	Nodes []Node
	// NoNodes makes a cluster without nodes, to which AddNode can add some. It is an error if
	// Nodes is set, too.
	NoNodes bool
	// Seed chooses the order in which actors take steps. 0 runs them in turn, as a reader
	// expects; any other value gives another order. UIDs and generated names depend on it, too.
	Seed uint64
	// Policy chooses the order instead of Seed, for example
	// engine.Replay of choices recorded earlier.
	Policy engine.Policy
	// Rounds lets Cluster.Settle, and the methods that begin with Require, wait for periodic work
	// while something is unfinished, in order too. With a Seed or a Policy they always do.
	Rounds bool
	// Only lists the control plane's actors to run, by name; nil means all.
	Only []string
	// Start is the first moment of virtual time; default engine.Start.
	Start time.Time
	// ResyncPhase is the time between the last round of the actors' periodic work and the start,
	// as in a cluster that has been running; default 0.
	ResyncPhase time.Duration
	// Patience is the longest backoff of a retry that Settle waits for, and how long it waits for one that fails again and again with the
	// longest backoff that it can have; default one minute.
	Patience time.Duration
	// StepLimit is the number of steps that one call of Settle, or one minute of virtual time,
	// may take before it is reported as a livelock; default 300,000, and 2,000 more
	// for every object that there is when the call begins. A StatefulSet with
	// thousands of replicas needs more.
	StepLimit int
	// TraceLimit is the number of records that are kept, the latest; default
	// 1,000,000. Records beyond about 1 GiB of memory are dropped in any case. A record of a write
	// keeps the object before and after it. For clusters of tens of thousands of pods a
	// smaller limit saves much memory; stories and explanations then say what is missing.
	TraceLimit int
	// RecordValues makes the trace keep what only views such as a page ask for: which change each cache has heard of, and what each
	// decision had to choose from. Records and their numbers are the same; a run takes about a tenth longer.
	RecordValues bool
	// Blocked is the real time that a provisioner's code may block outside of its
	// Env before the cluster gives it up, with a Warning event on the claim or
	// volume; default 30 s, negative for ever.
	Blocked time.Duration
	// Dir is the directory in which each machine gets one of its own.
	// They stay after Close, without what has been mounted in them since. Default: a temporary directory that
	// Close removes, unless something that is not the cluster's is mounted in it.
	Dir string
	// Disks chooses directories or memory for the machines' files. Default: DirectoryDisks; in storagesimtest.New MemoryDisks, unless
	// Dir or RealMounts is set.
	Disks Disks
	// DiskSize is the number of bytes that each machine's files may take with MemoryDisks; default
	// machine.DefaultSize (256 MiB), negative for no limit. What goes past it fails with ENOSPC. A
	// node whose Capacity has ephemeral-storage has a disk of that size. df and the node's status
	// tell it.
	DiskSize int64
	// RealMounts makes nodes use the kernel's bind mounts instead of links that look like
	// them (see mount.Bind): read-only is enforced, a mount hides the files below it, a volume in
	// use is busy. They need Linux and a process that may mount in a mount namespace of
	// its own, which New checks:
	//
	//	unshare --user --map-root-user --mount go test ./...
	//
	// Close removes them all, and those that a driver has made in the nodes' directories. If the process ends without
	// Close, the kernel removes them with the namespace's last process, and the temporary directory stays. With
	// RealMounts NFS shares cannot be mounted.
	RealMounts bool
	// TakePrograms takes programs that the simulation does not have for programs of a container's image, where the container would end with
	// 127 otherwise: it runs from there on, an init container or that of a Job has succeeded. Each is in the trace (trace.ProgramTaken).
	// Default: they are not found, as a misspelt one. Helper pods of provisioners are never meant.
	TakePrograms bool
	// Entrypoints holds the commands that images start with, by the image's name, with or without a tag: a container of such an image that names
	// no command runs it, and its args are added. Default: nothing is known of an image's program but that it runs, so that a Job
	// with such a container never completes. ["sh", "-c", script, "sh"] runs a script whose "$@" are the args.
	Entrypoints map[string][]string
	// VolumePlugins returns new volume plugins for a node's kubelet each time it starts;
	// default kubelet.DefaultPlugins, to which a function of your own can add.
	VolumePlugins func() []volume.VolumePlugin
	// NFSServers exist from the start; see Cluster.AddNFSServer.
	NFSServers []NFSServer
	// CrossNamespaceVolumeDataSource is the API server's feature gate of that name, which is alpha in
	// v1.37; default false: a dataSourceRef that names another namespace is dropped. The provisioners
	// of CSI drivers have a gate of their own (provisioner.Config in csi/provisioner).
	CrossNamespaceVolumeDataSource bool
	// DenyPrivileged makes the API server refuse privileged containers, as kube-apiserver does without its flag --allow-privileged;
	// default false, since clusters are usually set up with that flag.
	DenyPrivileged bool
	// NoServiceAccountAdmission makes the API server take pods whose service account does not exist or does not list their secrets, as kube-apiserver does
	// without its admission plugin ServiceAccount; default false: it refuses them. A pod that names no account then gets no token,
	// where it otherwise gets that of the account "default".
	NoServiceAccountAdmission bool
	// PVController and Scheduler configure those controllers. Unless PVController says
	// otherwise, hostPath volumes to be deleted are deleted from the first node's disk:
	// that is the machine the controller manager is thought to run on.
	PVController pvcontroller.Config
	Scheduler    scheduler.Config
	// Schedulers run beside the one that Scheduler configures, each as the actor of its SchedulerName, and schedule only pods that name
	// them.
	Schedulers []scheduler.Config
	// AttachDetach configures the attach/detach controller.
	AttachDetach attachdetach.Config
	// StatefulSet configures the controller of StatefulSets.
	StatefulSet statefulset.Config
	// SnapshotController configures the snapshot controller, if there is one.
	SnapshotController snapshotcontroller.Config
	// Kubelet, if set, changes the configuration of each node's kubelet before it starts.
	Kubelet func(*kubelet.Config)
	// Provisioner, if set, changes the configuration of each provisioner that AddProvisionController or AddProvisioner installs.
	Provisioner func(*provisioner.Config)
	// Wrap, if set, is given each actor when it is added and returns the Factory to run instead,
	// for example one that calls f with an Env whose client is the caller's own. An Env that
	// replaces the engine's embeds it as a control.FullEnv, so that no optional interface is lost. Programs (AddProgram) are
	// not wrapped.
	Wrap func(actor string, f control.Factory) control.Factory
}

// Disks is the place where nodes and NFS servers keep their files. A cluster does the same on
// both, but that only on MemoryDisks a container goes on to see the directory that it mounts by subPath when that is renamed or removed; a run on
// MemoryDisks is several times faster.
type Disks int

const (
	// DefaultDisks is DirectoryDisks, or what Config.Disks says of storagesimtest.New.
	DefaultDisks Disks = iota
	// DirectoryDisks gives each machine a directory below Config.Dir.
	DirectoryDisks
	// MemoryDisks keeps files in memory: nothing is written on the machine that runs the
	// simulation. Lab.Dir returns ""; Cluster.Machine reaches the files. All
	// files belong to root, with umask 022, for any user who runs the simulation.
	MemoryDisks
)

// Node is a machine of the cluster.
type Node struct {
	// Name is the node's name, and the value of its label
	// kubernetes.io/hostname unless Labels says otherwise.
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	Taints      []v1.Taint
	// Capacity holds the node's resources; default 64 CPUs, 64Gi, 110 pods.
	Capacity v1.ResourceList
	// Runtime is the node's container runtime; default runtime.Containerd.
	Runtime runtime.Kind
	// Images lists the images that the node has from the start, with or without a tag; a container
	// with imagePullPolicy Never needs one of them.
	Images []string
	// CSIDrivers register with the node's kubelet; see kubelet.Config.CSIDrivers.
	CSIDrivers []kubelet.CSIDriver
}

// NFSServer is a machine that exports directories to all nodes.
type NFSServer struct {
	// Name is the name that volumes have in nfs.server: an IP address or a DNS name.
	Name string
	// Exports are the directories that can be mounted, absolute paths.
	Exports []string
}

// Nodes returns plain nodes of these names.
func Nodes(names ...string) []Node {
	nodes := make([]Node, len(names))
	for i, name := range names {
		nodes[i].Name = name
	}
	return nodes
}

// check returns an error that names the first field with a wrong value and what is allowed. of says where the node is.
func (n Node) check(of string) error {
	if msgs := validation.NameIsDNSSubdomain(n.Name, false); len(msgs) > 0 {
		return fmt.Errorf("%s.Name: %q is not a node name: %s", of, n.Name, strings.Join(msgs, "; "))
	}
	return n.Runtime.Check(of + ".Runtime")
}

// check returns an error that names the first field with a wrong value and what is allowed.
func (cfg Config) check() error {
	seen := map[string]bool{}
	if cfg.NoNodes && len(cfg.Nodes) > 0 {
		return fmt.Errorf("Config.NoNodes: true, and there are %d Nodes; leave one of the two out", len(cfg.Nodes))
	}
	for i, node := range cfg.Nodes {
		field := fmt.Sprintf("Config.Nodes[%d]", i)
		if err := node.check(field); err != nil {
			return err
		}
		if seen[node.Name] {
			return fmt.Errorf("%s.Name: there are two nodes called %q", field, node.Name)
		}
		seen[node.Name] = true
	}
	for i, name := range cfg.Only {
		if known := append(actorNames(), SnapshotController); !slices.Contains(known, name) {
			return fmt.Errorf("Config.Only[%d]: no actor is called %q%s", i, name, prose.OneOf(name, known))
		}
	}
	for i, more := range cfg.Schedulers {
		same := func(other scheduler.Config) bool { return other.Name() == more.Name() }
		if cfg.runs(Scheduler) && same(cfg.Scheduler) || slices.ContainsFunc(cfg.Schedulers[:i], same) {
			return fmt.Errorf("Config.Schedulers[%d].SchedulerName: there are two schedulers called %q", i, more.Name())
		}
	}
	for _, image := range slices.Sorted(maps.Keys(cfg.Entrypoints)) {
		if len(cfg.Entrypoints[image]) == 0 {
			return fmt.Errorf("Config.Entrypoints[%q]: the command is empty", image)
		}
	}
	switch { // in order, so that the same Config gets the same error
	case cfg.ResyncPhase < 0:
		return fmt.Errorf("Config.ResyncPhase: %s is negative; it must be 0 or more", cfg.ResyncPhase)
	case cfg.Patience < 0:
		return fmt.Errorf("Config.Patience: %s is negative; it must be positive, or 0 for the default of a minute", cfg.Patience)
	}
	if err := cfg.checkDisks(); err != nil {
		return err
	}
	if cfg.RealMounts && len(cfg.NFSServers) > 0 {
		return errors.New("Config.NFSServers: with RealMounts there can be none, since real mounts are bind mounts on one node")
	}
	for i, server := range cfg.NFSServers {
		if err := nfs.CheckName(server.Name); err != nil {
			return fmt.Errorf("Config.NFSServers[%d].Name: %w", i, err)
		}
	}
	switch {
	case cfg.StepLimit < 0:
		return fmt.Errorf("Config.StepLimit: %d is negative; it must be positive, or 0 for the default", cfg.StepLimit)
	case cfg.TraceLimit < 0:
		return fmt.Errorf("Config.TraceLimit: %d is negative; it must be positive, or 0 for the default", cfg.TraceLimit)
	}
	return nil
}

func (cfg Config) checkDisks() error {
	switch {
	case cfg.Disks < DefaultDisks || cfg.Disks > MemoryDisks:
		return fmt.Errorf("Config.Disks: there is no kind %d; there are DirectoryDisks and MemoryDisks", cfg.Disks)
	case cfg.DiskSize != 0 && cfg.Disks != MemoryDisks:
		return fmt.Errorf("Config.DiskSize: %d: only MemoryDisks have a size", cfg.DiskSize)
	case cfg.Disks == MemoryDisks && cfg.Dir != "":
		return fmt.Errorf("Config.Dir: %q: with MemoryDisks nothing is written there", cfg.Dir)
	case cfg.Disks == MemoryDisks && cfg.RealMounts:
		return errors.New("Config.RealMounts: the kernel cannot mount what is on MemoryDisks; use DirectoryDisks")
	}
	return nil
}

// wrapped returns the Factory to run for an actor.
func (cfg Config) wrapped(actor string, f control.Factory) control.Factory {
	if cfg.Wrap != nil {
		return cfg.Wrap(actor, f)
	}
	return f
}

func (cfg Config) runs(actor string) bool {
	return cfg.Only == nil || slices.Contains(cfg.Only, actor)
}
