package kubelet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/kubelet/runtime/programs"
	"github.com/storagesim/storagesim/machine/disk"
)

// containerRuntime stands for containerd. It keeps what it knows of a pod in a
// file of the node, so a pod goes on running, and a command is not run twice,
// when the kubelet crashes.
type containerRuntime struct {
	fs *disk.Disk
	// ips are the addresses of pods that run, by pod, and taken the pods that have
	// them; nil until they are read.
	ips   map[types.UID]string
	taken map[string]types.UID
	// unsaved are records that the disk did not take: what was started was
	// started, and must not be started again.
	unsaved map[types.UID]*podRecord
	// images are those that the node has, as far as that is known.
	images map[string]bool
}

func newContainerRuntime(fs *disk.Disk, images []string) *containerRuntime {
	rt := &containerRuntime{fs: fs, unsaved: map[types.UID]*podRecord{}, images: map[string]bool{}}
	for _, image := range images {
		rt.images[withDefaultTag(image)] = true
	}
	return rt
}

// podRecord is one pod that was started.
type podRecord struct {
	UID        types.UID         `json:"uid"`
	Namespace  string            `json:"namespace"`
	Name       string            `json:"name"`
	IP         string            `json:"ip"`
	Init       []containerRecord `json:"init,omitempty"`
	Containers []containerRecord `json:"containers"`
}

// containerRecord is one container that was started, or is to be.
type containerRecord struct {
	Name     string           `json:"name"`
	Mounts   []programs.Mount `json:"mounts,omitempty"`
	Started  metav1.Time      `json:"started"`
	Finished *metav1.Time     `json:"finished,omitempty"`
	ExitCode int32            `json:"exitCode,omitempty"`
	Message  string           `json:"message,omitempty"`
	Restarts int32            `json:"restarts,omitempty"`
	// Last is the container that ended before this one was started, or was to be.
	Last *containerRecord `json:"last,omitempty"`
	// Waiting is set if it could not be created yet.
	Waiting *containerWaiting `json:"waiting,omitempty"`
}

// containerWaiting is why a container could not be created.
type containerWaiting struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// waiting says whether a container could not be created yet.
func (r *podRecord) waiting() bool { return anyWaits(r.Init) || anyWaits(r.Containers) }

// uncreated says whether a container waits that could not be created, and that has no
// backoff of its own.
func (r *podRecord) uncreated() bool {
	paced := []string{crashLoopBackOff, errImagePull, errImagePullBackOff}
	return slices.ContainsFunc(slices.Concat(r.Init, r.Containers), func(c containerRecord) bool {
		return c.Waiting != nil && !slices.Contains(paced, c.Waiting.Reason)
	})
}

func anyWaits(list []containerRecord) bool {
	return slices.ContainsFunc(list, func(c containerRecord) bool { return c.Waiting != nil })
}

// initFailed says whether an init container has failed, so that the containers have
// not begun.
func (r *podRecord) initFailed() bool { return slices.ContainsFunc(r.Init, containerRecord.failed) }

// running says whether a container runs.
func (r *podRecord) running() bool { return slices.ContainsFunc(r.Containers, containerRecord.running) }

// anyRunning says whether a container runs, be it one that helps the others.
func (r *podRecord) anyRunning() bool {
	return r.running() || slices.ContainsFunc(r.Init, containerRecord.running)
}

// hasSandbox says whether the pod has its network, in which containers run or are to
// be started.
func (r *podRecord) hasSandbox(pod *v1.Pod) bool {
	return r != nil && (r.anyRunning() || r.waiting() || r.toStart(pod))
}

// finished says whether nothing runs, nor waits to be created; a sidecar alone counts
// for nothing.
func (r *podRecord) finished() bool {
	return !r.waiting() && !r.running() && (len(r.Containers) > 0 || !r.anyRunning())
}

// initialized says whether the pod's init containers have done their work and its
// containers have not begun.
func (r *podRecord) initialized(pod *v1.Pod) bool {
	if len(r.Init) == 0 || len(r.Containers) > 0 || r.waiting() || r.initFailed() {
		return false
	}
	last := len(r.Init) - 1
	return isSidecar(&pod.Spec.InitContainers[last]) || !r.Init[last].running()
}

func (c containerRecord) running() bool { return c.Finished == nil && c.Waiting == nil }

// failed says whether the container has failed, now or before it was to be created
// again.
func (c containerRecord) failed() bool {
	last := c.lastBegun()
	return last != nil && last.Finished != nil && last.ExitCode != 0
}

// lastBegun is the container that began last, without those before it; nil if none did.
func (c containerRecord) lastBegun() *containerRecord {
	if c.Waiting != nil {
		return c.Last
	}
	c.Last, c.Mounts = nil, nil
	return &c
}

// stop ends all containers that run. Whatever they are, they end well.
func (r *podRecord) stop(now metav1.Time) (stopped []string) {
	for _, list := range [][]containerRecord{r.Containers, r.Init} {
		for i := range list {
			if c := &list[i]; c.running() {
				c.Finished = &now
				stopped = append(stopped, c.Name)
			}
		}
	}
	return stopped
}

