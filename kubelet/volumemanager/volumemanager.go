package volumemanager

import (
	"path"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/volume"
)

// Backoff of everything that failed, per pod or per volume of a pod.
//
// Upstream: pkg/util/goroutinemap/exponentialbackoff, v1.37.
const (
	initialDurationBeforeRetry = 500 * time.Millisecond
	maxDurationBeforeRetry     = 2*time.Minute + 2*time.Second
)

// Pods is the volume manager's view of the node's pods.
type Pods interface {
	// GetPodByUID returns the latest version of a pod, nil if the kubelet does not know it or
	// has only found its directory.
	GetPodByUID(uid types.UID) *v1.Pod
	// WantsVolumes reports whether a pod is to have its volumes: it is known, is not being
	// deleted, and has not ended.
	WantsVolumes(uid types.UID) bool
	// HasReleasedVolumes reports whether none of the pod's containers needs a volume any more.
	HasReleasedVolumes(uid types.UID) bool
	// IsRegistered reports whether ConfigMaps and Secrets may be read for a pod.
	IsRegistered(uid types.UID) bool
}

// Waker wakes other parts of the kubelet.
type Waker interface {
	// WakePod makes the kubelet look at a pod again: its volumes have changed.
	WakePod(uid types.UID)
	// ReportNodeStatus schedules a write of the node's status: volumesInUse may have changed.
	ReportNodeStatus()
}

// Config configures a node's volume manager. All fields but Decisions are required.
type Config struct {
	// Node is the template of the Node object: its name and status.allocatable.
	Node *v1.Node
	// Root is the node's file system, and Mounter mounts on it.
	Root    *disk.Disk
	Mounter mount.Interface
	// Plugins are the volume plugins. They must be new: New initializes them.
	Plugins []volume.VolumePlugin
	// Recorder records the events of pods.
	Recorder control.Recorder
	Pods     Pods
	Kubelet  Waker
	Decisions
}

// VolumeManager mounts and unmounts the volumes of one node's pods.
//
// Upstream: pkg/kubelet/volumemanager/volume_manager.go, v1.37.
type VolumeManager struct {
	*given
	*states

	attachments    *attachments
	populator      *populator
	reconciler     *reconciler
	reconstruction *reconstruction
	operations     *operationExecutor
	subPaths       *subPaths
}

// New makes a volume manager and initializes its plugins. Plugins that are refused are the
// error.
func New(cfg Config, env control.Env) (*VolumeManager, error) {
	given := &given{
		env: env, node: cfg.Node, fs: cfg.Root, mounter: cfg.Mounter, recorder: cfg.Recorder, pods: cfg.Pods, kubelet: cfg.Kubelet,
	}
	given.decideBy(cfg.Decisions)
	states := &states{
		desired: newDesiredStateOfWorld(), actual: newActualStateOfWorld(), sizes: newVolumeSizes(),
		touched: map[podVolume]bool{}, nodeName: cfg.Node.Name,
	}
	states.actual.uncertain, states.actual.final = given.decisions.Uncertain, given.decisions.Final
	attachments := &attachments{given: given, states: states, attachable: map[v1.UniqueVolumeName]bool{}}
	host := &host{Clock: env, given: given, attachments: attachments, tokens: tokens{}}
	var err error
	given.plugins, err = volume.InitPlugins(cfg.Plugins, host)

	populator := &populator{given: given, states: states, attachments: attachments, waiting: map[types.UID]bool{}}
	subPaths := &subPaths{given}
	expandOperations := &expandOperations{given, states, populator}
	mapOperations := &mapOperations{given, states.actual, expandOperations}
	mountOperations := &mountOperations{
		given: given, states: states, host: host, attachments: attachments, subPaths: subPaths, maps: mapOperations,
		expansion: expandOperations, populator: populator,
	}
	operationExecutor := &operationExecutor{
		given: given, states: states, mounts: mountOperations, expansion: expandOperations, pending: map[string]*pendingOperation{},
	}
	reconstruction := &reconstruction{given: given, states: states, attachments: attachments, unread: map[types.UID]bool{}}
	return &VolumeManager{
		given: given, states: states, attachments: attachments, populator: populator,
		reconciler:     &reconciler{given, states, attachments, operationExecutor, reconstruction},
		reconstruction: reconstruction, operations: operationExecutor, subPaths: subPaths,
	}, err
}

// Reconstruct finds on the node's disk what an earlier life of the kubelet has mounted, and
// returns the pods that have a directory. It is called once, before Start.
func (vm *VolumeManager) Reconstruct() []types.UID { return vm.reconstruction.reconstructVolumes() }

