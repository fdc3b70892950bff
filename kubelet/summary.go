package kubelet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/volume"
)

// Handle begins to answer an HTTP request to the kubelet, and calls done when the answer is in w. The error says what keeps the kubelet from answering;
// one that crashes meanwhile never answers, and lost reports that another life of it has begun. There are two paths: /stats/summary, and /metrics, which
// has the volumes of claims alone. Processors, memory, network, processes and images are in neither.
//
// Upstream: pkg/kubelet/server/server.go InstallAuthNotRequiredHandlers and pkg/kubelet/server/stats/handler.go CreateHandlers, v1.37.2.
func (s *Server) Handle(w http.ResponseWriter, r *http.Request, done func()) (lost func() bool, err error) {
	k := s.kubelet
	if k == nil {
		return nil, errors.New("the kubelet has not started yet")
	}
	switch strings.TrimSuffix(r.URL.Path, "/") {
	case "/metrics":
		k.whenVolumeStatsAreKnown(func() {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
			_, _ = w.Write(volumeMetrics(k.podStats(true)))
			done()
		})
	case "/stats/summary":
		k.handleSummary(w, r, done)
	default:
		http.Error(w, "the kubelets of this simulation have /stats/summary and /metrics", http.StatusNotFound)
		done()
	}
	return func() bool { return s.kubelet != k }, nil
}

// handleSummary answers with a Summary; without what is on disks if only processors and memory are asked for.
//
// Upstream: pkg/kubelet/server/stats/handler.go handleSummary, v1.37.2.
func (k *kubelet) handleSummary(w http.ResponseWriter, r *http.Request, done func()) {
	answer := func(storage bool) {
		defer done()
		summary, err := k.summary(storage)
		if err != nil {
			http.Error(w, fmt.Sprintf("Internal Error: %v", err), http.StatusInternalServerError)
			return
		}
		text, _ := json.MarshalIndent(summary, "", " ") // it has numbers, names and times
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "405: Method Not Allowed", http.StatusMethodNotAllowed)
		done()
	case r.URL.Query().Get("only_cpu_and_memory") == "true":
		answer(false)
	default:
		k.whenVolumeStatsAreKnown(func() { answer(true) })
	}
}

// whenVolumeStatsAreKnown calls do when it is known how full the volumes of all pods are that run.
func (k *kubelet) whenVolumeStatsAreKnown(do func()) {
	pods := k.runningPods()
	left := len(pods)
	if left == 0 {
		do()
	}
	for _, p := range pods {
		k.calcVolumeStats(p.podWorker, func() {
			if left--; left == 0 {
				do()
			}
		})
	}
}

// runningPod is a pod with a container that runs.
type runningPod struct {
	*podWorker
	containers []runtime.ContainerStatus // those that run
}

// runningPods returns these pods, by namespace and name.
//
// Upstream: pkg/kubelet/stats/cri_stats_provider.go getPodAndContainerMaps, v1.37.2.
func (k *kubelet) runningPods() (list []runningPod) {
	for _, w := range slices.SortedFunc(maps.Values(k.workers), func(a, b *podWorker) int { return cmp.Compare(a.uid, b.uid) }) {
		sandbox, err := k.runtime.PodSandboxStatus(w.uid)
		if w.pod == nil || sandbox == nil || err != nil {
			continue
		}
		running := slices.DeleteFunc(slices.Clone(sandbox.Containers), func(c runtime.ContainerStatus) bool { return c.State != runtime.ContainerRunning })
		if len(running) > 0 {
			list = append(list, runningPod{w, running})
		}
	}
	slices.SortStableFunc(list, func(a, b runningPod) int {
		return cmp.Or(cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name))
	})
	return list
}

// summary returns what is known of the node and its pods. storage: also of what is on disks.
//
// Upstream: pkg/kubelet/server/stats/summary.go Get and GetCPUAndMemoryStats, v1.37.2. The node's time is that at which its kubelet has started.
func (k *kubelet) summary(storage bool) (*stats.Summary, error) {
	node := stats.NodeStats{NodeName: k.nodeName(), StartTime: metav1.NewTime(k.started)}
	if storage {
		root, err := volume.MetricsStatFS(k.fs, "/")
		if err != nil {
			return nil, fmt.Errorf("failed to get rootFs stats: %w", err)
		}
		fs := fsStats(k.env.Now(), root)
		node.Fs = &fs
	}
	return &stats.Summary{Node: node, Pods: k.podStats(storage)}, nil
}

// podStats returns what is known of the pods that run.
//
// Upstream: pkg/kubelet/stats/cri_stats_provider.go listPodStatsPartiallyFromCRI, v1.37.2.
func (k *kubelet) podStats(storage bool) []stats.PodStats {
	list := []stats.PodStats{}
	for _, p := range k.runningPods() {
		s := stats.PodStats{PodRef: stats.PodReference{Name: p.pod.Name, Namespace: p.pod.Namespace, UID: string(p.uid)}}
		if p.pod.Status.StartTime != nil {
			s.StartTime = *p.pod.Status.StartTime
		}
		for _, c := range p.containers {
			s.Containers = append(s.Containers, stats.ContainerStats{Name: c.Name, StartTime: metav1.NewTime(c.StartedAt)})
		}
		if storage {
			k.addStorage(&s, p)
		}
		list = append(list, s)
	}
	return list
}

