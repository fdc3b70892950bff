package storagesim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/controllers/namespace"
	"github.com/storagesim/storagesim/controllers/nodelifecycle"
	"github.com/storagesim/storagesim/controllers/podgc"
	"github.com/storagesim/storagesim/controllers/tainteviction"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/pvcontroller/protection"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/volume"
)

// The names of the control plane's actors.
const (
	PVController  = "persistent-volume-binder"
	PVCProtection = "pvc-protection-controller"
	PVProtection  = "pv-protection-controller"
	// VACProtection keeps VolumeAttributesClasses while claims or volumes have them.
	VACProtection = protection.VACActorName
	// EphemeralVolumes makes the claims of generic ephemeral volumes.
	EphemeralVolumes = "ephemeral-volume-controller"
	// VolumeExpansion says of claims that have grown who must expand them.
	VolumeExpansion = "expand-controller"
	StatefulSets    = "statefulset-controller"
	// GarbageCollection deletes objects whose owners are gone.
	GarbageCollection = "generic-garbage-collector"
	// AttachDetach has CSI volumes attached to the nodes of their pods, and detached.
	AttachDetach = attachdetach.ActorName
	Scheduler    = "kube-scheduler"
	// NodeLifecycle says of nodes that have been silent for 50 s that nothing is known of
	// them, and taints nodes by their conditions. While it runs, new nodes are tainted as not
	// ready until they are, as on a real cluster.
	NodeLifecycle = nodelifecycle.ActorName
	// TaintEviction deletes pods from nodes whose NoExecute taints they do not tolerate, or
	// not any longer.
	TaintEviction = tainteviction.ActorName
	// PodGC deletes the pods of nodes that do not exist, and others that nobody would end.
	PodGC = podgc.ActorName
	// NamespaceDeletion empties namespaces that are deleted.
	NamespaceDeletion = namespace.ActorName
	// SnapshotController binds VolumeSnapshots and their contents. Cluster.InstallSnapshots starts it.
	SnapshotController = "snapshot-controller"
)

// actorNames returns the control plane's actors in the order they are started. The SnapshotController
// starts later.
func actorNames() []string {
	return []string{
		PVController, PVCProtection, PVProtection, EphemeralVolumes, VolumeExpansion, StatefulSets, GarbageCollection, AttachDetach, Scheduler,
		NodeLifecycle, TaintEviction, PodGC, NamespaceDeletion, VACProtection,
	}
}

// Config says what cluster to make. The zero value is one node, "node-1", all
// actors, in order.
type Config struct {
	// Nodes get a kubelet and a directory each. Default one node, "node-1".
	Nodes []Node
	// NoNodes leaves out that one node: there are none until AddNode. With Nodes it is an
	// error.
	NoNodes bool
	// Seed chooses the interleaving of actors. 0 runs in order, as a reader
	// expects; any other value explores one of the other orders. It also makes
	// UIDs and generated names.
	Seed uint64
	// Policy replaces what Seed says about the order, for example
	// engine.Replay of choices recorded earlier.
	Policy engine.Policy
	// Only are the control plane's actors to run, by name; nil means all.
	Only []string
	// Start is the first moment of virtual time; default engine.Start.
	Start time.Time
	// ResyncPhase is how long before the start the periodic work of actors had
	// its last round, as in a cluster that has been running; default 0.
	ResyncPhase time.Duration
	// Patience is how long a retry's backoff may grow before Settle stops
	// waiting for it; default one minute.
	Patience time.Duration
	// StepLimit is how many steps one call of Settle, or one minute of virtual time,
	// may take before it is reported as a livelock; default 300,000, and 2,000 more
	// for every object that there is when the call begins. A StatefulSet with
	// thousands of replicas needs more.
	StepLimit int
	// TraceLimit is how many records of what happened are kept, the latest; default
	// 1,000,000, and in any case those that take about 1 GiB of memory. A record of a write
	// keeps the object before and after it. For clusters of tens of thousands of pods a
	// smaller limit saves much memory; stories and explanations say then what is missing.
	TraceLimit int
	// Blocked is how long, in real time, a provisioner may block without waiting
	// on its Env before it is given up, with a Warning event on the claim or
	// volume; default 30 s, negative for ever.
	Blocked time.Duration
	// Dir is where the nodes' directories are made, one below it for each node.
	// They stay after Close. Default: a temporary directory that Close removes.
	Dir string
	// Disks says where machines have their files; default DirectoryDisks.
	Disks Disks
	// RealMounts has nodes make the kernel's bind mounts instead of links that look like
	// them (see mount.Bind): read-only is kept, what is mounted on is hidden, a volume in
	// use is busy. Only Linux has them, and only for a process with a mount namespace of
	// its own that may mount there, which New checks:
	//
	//	unshare --user --map-root-user --mount go test ./...
	//
	// Close takes them all away. If the process ends without it, the kernel takes them
	// away with the namespace's last process; the temporary directory stays. NFS shares
	// cannot be mounted then.
	RealMounts bool
	// VolumePlugins makes the volume plugins of a node's kubelet, anew for every start;
	// default kubelet.DefaultPlugins, which a function of your own can add to.
	VolumePlugins func() []volume.VolumePlugin
	// NFSServers are there from the start; see Cluster.AddNFSServer.
	NFSServers []NFSServer
	// CrossNamespaceVolumeDataSource is the API server's feature gate of that name, which is alpha in
	// v1.36; default false: a dataSourceRef that names another namespace is dropped. The provisioners
	// of CSI drivers have a gate of their own (provisioner.Config in csi/provisioner).
	CrossNamespaceVolumeDataSource bool
	// PVController and Scheduler configure those controllers. Unless PVController says
	// otherwise, hostPath volumes to be deleted are deleted from the first node's disk:
	// that is the machine the controller manager is thought to run on.
	PVController pvcontroller.Config
	Scheduler    scheduler.Config
	// PVCProtection configures the controller that keeps claims in use.
	PVCProtection protection.PVCConfig
	// AttachDetach configures the attach/detach controller.
	AttachDetach attachdetach.Config
	// KubeletRules are those of all kubelets: switches for the museum. The zero value has the
	// right rules.
	KubeletRules kubelet.Rules
}