// Start makes the queues: for the pods whose volumes are to be added to the desired state of
// the world, for passes of the reconciler, and for operations.
func (vm *VolumeManager) Start() {
	backoff := control.RateLimiter{Base: initialDurationBeforeRetry, Max: maxDurationBeforeRetry, QPS: -1}
	vm.populator.queue = vm.env.Queue(control.QueueConfig{Name: "populator", About: vm.aboutPod, Reconcile: vm.populator.populatePod, Limiter: backoff})
	vm.reconcileQueue = vm.env.Queue(control.QueueConfig{Name: "volumes", About: control.KeysOf("Node"), Reconcile: vm.reconciler.reconcile, Limiter: backoff})
	vm.operations.queue = vm.env.Queue(control.QueueConfig{Name: "operations", About: vm.operations.about, Reconcile: vm.operations.run,
		Overlap: true, Limiter: backoff})
	if len(vm.touched) > 0 { // found on the disk
		vm.ExpectPod("")
		vm.env.Go("wait for the pods", vm.populator.awaitSources)
	}
}

// RegistrationPlugins returns the plugins with which drivers register.
func (vm *VolumeManager) RegistrationPlugins() (list []volume.RegistrationPlugin) {
	for _, name := range vm.plugins.Names() {
		plugin, _ := vm.plugins.FindPluginByName(name)
		if watching, ok := plugin.(volume.RegistrationPlugin); ok {
			list = append(list, watching)
		}
	}
	return list
}

// ExpectPod keeps everything mounted until the volumes of a new pod have been looked at.
func (vm *VolumeManager) ExpectPod(uid types.UID) { vm.desired.unseen[uid] = true }

// UpdatePod takes in a pod that was added, or a newer version of it. changed says that it
// differs from the version before in more than its status.
func (vm *VolumeManager) UpdatePod(pod *v1.Pod, added, changed bool) {
	if vm.desired.pods[pod.UID] == nil {
		vm.desired.pods[pod.UID] = &processedPod{}
	}
	vm.desired.update(pod)
	if changed && vm.areMounted(pod.UID) { // else it is synced already, and that waits for the volumes
		vm.ReprocessPod(pod.UID)
	}
	if !vm.desired.isPopulated(pod.UID) && (added || changed) {
		vm.populator.queue.Add(string(pod.UID))
	}
}

// ReprocessPod looks at the volumes of a pod again, because it is synced: those that must be set up again are, and those that
// have grown.
//
// Upstream: desired_state_of_world_populator.go ReprocessPod, v1.37.
func (vm *VolumeManager) ReprocessPod(uid types.UID) {
	vm.populator.reprocess(uid)
}

// ReleasePod removes a pod's volumes from the desired state of the world, so that they are
// unmounted: none of its containers needs them any more. One that is not mounted yet stays, as long as
// the pod exists (gone is false): it goes when the pod has it mounted.
//
// Upstream: desired_state_of_world_populator.go findAndRemoveDeletedPods, v1.37.
func (vm *VolumeManager) ReleasePod(uid types.UID, gone bool) {
	for _, key := range vm.desired.volumes.ofPod(uid) {
		if gone || vm.decisions.DropUnmounted || vm.actual.volumes.has(key) {
			vm.desired.volumes.remove(key)
			vm.touch(key)
		}
	}
	if vm.desired.unseen[uid] {
		vm.populator.seen(uid)
	}
	vm.touchPod(uid)
}

// WaitForUnmount reports whether nothing of a released pod is mounted any more. If something is, or may
// be, the pod wakes when that has changed. It does not wait for what IsMounting tells of.
//
// Upstream: volume_manager.go WaitForUnmount and actual_state_of_world.go PodHasMountedVolumes, v1.37.2, which looks again every 300 ms.
func (vm *VolumeManager) WaitForUnmount(uid types.UID) bool {
	if !vm.desired.hasAddedPods() {
		vm.populator.waiting[uid] = true
		return false
	}
	if vm.reconstruction.unread[uid] {
		vm.reconstruction.reconstructPod(uid)
		vm.reconstruction.updateFromNodeStatus()
		vm.touchPod(uid)
	}
	return !vm.actual.podHasVolumes(uid)
}

// IsMounting reports whether a plugin is mounting a volume of a pod at this moment. When it has ended, the pod wakes. The object of a pod does not wait for
// that: what is mounted then is unmounted although the pod is gone.
func (vm *VolumeManager) IsMounting(uid types.UID) bool {
	return vm.actual.isMounting(func(key podVolume) bool { return key.pod == uid })
}

// PodVolumesExist reports whether something is mounted on a pod's directories of volumes, known to the
// volume manager or not. With Decisions.DropUnmounted it does not look.
//
// Upstream: kubelet_volumes.go podVolumesExist and getMountedVolumePathListFromDisk, v1.37.
func (vm *VolumeManager) PodVolumesExist(uid types.UID) bool {
	if vm.decisions.DropUnmounted {
		return false
	}
	plugins, _ := layout.Names(vm.fs, layout.PodVolumesDir(uid)) // what cannot be read does not count
	for _, plugin := range plugins {
		dir := path.Join(layout.PodVolumesDir(uid), plugin)
		names, _ := layout.Names(vm.fs, dir)
		for _, name := range names {
			for _, at := range []string{path.Join(dir, name), path.Join(dir, name, "mount")} { // CSI volumes have the second
				if mounted, _ := vm.mounter.IsMountPoint(at); mounted { // what is not known does not count
					return true
				}
			}
		}
	}
	return false
}

