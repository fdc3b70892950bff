package kubelet_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAKubeletRegistersItsNode(t *testing.T) {
	w := simple(t)
	w.settle()
	node, err := w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "node-1", node.Labels[v1.LabelHostname])
	require.Equal(t, "v1.36.3", node.Status.NodeInfo.KubeletVersion)
	require.Equal(t, "64", node.Status.Capacity.Cpu().String())
	require.Equal(t, "110", node.Status.Allocatable.Pods().String())
	ready := node.Status.Conditions[len(node.Status.Conditions)-1]
	require.Equal(t, v1.NodeReady, ready.Type)
	require.Equal(t, v1.ConditionTrue, ready.Status)

	require.NoError(t, w.e.Crash(actor))
	w.settle()
	again, err := w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, node.ResourceVersion, again.ResourceVersion, "starting again changes nothing")
}

// Upstream: kubelet_node_status.go registerWithAPIServer, v1.36: registrationCompleted
// holds for the process' life, and tryUpdateNodeStatus fails without the object.
func TestADeletedNodeObjectIsMadeAgainByTheKubeletsNextLifeOnly(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", func(pv *v1.PersistentVolume) {
		pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/disk/data"}}
		pv.Spec.NodeAffinity = nil
	})
	w.settle()
	require.NoError(t, w.user.CoreV1().Nodes().Delete(context.Background(), "node-1", metav1.DeleteOptions{}))
	w.create(pod("plain"))
	w.create(pod("web", claim("data")))
	require.NoError(t, w.e.RunFor(time.Hour))
	_, err := w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.Equal(t, v1.PodRunning, w.get("plain").Status.Phase)
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	w.requireEvent("web", "FailedMount", `MountVolume.NodeAffinity check failed for volume "pv-data" : error retrieving node: nodes "node-1" not found`)

	require.NoError(t, w.e.Crash(actor))
	w.settle()
	_, err = w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
}
