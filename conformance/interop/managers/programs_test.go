package managers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/conformance/internal/upstream"
)

// built builds upstream's two programs once, into the user's cache; later it takes a moment to see that they are there.
var built = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "storagesim", "managers")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator), "tool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as .ci/nightly builds them, so that this has nothing to compile
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, text)
	}
	return dir, nil
})

// controllers lists the controllers of kube-controller-manager that have a counterpart here, and two that have none:
// endpointslice-controller, which is watched at work against this API server, and serviceaccount-controller, whose work this API server does itself.
var controllers = []string{
	"cronjob-controller", "daemonset-controller", "deployment-controller", "disruption-controller", "endpointslice-controller", "ephemeral-volume-controller",
	"garbage-collector-controller", "job-controller", "namespace-controller", "node-lifecycle-controller", "persistentvolume-attach-detach-controller",
	"persistentvolume-binder-controller", "persistentvolume-expander-controller", "persistentvolume-protection-controller",
	"persistentvolumeclaim-protection-controller", "pod-garbage-collector-controller", "replicaset-controller", "replicationcontroller-controller",
	"resourcequota-controller",
	"serviceaccount-controller", "statefulset-controller", "taint-eviction-controller", "ttl-after-finished-controller",
	"volumeattributesclass-protection-controller",
}

// launch starts upstream's programs for a served cluster. They end with the test.
func launch(t testing.TB, kubeconfig string) map[string]*upstream.Output {
	t.Helper()
	dir, err := built()
	require.NoError(t, err)
	common := []string{"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=500"}
	said := map[string]*upstream.Output{}
	for name, flags := range map[string][]string{
		"kube-controller-manager": {"--controllers=" + strings.Join(controllers, ","), "--flex-volume-plugin-dir=" + t.TempDir()},
		"kube-scheduler":          nil,
	} {
		cmd := exec.Command(filepath.Join(dir, name), append(flags, common...)...)
		said[name] = &upstream.Output{Name: name}
		cmd.Stdout, cmd.Stderr = said[name], said[name]
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	return said
}