// ForgetPod deletes what is known of a pod that the kubelet has ended.
func (vm *VolumeManager) ForgetPod(uid types.UID) { delete(vm.desired.pods, uid) }

// ArePopulated reports whether the desired state of the world has all volumes of a pod.
func (vm *VolumeManager) ArePopulated(uid types.UID) bool { return vm.desired.isPopulated(uid) }

// AreMounted reports whether all volumes of a pod are mounted.
func (vm *VolumeManager) AreMounted(uid types.UID) bool { return vm.areMounted(uid) }

// MountedVolume is a volume of a pod as its containers get it.
type MountedVolume struct {
	// Name is the volume's own name (volume.Spec.Name), and Path its path on the node.
	Name, Path string
	ReadOnly   bool
}

// GetMountedVolumesForPod returns a pod's mounted volumes by their names in the pod.
//
// Upstream: volume_manager.go GetMountedVolumesForPod, v1.37.
func (vm *VolumeManager) GetMountedVolumesForPod(uid types.UID) map[string]MountedVolume {
	mounted := map[string]MountedVolume{}
	for _, v := range vm.desired.ofPod(uid) {
		if m := vm.actual.volumes.get(v.podVolume); m != nil {
			for _, name := range v.outerNames {
				mounted[name] = MountedVolume{m.spec.Name(), m.path, m.readOnly}
			}
		}
	}
	return mounted
}

// GetExtraSupplementalGroupsForPod returns the groups that annotations of a pod's PersistentVolumes give it, sorted.
//
// Upstream: volume_manager.go GetExtraSupplementalGroupsForPod and getExtraSupplementalGID, v1.37.2.
func (vm *VolumeManager) GetExtraSupplementalGroupsForPod(uid types.UID) (groups []int64) {
	for _, v := range vm.desired.ofPod(uid) {
		m := vm.actual.volumes.get(v.podVolume)
		if m == nil || m.spec.PersistentVolume == nil {
			continue
		}
		if gid, err := strconv.ParseInt(m.spec.PersistentVolume.Annotations[volumeGIDAnnotation], 10, 64); err == nil {
			groups = append(groups, gid)
		}
	}
	slices.Sort(groups)
	return groups
}

// volumeGIDAnnotation names the group that may use a PersistentVolume.
//
// Upstream: pkg/volume/util/util.go VolumeGidAnnotationKey, v1.37.2.
const volumeGIDAnnotation = "pv.beta.kubernetes.io/gid"

// PrepareSubPath makes a part of a volume, if it is missing, and mounts it for a container.
func (vm *VolumeManager) PrepareSubPath(pod *v1.Pod, part SubPath) error {
	return vm.subPaths.prepare(pod, part)
}

// KeepSubPath returns a disk that has a part of a volume at the part's path, for a container that goes on to see it whatever its path in the volume
// leads to later; nil if the container sees what is there then. replaced says that the volume's files are never written, but replaced by others.
func (vm *VolumeManager) KeepSubPath(part SubPath, replaced bool) (*disk.Disk, error) {
	return vm.subPaths.keep(part, replaced)
}

// ReportReconstructed makes volumesInUse list the attachable volumes that Reconstruct found, with
// Decisions.KeepInUse. It is called when the caches have their first lists.
func (vm *VolumeManager) ReportReconstructed() {
	if vm.decisions.KeepInUse {
		vm.reconstruction.updateFromNodeStatus()
	}
}

// UpdateFromNodeStatus reads the Node's status when the kubelet registers: which volumes it lists as
// in use, and which of those found on the disk are attached.
func (vm *VolumeManager) UpdateFromNodeStatus(status *v1.NodeStatus) {
	vm.attachments.reportedInUse, vm.attachments.synced = status.VolumesInUse, true
	vm.attachments.listed = map[v1.UniqueVolumeName]bool{}
	for _, v := range status.VolumesAttached {
		vm.attachments.listed[v.Name] = true
	}
	vm.reconstruction.updateFromNodeStatus()
}

// VolumesToReport returns volumesInUse as it is to be written, given as it is.
func (vm *VolumeManager) VolumesToReport(reported []v1.UniqueVolumeName) []v1.UniqueVolumeName {
	return vm.attachments.volumesToReport(reported)
}

// MarkVolumesAsReportedInUse notes that volumesInUse was written: these volumes may be mounted
// as soon as they are attached.
//
// Upstream: volume_manager.go MarkVolumesAsReportedInUse, v1.37.
func (vm *VolumeManager) MarkVolumesAsReportedInUse(names []v1.UniqueVolumeName) {
	vm.attachments.markVolumesAsReportedInUse(names)
}

// Reconcile queues a pass of the reconciler.
func (vm *VolumeManager) Reconcile() { vm.touch() }
