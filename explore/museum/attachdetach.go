package museum

import (
	"context"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/explore"
)

// moves deletes a pod by force, and runs another one that uses its volume on node-2.
func moves(c *explore.Cluster, _ bool) {
	withCSI(c, func(*csi.Driver) {})
	c.RunFor(2 * time.Minute)
	deleteByForce(c, "web")
	c.Apply(pod("web-2", "nodeName: node-2", "data"))
	c.RunFor(5 * time.Minute)
}

// deleteByForce deletes a pod, if it is there: the explorer may have left it out.
func deleteByForce(c *explore.Cluster, pod string) {
	now := int64(0)
	err := c.Client().CoreV1().Pods("default").Delete(context.Background(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if !apierrors.IsNotFound(err) {
		c.Must(err)
	}
}

func forcedFromHealthyNode() Exhibit {
	return Exhibit{
		Number: 25, Name: "force detach from a healthy node",
		Mechanism: "A pod is deleted by force, and its node takes long to unmount the volume: the driver does not answer. The controller waits, " +
			"here for one minute in place of six, and detaches the volume from the node, which is healthy and still uses it. Then it attaches it to another one.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/106710",
		Fix:      "attachdetach.Config.ForceDetach: only from nodes that are not ready",
		Rule:     NotDetachedInUse, Replay: "x1;faults=35:csi-hang",
		nodes: []string{"node-1", "node-2"},
		configure: func(cfg *storagesim.Config, fixed bool) {
			cfg.Only = []string{storagesim.PVController, storagesim.AttachDetach}
			cfg.AttachDetach.MaxWaitForUnmount = time.Minute
			if !fixed {
				cfg.AttachDetach.ForceDetach = func(bool) bool { return true }
			}
		},
		scenario: moves,
	}
}

func attachmentForgotten() Exhibit {
	return Exhibit{
		Number: 26, Name: "the attach/detach controller forgets",
		Mechanism: "A volume moves to another node. The controller takes it out of the old node's status, and ends before it deletes the VolumeAttachment. " +
			"After its restart it does not know of the attachment and attaches the volume to the other node, which the driver refuses.",
		Upstream: "https://github.com/kubernetes/kubernetes/issues/77324",
		Fix:      "attachdetach.Config.Remember: a VolumeAttachment that no node's status lists is an uncertain attachment",
		Rule:     explore.NothingLeaks, Replay: "x1;faults=45:crash",
		nodes: []string{"node-1", "node-2"},
		configure: func(cfg *storagesim.Config, fixed bool) {
			cfg.Only = []string{storagesim.PVController, storagesim.AttachDetach}
			if !fixed {
				cfg.AttachDetach.Remember = func(*storagev1.VolumeAttachment) bool { return false }
			}
		},
		scenario: moves,
	}
}
