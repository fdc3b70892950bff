package kubelet

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/internal/apivolume"
	"github.com/storagesim/storagesim/kubelet/internal/emptydir"
	"github.com/storagesim/storagesim/kubelet/internal/hostpath"
	"github.com/storagesim/storagesim/kubelet/internal/imagevolume"
	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/kubelet/internal/nodestatus"
	"github.com/storagesim/storagesim/kubelet/internal/prober"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/kubelet/volumemanager"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// Backoff of operations that failed, per volume or per volume of a pod.
//
// Upstream: pkg/util/goroutinemap/exponentialbackoff, v1.37.
const (
	initialDurationBeforeRetry = 500 * time.Millisecond
	maxDurationBeforeRetry     = 2*time.Minute + 2*time.Second
)

// backOffPeriod is the time after which the kubelet looks again at a pod whose sync failed, or whose status could not be written.
//
// Upstream: kubelet.go backOffPeriod, status_manager.go syncPeriod, v1.37.2. It adds up to half of the one, and counts the other from its start.
const backOffPeriod = 10 * time.Second

// workerBackOffPeriodJitterFactor is the share of it by which a pod that failed may wait longer, if it may be late (Decisions.Late).
//
// Upstream: pod_workers.go workerBackOffPeriodJitterFactor, v1.37.2.
const workerBackOffPeriodJitterFactor = 0.5

// Backoff of containers that failed.
//
// Upstream: kubelet.go MaxCrashLoopBackOff, v1.37.
const (
	initialRestartBackoff = 10 * time.Second
	maxRestartBackoff     = 5 * time.Minute
)

// Config configures one node's kubelet. Node's name and Root are required.
type Config struct {
	// Node is the template of the Node object that the kubelet registers: name,
	// labels, annotations, taints, and if given spec.podCIDR, status.capacity
	// and status.addresses. Default capacity: 64 CPUs, 64Gi, 110 pods, and the size of
	// Root as ephemeral-storage if it has one. Without a
	// podCIDR the pods' addresses are made of the node's name.
	Node v1.Node
	// Root is the node's file system.
	Root *disk.Disk
	// Mounter mounts on the node. It outlives the kubelet's crashes, as a kernel
	// does. Default: a mount.TempDir on Root.
	Mounter mount.Interface
	// Remote finds what the default Mounter mounts with a file system type:
	// mount.Config.Remote. Default: no type is known.
	Remote func(fstype, source string) (*disk.Disk, error)
	// Plugins makes the volume plugins, anew for every start; default
	// DefaultPlugins.
	Plugins func() []volume.VolumePlugin
	// CSIDrivers are drivers that only show in the Node and CSINode objects, in this order,
	// as the scheduler sees them: their volumes cannot be mounted. Drivers whose volumes
	// can be register with the plugin of package kubelet/csi.
	CSIDrivers []CSIDriver
	// Runtime is the node's container runtime. It outlives the kubelet's crashes, and a
	// kubelet that starts learns from it what runs. Default: runtime.New on Root.
	Runtime runtime.Service
	// TakesPrograms, if set, says of a pod that programs which its images may have and the simulation does not are taken to run, or in an
	// init container, a Job and a probe to have succeeded: see runtime.ContainerConfig.Absent. Default: they are not found.
	TakesPrograms func(pod *v1.Pod) bool
	// Server, if set, answers requests to this kubelet.
	Server *Server
	// StatusPhase is the time between the last turn of the Node's status, of which there is one each 10 s, and the kubelet's first start, as
	// of one that has been running; default 0. A kubelet that starts again begins with a turn.
	StatusPhase time.Duration
	// Decisions holds decisions of the volume manager.
	volumemanager.Decisions
}

// CSIDriver holds the answers of a CSI driver that registers with a kubelet.
type CSIDriver = volume.CSINodeDriver

// DefaultPlugins returns all those of the packages below this one.
func DefaultPlugins() []volume.VolumePlugin {
	plugins := []volume.VolumePlugin{local.NewPlugin(), nfs.NewPlugin(), hostpath.NewPlugin(), emptydir.NewPlugin(), imagevolume.NewPlugin()}
	return append(plugins, apivolume.NewPlugins()...)
}

// New makes the kubelet of one node. The actor is called "kubelet/" and the
// node's name. Bad configuration is the factory's error.
func New(cfg Config) control.Factory {
	if cfg.Runtime == nil && cfg.Root != nil {
		cfg.Runtime = runtime.New(runtime.Config{Root: cfg.Root})
	}
	return func(env control.Env) error {
		k, err := newKubelet(cfg, env)
		if err != nil {
			return err
		}
		cfg.StatusPhase = 0
		if cfg.Server != nil {
			cfg.Server.kubelet = k
		}
		k.run()
		return nil
	}
}

// kubelet is one life of one node's kubelet.
type kubelet struct {
	cfg      Config
	env      control.Env
	node     *nodestatus.Node
	fs       *disk.Disk
	recorder control.Recorder
	runtime  runtime.Service

	volumes *volumemanager.VolumeManager
	status  *statusManager
	prober  *prober.Manager

	pods    *control.Cache[*v1.Pod]
	workers map[types.UID]*podWorker
	// started is the time at which this life began.
	started time.Time
	// onDisk holds the pods that were found on disk at the start and are not yet known to
	// exist.
	onDisk []types.UID

	// hooks are the hooks of containers that run, and starting the containers whose postStart hook does.
	hooks    []*hook
	starting map[string]bool

	nodeQueue, podQueue, restartQueue, waitQueue control.Queue
}

