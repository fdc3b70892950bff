package kubelet_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine/disk"
)

// Upstream: containerd's pkg/cri/opts WithMounts, which stats a host path first.
func TestAHostPathWithoutATypeThatCannotBeResolvedIsNotRun(t *testing.T) {
	for path, why := range map[string]string{
		"/h/file/x":   `failed to stat "/h/file/x": stat /h/file/x: not a directory`,
		"/h/loop":     `failed to stat "/h/loop": stat /h/loop: too many levels of symbolic links`,
		"/h/out":      `failed to stat "/h/out": stat /h/out: leads out of the node's directory`,
		"/h/dangling": `failed to mkdir "/h/dangling": mkdir /h/dangling: file exists`,
	} {
		t.Run(path, func(t *testing.T) {
			root := t.TempDir()
			node, err := disk.Open(root)
			require.NoError(t, err)
			w := newWorld(t, engine.Config{}, kubelet.Config{Root: node})
			require.NoError(t, os.Mkdir(root+"/h", 0o755))
			require.NoError(t, os.WriteFile(root+"/h/file", nil, 0o644))
			for link, to := range map[string]string{"loop": "loop", "out": "/etc", "dangling": "none"} {
				require.NoError(t, os.Symlink(to, root+"/h/"+link))
			}
			w.create(pod("web", hostPath("v", path, "")))
			w.settle()
			w.requireWaiting("web", "c", "CreateContainerError", "failed to generate container spec: "+why)
			w.delete("web")
			w.settle()
			w.requireNothingLeft()
		})
	}
}