// recordSuffix follows a pod's UID in the name of its record.
const recordSuffix = ".json"

func recordFile(uid types.UID) string { return path.Join(runtimeDir, string(uid)+recordSuffix) }

// loadRecord is a pod's record, nil if it was never started. A record that is
// spoilt is as good as none: a damaged file must not keep the pod from ending,
// or others from starting. One that the disk does not give is an error, for now:
// the pod may be running.
func (k *kubelet) loadRecord(w *podWorker) (*podRecord, error) {
	if r := k.runtime.unsaved[w.uid]; r != nil {
		return r, k.runtime.save(r)
	}
	r, err := loadRecord(k.fs, w.uid)
	if err == nil {
		return r, nil
	}
	if !errors.Is(err, errSpoilt) {
		info, looked := k.fs.Lstat(recordFile(w.uid))
		if looked != nil || info.Mode().IsRegular() && !errors.Is(err, disk.ErrLinked) {
			return nil, err
		}
	}
	k.note(w.ref(), fmt.Sprintf("is taken for one that was never started: %v", err))
	return nil, nil
}

// errSpoilt is that of a record in which something else is written.
var errSpoilt = errors.New("it is spoilt")

// loadRecord reads a pod's record from a node, nil if it was never started.
func loadRecord(node *disk.Disk, uid types.UID) (*podRecord, error) {
	data, err := node.ReadFile(recordFile(uid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &podRecord{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("the container runtime's record of pod %s: %w: %w", uid, errSpoilt, err)
	}
	if r.UID != uid {
		return nil, fmt.Errorf("the container runtime's record of pod %s: %w: it is one of pod %q", uid, errSpoilt, r.UID)
	}
	if _, err := netip.ParseAddr(r.IP); err != nil { // the API server refuses a status with it
		return nil, fmt.Errorf("the container runtime's record of pod %s: %w: %w", uid, errSpoilt, err)
	}
	return r, nil
}

// save keeps a record. One that the disk does not take is kept in memory, and
// loadRecord tries again.
func (rt *containerRuntime) save(r *podRecord) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	rt.unsaved[r.UID] = r
	err = rt.fs.WriteFile(recordFile(r.UID), data, 0o644)
	if errors.Is(err, fs.ErrNotExist) { // the first one
		if err = rt.fs.MkdirAll(runtimeDir, 0o755); err == nil {
			err = rt.fs.WriteFile(recordFile(r.UID), data, 0o644)
		}
	}
	if err == nil {
		delete(rt.unsaved, r.UID)
		rt.noteIP(r)
	}
	return err
}

// noteIP keeps the address of a pod that runs, and frees that of one that ended.
func (rt *containerRuntime) noteIP(r *podRecord) {
	switch {
	case r == nil || rt.ips == nil:
	case r.finished():
		rt.freeIP(r.UID)
	default:
		rt.ips[r.UID], rt.taken[r.IP] = r.IP, r.UID
	}
}

func (rt *containerRuntime) freeIP(uid types.UID) {
	if ip := rt.ips[uid]; rt.taken[ip] == uid { // pods on the node's network share one
		delete(rt.taken, ip)
	}
	delete(rt.ips, uid)
}

// remove forgets a pod.
func (rt *containerRuntime) remove(uid types.UID) error {
	rt.freeIP(uid)
	delete(rt.unsaved, uid)
	err := rt.fs.Remove(recordFile(uid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// pods are those that have a record, in order.
func (rt *containerRuntime) pods() []types.UID {
	entries, err := rt.fs.ReadDir(runtimeDir)
	if err != nil {
		return nil // nothing was ever started
	}
	var uids []types.UID
	for _, e := range entries {
		if uid, ok := strings.CutSuffix(e.Name(), recordSuffix); ok {
			uids = append(uids, types.UID(uid))
		}
	}
	return uids
}

// allocateIP is the lowest address of the node's pod network that no pod has.
func (rt *containerRuntime) allocateIP(podCIDR string) (string, error) {
	base, _, _ := strings.Cut(podCIDR, "/")
	prefix := base[:strings.LastIndexByte(base, '.')+1]
	rt.readIPs()
	for host := 2; host < 255; host++ {
		ip := prefix + strconv.Itoa(host)
		if _, taken := rt.taken[ip]; !taken {
			return ip, nil
		}
	}
	return "", fmt.Errorf("no address is free in %s", podCIDR)
}

// readIPs reads the addresses in use once in a life, as far as they can be read.
func (rt *containerRuntime) readIPs() {
	if rt.ips != nil {
		return
	}
	uids := rt.pods()
	rt.ips, rt.taken = make(map[types.UID]string, len(uids)), make(map[string]types.UID, len(uids))
	for _, uid := range uids {
		if r, err := loadRecord(rt.fs, uid); err == nil {
			rt.noteIP(r)
		}
	}
}

// meantToEnd says whether a pod is to come to an end.
func meantToEnd(pod *v1.Pod) bool {
	return pod.Spec.RestartPolicy == v1.RestartPolicyNever || pod.Spec.RestartPolicy == v1.RestartPolicyOnFailure
}