func newKubelet(cfg Config, env control.Env) (*kubelet, error) {
	if cfg.Node.Name == "" {
		return nil, errors.New("kubelet.Config.Node.Name is empty; it must be the node's name")
	}
	if cfg.Root == nil {
		return nil, fmt.Errorf("kubelet.Config.Root of node %s is nil; it must be the node's directory", cfg.Node.Name)
	}
	if err := cfg.Root.Plain(layout.PodsDir, layout.PodLevels); err != nil {
		return nil, err
	}
	if cfg.StatusPhase < 0 {
		return nil, fmt.Errorf("kubelet.Config.StatusPhase of node %s: %s is negative; it must be 0 or more", cfg.Node.Name, cfg.StatusPhase)
	}
	if cfg.Mounter == nil {
		mounter, err := mount.NewTempDir(mount.Config{Dir: cfg.Root, Remote: cfg.Remote})
		if err != nil {
			return nil, err
		}
		cfg.Mounter = mounter
	}
	if cfg.Runtime == nil {
		cfg.Runtime = runtime.New(runtime.Config{Root: cfg.Root})
	}
	node, err := nodestatus.New(env, sized(&cfg.Node, cfg.Root), cfg.Runtime.Version(), cfg.CSIDrivers, cfg.StatusPhase, cfg.Late)
	if err != nil {
		return nil, err
	}
	k := &kubelet{
		cfg: cfg, env: env, node: node, started: env.Now(), fs: cfg.Root,
		recorder: env.Recorder("kubelet"), runtime: cfg.Runtime, workers: map[types.UID]*podWorker{}, starting: map[string]bool{},
		status: &statusManager{env, node, cfg.Runtime},
	}
	k.prober = prober.New(prober.Config{
		Env: env, Runtime: cfg.Runtime, Recorder: k.recorder, Pod: k.probed, Wake: k.probedAnew, Absent: k.absentInProbe, Command: probeCommand,
		Starting: func(container string) bool { return k.starting[container] },
	})
	k.volumes, err = volumemanager.New(volumemanager.Config{
		Node: node.Template(), Root: cfg.Root, Mounter: cfg.Mounter, Plugins: cfg.plugins(), Recorder: k.recorder, Pods: k, Kubelet: k, Decisions: cfg.Decisions,
	}, env)
	k.runtime.Attach(runtime.Client{Env: env, Node: k.nodeName(), PodCIDR: node.PodCIDR(), Started: k.containerStarted, Ended: k.containerEnded})
	return k, err
}

// run begins a life of the kubelet. What an earlier one left on disk comes first.
func (k *kubelet) run() {
	k.onDisk = k.volumes.Reconstruct()
	sandboxes, err := k.runtime.ListPodSandboxes()
	if err != nil {
		k.note(trace.Ref{Kind: "Node", Name: k.nodeName()}, fmt.Sprintf("cannot ask the container runtime for the pods of an earlier life: %v", err))
	}
	k.onDisk = append(k.onDisk, sandboxes...) // of a pod that has ended, the sandbox may be left
	k.start()
}

// start makes the queues and the pod cache. Each queue is one loop of upstream's
// kubelet.
func (k *kubelet) start() {
	backoff := control.RateLimiter{Base: initialDurationBeforeRetry, Max: maxDurationBeforeRetry, QPS: -1}
	again := control.RateLimiter{Base: backOffPeriod, Max: backOffPeriod, QPS: -1}
	if k.cfg.Late {
		again.Jitter = workerBackOffPeriodJitterFactor
	}
	k.nodeQueue = k.env.Queue(control.QueueConfig{Name: "node", About: control.KeysOf("Node"), Reconcile: k.syncNode, Limiter: control.RateLimiter{QPS: -1}})
	k.podQueue = k.env.Queue(control.QueueConfig{Name: "pods", About: k.aboutPod, Reconcile: k.syncPodWorker, Overlap: true, Limiter: again})
	k.volumes.Start()
	k.restartQueue = k.env.Queue(control.QueueConfig{Name: "restarts", About: k.aboutPod, Reconcile: k.restartPod, Overlap: true, Limiter: again})
	k.waitQueue = k.env.Queue(control.QueueConfig{
		Name: "waits", About: k.aboutPod, Reconcile: k.waitTimedOut,
		Limiter: control.RateLimiter{Base: podAttachAndMountTimeout, Max: podAttachAndMountTimeout + backOffPeriod, QPS: -1},
	})
	k.node.Start(k.volumes, backoff)
	k.pods = control.NewCacheForNode[*v1.Pod](k.env, control.Pods(), k.nodeName())
	k.pods.Handle(control.Handler[*v1.Pod]{Add: k.podAdded, Update: k.podUpdated, Delete: k.podDeleted})
	for _, plugin := range k.volumes.RegistrationPlugins() {
		plugin.WatchRegistrations(k.env, k.node.NodeInfoManager())
	}
	k.node.StartHeartbeats()
	k.nodeQueue.Add(k.nodeName())
}

// syncNode does what a kubelet does once when it starts: it registers the node, lets CSI drivers
// register, and takes over the pods that it found on disk, so that those that do not exist any more end.
func (k *kubelet) syncNode(ctx context.Context, _ string) error {
	k.volumes.ReportReconstructed()
	if err := k.node.Register(ctx); err != nil {
		return err
	}
	for _, plugin := range k.volumes.RegistrationPlugins() {
		plugin.Ready()
	}
	k.adoptOrphans()
	k.volumes.Reconcile()
	return nil
}

func (k *kubelet) nodeName() string { return k.node.Template().Name }

// note puts a decision into the trace.
func (k *kubelet) note(about trace.Ref, text string) {
	k.env.Trace(trace.Decision{About: about, Text: text})
}
