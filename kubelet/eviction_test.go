package kubelet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
)

// fills makes a pod that writes so many KiB into an emptyDir volume that may hold 64Ki, after that many seconds, and then goes on.
func fills(name, kib, seconds string) *v1.Pod {
	volume := emptyDir("tmp")
	limit := resource.MustParse("64Ki")
	volume.EmptyDir.SizeLimit = &limit
	p := pod(name, volume)
	p.Spec.Containers[0].Command = []string{"sh", "-c", "sleep " + seconds + "; head -c $((1024*" + kib + ")) /dev/zero > /tmp/big; sleep 100000"}
	return p
}

// Upstream: eviction_manager.go emptyDirLimitEviction, v1.37.
func TestAPodWhoseEmptyDirHoldsMoreThanItMayIsEvicted(t *testing.T) {
	const message = `Usage of EmptyDir volume "tmp" exceeds the limit "64Ki". `
	for name, c := range map[string]struct {
		kib, seconds string
		change       func(*v1.Pod)
		after        time.Duration // settling, and then this, until it is evicted
		evicted      bool
	}{
		"at once":            {kib: "64", seconds: "0", evicted: true}, // and the directory itself
		"full":               {kib: "60", seconds: "0", after: time.Hour},
		"later":              {kib: "100", seconds: "90", after: 2*time.Minute + 3*time.Second, evicted: true},
		"in memory":          {kib: "100", seconds: "0", after: time.Hour, change: func(p *v1.Pod) { p.Spec.Volumes[0].EmptyDir.Medium = v1.StorageMediumMemory }},
		"no limit":           {kib: "100", seconds: "0", after: time.Hour, change: func(p *v1.Pod) { p.Spec.Volumes[0].EmptyDir.SizeLimit = nil }},
		"a limit of nothing": {kib: "100", seconds: "0", after: time.Hour, change: func(p *v1.Pod) { p.Spec.Volumes[0].EmptyDir.SizeLimit = &resource.Quantity{} }},
		"of the system":      {kib: "100", seconds: "0", after: time.Hour, change: func(p *v1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			p := fills("web", c.kib, c.seconds)
			if c.change != nil {
				c.change(p)
			}
			w.create(p)
			w.settle()
			if c.after > 0 {
				require.Less(t, w.e.Now().Sub(engine.Start()), 10*time.Second, "nobody waits")
				require.NoError(t, w.e.RunFor(c.after))
			}
			status := w.get("web").Status
			if !c.evicted {
				require.Equal(t, v1.PodRunning, status.Phase)
				return
			}
			require.Equal(t, v1.PodFailed, status.Phase)
			require.Equal(t, "Evicted", status.Reason)
			require.Equal(t, message, status.Message)
			require.NotNil(t, status.ContainerStatuses[0].State.Terminated)
			w.requireEvent("web", "Evicted", message)
			w.requireEvent("web", "Killing", "Stopping container c")
			w.delete("web")
			w.settle()
			w.requireNothingLeft()
		})
	}
}

func TestAKubeletThatComesBackEvictsWhatIsTooFull(t *testing.T) {
	w := simple(t)
	w.create(fills("web", "100", "20"))
	w.settle()
	require.NoError(t, w.e.RunFor(30*time.Second))
	require.NoError(t, w.e.Crash(actor))
	w.settle() // it finds the volume too full
	require.Equal(t, "Evicted", w.get("web").Status.Reason)
}

// A controller would make another pod, which would be evicted, too: settling would never end.
func TestNobodyWaitsForTheEvictionOfAPodThatComesAgain(t *testing.T) {
	w := simple(t)
	p := fills("web", "100", "0")
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "u", Controller: new(true)}}
	w.create(p)
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.NoError(t, w.e.RunFor(63*time.Second)) // two seconds to end
	require.Equal(t, v1.PodFailed, w.get("web").Status.Phase)
}

// writes makes a pod whose container "main" runs a script and then goes on, with this limit of ephemeral-storage; a second one, "idle", may write 1Mi. It
// has an emptyDir volume at /tmp and one in memory at /memory.
func writes(name, script, limit string) *v1.Pod {
	memory := v1.Volume{Name: "memory", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}}
	p := pod(name, emptyDir("tmp"), memory)
	main := &p.Spec.Containers[0]
	main.Name, main.Command = "main", []string{"sh", "-c", script + "; sleep 100000"}
	limits := func(text string) v1.ResourceRequirements {
		return v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceEphemeralStorage: resource.MustParse(text)}}
	}
	main.Resources = limits(limit)
	p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "idle", Image: "busybox", Command: []string{"sleep", "100000"}, Resources: limits("1Mi")})
	return p
}

// Upstream: eviction_manager.go podEphemeralStorageLimitEviction and containerEphemeralStorageLimitEviction, v1.37.2.
func TestAPodWhoseContainersWriteMoreThanTheyMayIsEvicted(t *testing.T) {
	const (
		ofPod       = "Pod ephemeral local storage usage exceeds the total limit of containers 1088Ki. "
		ofContainer = `Container main exceeded its local ephemeral storage limit "64Ki". `
	)
	zeros := func(kib, to string) string { return "head -c $((1024*" + kib + ")) /dev/zero > " + to }
	for name, c := range map[string]struct {
		script string
		after  time.Duration
		want   string
	}{
		"its own files":        {script: zeros("65", "/opt/big"), want: ofContainer},
		"as much as it may":    {script: zeros("64", "/opt/big"), after: time.Hour},
		"files and a volume":   {script: zeros("60", "/opt/big") + ";" + zeros("1100", "/tmp/big"), want: ofPod},
		"a volume in its size": {script: zeros("1000", "/tmp/big"), after: time.Hour},
		"in memory":            {script: zeros("2000", "/memory/big") + ";" + zeros("2000", "/dev/shm/big"), after: time.Hour},
		"its log":              {script: "head -c 70000 /dev/zero", want: ofContainer},
		"later":                {script: "sleep 60; " + zeros("65", "/opt/big"), after: 73 * time.Second, want: ofContainer},
		"removed in time":      {script: zeros("65", "/opt/big") + "; rm /opt/big", after: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			w.create(writes("web", c.script, "64Ki"))
			w.settle()
			if c.after > 0 {
				require.NoError(t, w.e.RunFor(c.after))
			}
			status := w.get("web").Status
			if c.want == "" {
				require.Equal(t, v1.PodRunning, status.Phase)
				return
			}
			require.Equal(t, v1.PodFailed, status.Phase)
			require.Equal(t, "Evicted", status.Reason)
			require.Equal(t, c.want, status.Message)
		})
	}
}

// Upstream: pkg/volume/util/util.go IsLocalEphemeralVolume, v1.37.2.
func TestAConfigMapsVolumeCountsForWhatAPodMayWrite(t *testing.T) {
	w := simple(t)
	_, err := w.user.CoreV1().ConfigMaps("default").Create(t.Context(), &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "big"}, Data: map[string]string{"a": strings.Repeat("x", 100<<10)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	p := writes("web", "head -c $((1024*1000)) /dev/zero > /tmp/big", "64Ki")
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "big", VolumeSource: v1.VolumeSource{
		ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "big"}},
	}})
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "big", MountPath: "/big"})
	w.create(p)
	w.settle()
	require.Equal(t, "Pod ephemeral local storage usage exceeds the total limit of containers 1088Ki. ", w.get("web").Status.Message)
}
