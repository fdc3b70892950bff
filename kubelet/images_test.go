package kubelet_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/disk"
)

func using(p *v1.Pod, image string, policy v1.PullPolicy) *v1.Pod {
	p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = image, policy
	return p
}

// imageEvents returns the pod's events about its image.
func (w *world) imageEvents(name string) (list []string) {
	w.t.Helper()
	for _, e := range w.events(name) {
		if !strings.HasPrefix(e, "Created") && !strings.HasPrefix(e, "Started") {
			list = append(list, e)
		}
	}
	return list
}

func pulled(image string) []string {
	return []string{
		`Pulling: Pulling image "` + image + `"`,
		`Pulled: Successfully pulled image "` + image + `" in 0s (0s including waiting). Image size: 0 bytes.`,
	}
}

func present(image string) []string {
	return []string{`Pulled: Container image "` + image + `" already present on machine and can be accessed by the pod`}
}

// Upstream: pkg/kubelet/images/image_manager.go EnsureImageExists, v1.37, and
// pkg/apis/core/v1/defaults.go SetDefaults_Container for what has no policy.
func TestAnImageIsPulledByItsPolicy(t *testing.T) {
	w := simple(t)
	for _, c := range []struct {
		name, image string
		policy      v1.PullPolicy
		want        []string
	}{
		{"no tag means latest, which is always pulled", "busybox", "", pulled("busybox")},
		{"and again", "busybox", "", pulled("busybox")},
		{"so does the tag", "busybox:latest", "", pulled("busybox:latest")},
		{"unless the policy is another", "busybox", v1.PullIfNotPresent, present("busybox")},
		{"any other tag is pulled once", "busybox:1.36", "", pulled("busybox:1.36")},
		{"and not again", "busybox:1.36", "", present("busybox:1.36")},
		{"unless the policy is another one", "busybox:1.36", v1.PullAlways, pulled("busybox:1.36")},
		{"never, and it is there", "busybox", v1.PullNever, present("busybox")},
		{"a registry's port is no tag", "localhost:5000/busybox", v1.PullIfNotPresent, pulled("localhost:5000/busybox")},
		{"so it is there under its tag", "localhost:5000/busybox:latest", v1.PullNever, present("localhost:5000/busybox:latest")},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.create(using(pod("web"), c.image, c.policy))
			w.settle()
			require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
			require.Equal(t, c.want, w.imageEvents("web"))
			w.delete("web")
			w.settle()
			require.NoError(t, w.user.CoreV1().Events("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		})
	}
	require.NoError(t, w.e.Crash(actor))
	w.create(using(pod("web"), "busybox:1.36", v1.PullNever))
	w.settle()
	require.Equal(t, present("busybox:1.36"), w.imageEvents("web"), "the node has it whatever becomes of the kubelet")
}

func TestAnImageThatMustNotBePulledKeepsItsContainerWaiting(t *testing.T) {
	w := simple(t)
	w.create(using(pod("web"), "mine:1", v1.PullNever))
	w.settle()
	w.requireWaiting("web", "c", "ErrImageNeverPull", `Container image "mine:1" is not present with pull policy of Never`)
	require.Equal(t, []string{
		`ErrImageNeverPull: Container image "mine:1" is not present with pull policy of Never`, "Failed: Error: ErrImageNeverPull",
	}, w.imageEvents("web"))
	w.create(using(pod("other"), "mine:1", v1.PullIfNotPresent))
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase, "it is there now")
}

func TestAnImageWhoseNameCannotBeParsedKeepsItsContainerWaiting(t *testing.T) {
	w := simple(t)
	for name, c := range map[string]struct{ image, why string }{
		"upper": {"Busybox", "invalid reference format: repository name (library/Busybox) must be lowercase"},
		"space": {"busy box", "invalid reference format"},
		"tag":   {"busybox:a:b", "invalid reference format"},
	} {
		w.create(using(pod(name), c.image, ""))
		w.settle()
		text := `Failed to apply default image tag "` + c.image + `": couldn't parse image name "` + c.image + `": ` + c.why
		w.requireWaiting(name, "c", "InvalidImageName", text)
		require.Equal(t, []string{"InspectFailed: " + text, "Failed: Error: InvalidImageName"}, w.imageEvents(name)[:2])
	}
}

func TestANodeHasTheImagesThatItIsGiven(t *testing.T) {
	node, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	containers := runtime.New(runtime.Config{Root: node, Images: []string{"mine"}})
	w := newWorld(t, engine.Config{}, kubelet.Config{Root: node, Runtime: containers})
	w.create(using(pod("web"), "mine:latest", v1.PullNever))
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.Equal(t, present("mine:latest"), w.imageEvents("web"))
}

func TestAnImageThatDoesNotFitOnTheDiskIsPulledWhenItDoes(t *testing.T) {
	w := simple(t)
	w.node.Fail(func(op, name string) error {
		if op == "write" && strings.HasPrefix(name, "/run/containerd/images/") {
			return syscall.ENOSPC
		}
		return nil
	})
	began := w.e.Now()
	at := func(seconds int, reason, message string) {
		t.Helper()
		require.NoError(t, w.e.RunFor(began.Add(time.Duration(seconds)*time.Second).Sub(w.e.Now())))
		waits := w.get("web").Status.ContainerStatuses[0].State.Waiting
		require.Equal(t, reason, waits.Reason, "after %d s", seconds)
		require.Contains(t, waits.Message, message)
		require.Contains(t, waits.Message, "no space left on device")
	}
	w.create(pod("web"))
	at(1, "ErrImagePull", "")
	w.requireEvent("web", "Failed", `Failed to pull image "busybox"`)
	w.requireEvent("web", "Failed", "Error: ErrImagePull")
	at(11, "ErrImagePull", "") // tried again
	at(21, "ImagePullBackOff", `Back-off pulling image "busybox": ErrImagePull: `)
	w.requireEvent("web", "BackOff", `Back-off pulling image "busybox"`)
	w.requireEvent("web", "Failed", "Error: ImagePullBackOff")
	at(31, "ErrImagePull", "")
	at(41, "ImagePullBackOff", `Back-off pulling image "busybox": ErrImagePull: `)
	w.node.Fail(nil)
	require.NoError(t, w.e.RunFor(10*time.Minute))
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}
