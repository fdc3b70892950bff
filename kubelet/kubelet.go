package kubelet

import (
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/apivolume"
	"github.com/storagesim/storagesim/kubelet/emptydir"
	"github.com/storagesim/storagesim/kubelet/hostpath"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// Backoff of everything that failed, per pod or per volume of a pod.
//
// Upstream: pkg/util/goroutinemap/exponentialbackoff, v1.36.
const (
	initialDurationBeforeRetry = 500 * time.Millisecond
	maxDurationBeforeRetry     = 2*time.Minute + 2*time.Second
)

// Backoff of containers that failed.
//
// Upstream: kubelet.go MaxCrashLoopBackOff, v1.36.
const (
	initialRestartBackoff = 10 * time.Second
	maxRestartBackoff     = 5 * time.Minute
)

// Config configures one node's kubelet. Node's name and Root are required.
type Config struct {
	// Node is the template of the Node object that the kubelet registers: name,
	// labels, annotations, taints, and if given spec.podCIDR, status.capacity
	// and status.addresses. Default capacity: 64 CPUs, 64Gi, 110 pods. Without a
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
	// Server, if set, is where others ask this kubelet.
	Server *Server
	// Rules are switches for the museum. The zero value has the right rules.
	Rules Rules
}

// DefaultPlugins are all those of the packages below this one.
func DefaultPlugins() []volume.VolumePlugin {
	plugins := []volume.VolumePlugin{local.NewPlugin(), nfs.NewPlugin(), hostpath.NewPlugin(), emptydir.NewPlugin()}
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
	node     *v1.Node // the template, with defaults
	fs       *disk.Disk
	mounter  mount.Interface
	plugins  *volume.VolumePluginMgr
	recorder control.Recorder
	runtime  runtime.Service

	pods *control.Cache[*v1.Pod]
	// csiDrivers is nil if no plugin has asked for it.
	csiDrivers *control.Cache[*storagev1.CSIDriver]
	workers    map[types.UID]*podWorker
	// unseen are the pods that the populator has not looked at yet.
	unseen map[types.UID]bool
	// waiting are the pods that are to end when all pods are known.
	waiting map[types.UID]bool

	desired *desiredStateOfWorld
	actual  *actualStateOfWorld
	// touched is what the next pass over both worlds looks at.
	touched map[podVolume]bool
	// sizes are those of volumes that can grow.
	sizes *volumeSizes
	// objects are those of the volume that is being set up; syncing says that all volumes
	// are looked at regularly.
	objects map[volume.ObjectRef]fetchedObject
	syncing bool
	// attachable are the volumes to be reported as in use; attached are those
	// that were found to be attached, reportedInUse what the API was last told.
	attachable, attached map[v1.UniqueVolumeName]bool
	reportedInUse        []v1.UniqueVolumeName
	// ownNode is the node's object, from the first attachable volume on.
	ownNode *control.Cache[*v1.Node]
	// mayMount are those of them that pods were to have when the API was told.
	mayMount map[v1.UniqueVolumeName]bool
	// started is when this life began; registered says that the node was registered
	// since, reporting that its status has a turn to come, reported when something of it
	// was written last.
	started, reported     time.Time
	registered, reporting bool
	// lease is the node's, as it was last written.
	lease *coordinationv1.Lease
	// mounting is what a plugin is setting up, and for which pod: it may take its time.
	mounting podVolume
	// backingOff are the operations that failed and wait for their next try.
	backingOff map[string]bool
	// onDisk are the pods that were found on disk at the start and are not yet
	// known to exist; leftovers are volumes among them that no plugin knows, unread
	// the pods whose volumes could not be looked for.
	onDisk    []types.UID
	leftovers []string
	// rebuilt are the volumes that were found then and are not known to be attachable or
	// not yet: that takes what the API says of their drivers.
	rebuilt []*mountedVolume
	unread  map[types.UID]bool

	nodeQueue, populatorQueue, volumeQueue, operationQueue, podQueue, restartQueue, waitQueue, statusQueue control.Queue
}

func newKubelet(cfg Config, env control.Env) (*kubelet, error) {
	if cfg.Node.Name == "" {
		return nil, errors.New("kubelet.Config.Node.Name is empty; it must be the node's name")
	}
	if cfg.Root == nil {
		return nil, fmt.Errorf("kubelet.Config.Root of node %s is nil; it must be the node's directory", cfg.Node.Name)
	}
	if err := cfg.Root.Plain(podsDir, podLevels); err != nil {
		return nil, err
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
	if err := checkCSIDrivers(cfg.Node.Name, cfg.CSIDrivers); err != nil {
		return nil, err
	}
	k := &kubelet{
		cfg: cfg, env: env, node: nodeTemplate(&cfg.Node, cfg.Runtime.Version()), started: env.Now(), fs: cfg.Root, mounter: cfg.Mounter,
		recorder: env.Recorder("kubelet"), runtime: cfg.Runtime,
		workers: map[types.UID]*podWorker{}, unseen: map[types.UID]bool{}, waiting: map[types.UID]bool{}, touched: map[podVolume]bool{},
		attachable: map[v1.UniqueVolumeName]bool{}, attached: map[v1.UniqueVolumeName]bool{}, backingOff: map[string]bool{},
		unread: map[types.UID]bool{}, desired: newDesiredStateOfWorld(), actual: newActualStateOfWorld(), sizes: newVolumeSizes(),
	}
	var err error
	k.plugins, err = volume.InitPlugins(cfg.plugins(), volumeHost{env, k})
	k.runtime.Attach(runtime.Client{Env: env, Node: k.node.Name, PodCIDR: k.podCIDR(), Started: k.containerStarted, Ended: k.containerEnded})
	return k, err
}

// run begins a life of the kubelet. What an earlier one left on disk comes first.
func (k *kubelet) run() {
	k.reconstruct()
	k.start()
}

// start makes the queues and the pod cache. Each queue is one loop of upstream's
// kubelet.
func (k *kubelet) start() {
	backoff := control.RateLimiter{Base: initialDurationBeforeRetry, Max: maxDurationBeforeRetry, QPS: -1}
	k.nodeQueue = k.env.Queue(control.QueueConfig{Name: "node", About: control.KeysOf("Node"), Reconcile: k.syncNode, Limiter: control.RateLimiter{QPS: -1}})
	k.podQueue = k.env.Queue(control.QueueConfig{Name: "pods", About: k.aboutPod, Reconcile: k.syncPodWorker, Limiter: backoff})
	k.populatorQueue = k.env.Queue(control.QueueConfig{Name: "populator", About: k.aboutPod, Reconcile: k.populatePod, Limiter: backoff})
	k.volumeQueue = k.env.Queue(control.QueueConfig{Name: "volumes", About: control.KeysOf("Node"), Reconcile: k.reconcileVolumes, Limiter: backoff})
	k.operationQueue = k.env.Queue(control.QueueConfig{Name: "operations", About: k.aboutOperation, Reconcile: k.runOperation, Limiter: backoff})
	k.restartQueue = k.env.Queue(control.QueueConfig{
		Name: "restarts", About: k.aboutPod, Reconcile: k.restartPod,
		Limiter: control.RateLimiter{Base: initialRestartBackoff, Max: maxRestartBackoff, QPS: -1},
	})
	k.waitQueue = k.env.Queue(control.QueueConfig{
		Name: "waits", About: k.aboutPod, Reconcile: k.waitTimedOut,
		Limiter: control.RateLimiter{Base: podAttachAndMountTimeout, Max: podAttachAndMountTimeout, QPS: -1},
	})
	k.statusQueue = k.env.Queue(control.QueueConfig{Name: "node-status", About: control.KeysOf("Node"), Reconcile: k.reportNodeStatus, Limiter: backoff})
	k.pods = control.NewCacheForNode[*v1.Pod](k.env, control.Pods(), k.node.Name)
	k.pods.Handle(control.Handler[*v1.Pod]{Add: k.podAdded, Update: k.podUpdated, Delete: k.podDeleted})
	k.watchRegistrations()
	k.env.Heartbeat("renew the node's lease", nodeLeaseRenewInterval, k.renewNodeLease)
	k.env.Heartbeat("report the node's status", nodeStatusReportFrequency, k.reportAnyway)
	k.nodeQueue.Add(k.node.Name)
}

// volumeHost is the kubelet as plugins see it.
type volumeHost struct {
	control.Clock
	k *kubelet
}

var _ volume.VolumeHost = volumeHost{}

func (h volumeHost) GetNodeName() types.NodeName        { return types.NodeName(h.k.node.Name) }
func (h volumeHost) GetPodsDir() string                 { return podsDir }
func (h volumeHost) GetPluginDir(name string) string    { return pluginDir(name) }
func (h volumeHost) GetClient() kubernetes.Interface    { return h.k.env.Client() }
func (h volumeHost) GetMounter() mount.Interface        { return h.k.mounter }
func (h volumeHost) GetFS() *disk.Disk                  { return h.k.fs }
func (h volumeHost) GetEventRecorder() control.Recorder { return h.k.recorder }
func (h volumeHost) Trace(about trace.Ref, text string) { h.k.note(about, text) }
func (h volumeHost) NewWrapperMounter(name string, spec volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	return h.k.plugins.NewWrapperMounter(name, spec, pod)
}
func (h volumeHost) NewWrapperUnmounter(name string, spec volume.Spec, uid types.UID) (volume.Unmounter, error) {
	return h.k.plugins.NewWrapperUnmounter(name, spec, uid)
}
func (h volumeHost) GetPodVolumeDir(uid types.UID, plugin, name string) string {
	return podVolumeDir(uid, plugin, name)
}
func (h volumeHost) GetPodVolumeDeviceDir(uid types.UID, plugin string) string {
	return podVolumeDeviceDir(uid, plugin)
}
func (h volumeHost) GetPodPluginDir(uid types.UID, plugin string) string {
	return podPluginsDir(uid) + "/" + plugin
}

// now is the time as the API keeps it, in whole seconds.
func (k *kubelet) now() metav1.Time { return timeOf(k.env.Now()) }

// note puts a decision into the trace.
func (k *kubelet) note(about trace.Ref, text string) {
	k.env.Trace(trace.Decision{About: about, Text: text})
}

// allPodsSeen says whether the desired state of the world has every pod that
// there is. Before that nothing may be unmounted: a mount without a pod may be
// that of a pod not yet heard of.
//
// Upstream: desired_state_of_world_populator.go HasAddedPods, v1.36.
func (k *kubelet) allPodsSeen() bool { return len(k.unseen) == 0 }