// Disks says where nodes and NFS servers have their files. Whatever a cluster does, it
// does alike on both; a run on MemoryDisks is several times faster.
type Disks int

const (
	// DirectoryDisks gives each machine a directory below Config.Dir.
	DirectoryDisks Disks = iota
	// MemoryDisks keeps files in memory: nothing is written on the machine that runs the
	// simulation, and it leaves nothing there. Cluster.Dir is "" then; ReadFile,
	// WriteFile and ListDir show the files. Everything belongs to root, with umask 022,
	// whoever runs the simulation.
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
	// Capacity is what the node has; default 64 CPUs, 64Gi, 110 pods.
	Capacity v1.ResourceList
	// Runtime is which container runtime the node has; default runtime.Containerd.
	Runtime runtime.Kind
	// Images are those that the node has from the start, with or without a tag; a container
	// with imagePullPolicy Never needs one of them.
	Images []string
	// CSIDrivers register with the node's kubelet; see kubelet.Config.CSIDrivers.
	CSIDrivers []kubelet.CSIDriver
}

// NFSServer is a machine that exports directories to all nodes.
type NFSServer struct {
	// Name is what volumes call it in nfs.server: an IP address or a DNS name.
	Name string
	// Exports are the directories that can be mounted, absolute paths.
	Exports []string
}

// Nodes are plain nodes of these names.
func Nodes(names ...string) []Node {
	nodes := make([]Node, len(names))
	for i, name := range names {
		nodes[i].Name = name
	}
	return nodes
}

// check refuses what cannot work, naming the field and what is allowed.
func (cfg Config) check() error {
	seen := map[string]bool{}
	if cfg.NoNodes && len(cfg.Nodes) > 0 {
		return fmt.Errorf("Config.NoNodes: true, and there are %d Nodes; leave one of the two out", len(cfg.Nodes))
	}
	for i, node := range cfg.Nodes {
		field := fmt.Sprintf("Config.Nodes[%d].Name", i)
		if msgs := validation.NameIsDNSSubdomain(node.Name, false); len(msgs) > 0 {
			return fmt.Errorf("%s: %q is not a node name: %s", field, node.Name, strings.Join(msgs, "; "))
		}
		if seen[node.Name] {
			return fmt.Errorf("%s: there are two nodes called %q", field, node.Name)
		}
		seen[node.Name] = true
		if err := node.Runtime.Check(fmt.Sprintf("Config.Nodes[%d].Runtime", i)); err != nil {
			return err
		}
	}
	for i, name := range cfg.Only {
		if known := append(actorNames(), SnapshotController); !slices.Contains(known, name) {
			return fmt.Errorf("Config.Only[%d]: no actor is called %q%s", i, name, prose.OneOf(name, known))
		}
	}
	for field, d := range map[string]time.Duration{"ResyncPhase": cfg.ResyncPhase, "Patience": cfg.Patience} {
		if d < 0 {
			return fmt.Errorf("Config.%s: %s is negative", field, d)
		}
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
	for field, n := range map[string]int{"StepLimit": cfg.StepLimit, "TraceLimit": cfg.TraceLimit} {
		if n < 0 {
			return fmt.Errorf("Config.%s: %d is negative", field, n)
		}
	}
	return nil
}

func (cfg Config) checkDisks() error {
	switch {
	case cfg.Disks != DirectoryDisks && cfg.Disks != MemoryDisks:
		return fmt.Errorf("Config.Disks: there is no kind %d; there are DirectoryDisks and MemoryDisks", cfg.Disks)
	case cfg.Disks == MemoryDisks && cfg.Dir != "":
		return fmt.Errorf("Config.Dir: %q: with MemoryDisks nothing is written there", cfg.Dir)
	case cfg.Disks == MemoryDisks && cfg.RealMounts:
		return errors.New("Config.RealMounts: the kernel cannot mount what is on MemoryDisks; use DirectoryDisks")
	}
	return nil
}

func (cfg Config) runs(actor string) bool {
	return cfg.Only == nil || slices.Contains(cfg.Only, actor)
}