// addStorage adds what the containers have written to the node's disk, and how full the volumes are: those that go with the pod first.
//
// Upstream: pkg/kubelet/stats/helper.go makePodStorageStats and calcEphemeralStorage, v1.37.2.
func (k *kubelet) addStorage(s *stats.PodStats, p runningPod) {
	now := metav1.NewTime(k.env.Now())
	var total uint64
	for i, c := range p.containers {
		if written, err := k.runtime.ContainerStats(c.ID); err == nil {
			rootfs, logs := uint64(written.Rootfs), uint64(written.Logs)
			s.Containers[i].Rootfs = &stats.FsStats{Time: now, UsedBytes: &rootfs}
			s.Containers[i].Logs = &stats.FsStats{Time: now, UsedBytes: &logs}
			total += rootfs + logs
		}
	}
	local := map[string]bool{}
	for i := range p.pod.Spec.Volumes {
		v := &p.pod.Spec.Volumes[i]
		local[v.Name] = isLocalEphemeral(v)
	}
	var persistent []stats.VolumeStats
	for i := range p.volumeStats.latest {
		v := &p.volumeStats.latest[i]
		told := podVolumeStats(p.pod, p.volumeStats.begun, v)
		if local[v.Name] {
			total += *told.UsedBytes
			s.VolumeStats = append(s.VolumeStats, told)
		} else {
			persistent = append(persistent, told)
		}
	}
	s.VolumeStats = append(s.VolumeStats, persistent...)
	s.EphemeralStorage = &stats.FsStats{Time: now, UsedBytes: &total}
}

// podVolumeStats returns what is told of a volume.
//
// Upstream: volume_stat_calculator.go parsePodVolumeStats, v1.37.2.
func podVolumeStats(pod *v1.Pod, at time.Time, v *VolumeStats) stats.VolumeStats {
	told := stats.VolumeStats{Name: v.Name, FsStats: fsStats(at, &v.Metrics)}
	if v.Claim != "" {
		told.PVCRef = &stats.PVCReference{Namespace: pod.Namespace, Name: v.Claim}
	}
	return told
}

// fsStats returns the numbers of a file system; what is unknown is 0.
func fsStats(at time.Time, m *volume.Metrics) stats.FsStats {
	number := func(q *resource.Quantity) *uint64 {
		var n uint64
		if q != nil {
			n = uint64(q.Value())
		}
		return &n
	}
	return stats.FsStats{
		Time: metav1.NewTime(at), AvailableBytes: number(m.Available), CapacityBytes: number(m.Capacity), UsedBytes: number(m.Used),
		InodesFree: number(m.InodesFree), Inodes: number(m.Inodes), InodesUsed: number(m.InodesUsed),
	}
}

// volumeMetrics returns the metrics of the volumes of claims, in the text form of Prometheus. A claim that several pods have is told once.
//
// Upstream: pkg/kubelet/metrics/collectors/volume_stats.go CollectWithStability, v1.37.2.
func volumeMetrics(pods []stats.PodStats) (text []byte) {
	families := []struct {
		name, help string
		value      func(*stats.VolumeStats) *uint64
	}{
		{"available_bytes", "Number of available bytes in the volume", func(v *stats.VolumeStats) *uint64 { return v.AvailableBytes }},
		{"capacity_bytes", "Capacity in bytes of the volume", func(v *stats.VolumeStats) *uint64 { return v.CapacityBytes }},
		{"inodes", "Maximum number of inodes in the volume", func(v *stats.VolumeStats) *uint64 { return v.Inodes }},
		{"inodes_free", "Number of free inodes in the volume", func(v *stats.VolumeStats) *uint64 { return v.InodesFree }},
		{"inodes_used", "Number of used inodes in the volume", func(v *stats.VolumeStats) *uint64 { return v.InodesUsed }},
		{"used_bytes", "Number of used bytes in the volume", func(v *stats.VolumeStats) *uint64 { return v.UsedBytes }},
	}
	volumes := volumesOfClaims(pods)
	if len(volumes) == 0 {
		return nil
	}
	for _, f := range families {
		text = fmt.Appendf(text, "# HELP kubelet_volume_stats_%s [ALPHA] %s\n# TYPE kubelet_volume_stats_%[1]s gauge\n", f.name, f.help)
		for _, v := range volumes {
			text = fmt.Appendf(text, "kubelet_volume_stats_%s{namespace=%q,persistentvolumeclaim=%q} %s\n",
				f.name, v.PVCRef.Namespace, v.PVCRef.Name, strconv.FormatFloat(float64(*f.value(v)), 'g', -1, 64))
		}
	}
	return text
}

// volumesOfClaims returns the first volume of each claim, by the claims' namespaces and names.
func volumesOfClaims(pods []stats.PodStats) (list []*stats.VolumeStats) {
	seen := map[stats.PVCReference]bool{}
	for i := range pods {
		for j := range pods[i].VolumeStats {
			if v := &pods[i].VolumeStats[j]; v.PVCRef != nil && !seen[*v.PVCRef] {
				seen[*v.PVCRef] = true
				list = append(list, v)
			}
		}
	}
	slices.SortFunc(list, func(a, b *stats.VolumeStats) int {
		return cmp.Or(cmp.Compare(a.PVCRef.Namespace, b.PVCRef.Namespace), cmp.Compare(a.PVCRef.Name, b.PVCRef.Name))
	})
	return list
}
