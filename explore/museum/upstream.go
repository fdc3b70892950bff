package museum

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/explore"
)

// bugOf returns the bug of Kubernetes itself with an issue and, unless it is empty, a text.
func bugOf(issue, text string) *explore.UpstreamBug {
	for _, bug := range explore.UpstreamBugs() {
		if bug.Issue == issue && (text == "" || bug.Text == text) {
			return bug
		}
	}
	return nil
}

func stagedAndForgotten() Exhibit {
	return Exhibit{
		Number: 31, Name: "staged and forgotten", Open: true,
		Mechanism: "A pod is deleted. The kubelet has called NodeUnpublishVolume, and ends before NodeUnstageVolume. When it starts again it looks into the " +
			"directories of pods only, so that it forgets the staged volume: volumesInUse is empty, and the volume is detached while it is staged.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/121937",
		Fix:      "kubelet.Config.FindStaged: what is staged is found by the file beside it",
		Rule:     NotDetachedInUse, Replay: "x1;faults=36:crash-after",
		bug:    bugOf("kubernetes/kubernetes 121937", ""),
		except: []string{explore.NothingLeaks, explore.CallOrder},
		actors: []string{storagesim.AttachDetach, storagesim.Scheduler}, nodes: []string{"node-1"},
		scenario: func(c *explore.Cluster, _ bool) {
			withCSI(c, func(*csi.Driver) {})
			c.RunFor(time.Minute)
			c.Delete("pod/web")
			c.RunFor(time.Minute)
		},
	}
}

func nodeMadeAnew() Exhibit {
	return Exhibit{
		Number: 32, Name: "a node made anew", Open: true,
		Mechanism: "A kubelet is down, and its Node object is deleted, as autoscalers and people do. The pods are collected. The kubelet comes back and registers: " +
			"the new Node has no volumesInUse until the kubelet has looked at its pods. The attach/detach controller takes the volume for free and has it detached " +
			"while it is staged and published.",
		Upstream: "https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/kubelet/nodestatus/setters.go",
		Fix:      "kubelet.Config.KeepInUse: the Node that is created lists what was found on the disk",
		Rule:     NotDetachedInUse, Replay: "x1",
		bug:    bugOf("", "a Node object that is made anew has no volumesInUse, so that mounted volumes are detached"),
		except: []string{explore.CallOrder},
		actors: []string{storagesim.AttachDetach, storagesim.PodGC, storagesim.NodeLifecycle, storagesim.TaintEviction}, nodes: []string{"node-1"},
		scenario: func(c *explore.Cluster, _ bool) {
			withCSI(c, func(*csi.Driver) {})
			c.RunFor(time.Minute)
			c.Stop("kubelet/node-1")
			c.Must(c.Client().CoreV1().Nodes().Delete(context.Background(), "node-1", metav1.DeleteOptions{}))
			c.RunFor(2 * time.Minute)
			c.Start("kubelet/node-1")
			c.RunFor(time.Minute)
		},
	}
}
