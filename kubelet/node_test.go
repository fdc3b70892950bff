package kubelet_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/trace"
)

func TestAKubeletRegistersItsNode(t *testing.T) {
	w := simple(t)
	w.settle()
	node, err := w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "node-1", node.Labels[v1.LabelHostname])
	require.Equal(t, "v1.37.2", node.Status.NodeInfo.KubeletVersion)
	require.Equal(t, "64", node.Status.Capacity.Cpu().String())
	require.Equal(t, "110", node.Status.Allocatable.Pods().String())
	require.Equal(t, v1.NodeHostName, node.Status.Addresses[1].Type)
	require.Equal(t, "node-1", node.Status.Addresses[1].Address)
	require.Equal(t, v1.NodeInternalIP, node.Status.Addresses[0].Type)
	ready := node.Status.Conditions[len(node.Status.Conditions)-1]
	require.Equal(t, v1.NodeReady, ready.Type)
	require.Equal(t, v1.ConditionTrue, ready.Status)

	require.NoError(t, w.e.Crash(actor))
	w.settle()
	again, err := w.user.CoreV1().Nodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, node.ResourceVersion, again.ResourceVersion, "starting again changes nothing")
}

// Upstream: kubelet_node_status.go registerWithAPIServer, v1.37: registrationCompleted
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

// Conformance: full/startup_kubelets_register.
func TestANodeIsRegisteredNotReadyThenItsCSINodeAndThenItIsReady(t *testing.T) {
	w := newWorld(t, engine.Config{}, kubelet.Config{CSIDrivers: []kubelet.CSIDriver{
		{Name: "topo.csi.example.com", NodeID: "id-node-1", Topology: map[string]string{"topo.csi.example.com/zone": "z1"}, MaxVolumes: 3},
		{Name: "plain.csi.example.com", NodeID: "id-node-1"},
	}})
	w.settle()
	registered := []string{
		"create nodes", "create csinodes", "patch nodes/status status.conditions",
		"patch nodes/status metadata.annotations.csi.volume.kubernetes.io/nodeid metadata.labels.topo.csi.example.com/zone",
		"update csinodes spec.drivers",
		"patch nodes/status metadata.annotations.csi.volume.kubernetes.io/nodeid",
		"update csinodes spec.drivers",
	}
	require.Equal(t, registered, w.writes("node-1"))
	first := w.e.Trace().Entries()[0].Record.(trace.Write).New.(*v1.Node)
	require.Equal(t, v1.ConditionFalse, first.Status.Conditions[3].Status)
	require.Equal(t, map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}, first.Annotations)
	require.Equal(t, map[string]string{
		"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux",
		"kubernetes.io/arch": "amd64", "kubernetes.io/hostname": "node-1", "kubernetes.io/os": "linux",
	}, first.Labels)
	require.Empty(t, first.Spec.PodCIDR, "that is for the node IPAM controller to say")

	csiNode, err := w.user.StorageV1().CSINodes().Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, first.UID, csiNode.OwnerReferences[0].UID)
	require.Contains(t, csiNode.Annotations["storage.alpha.kubernetes.io/migrated-plugins"], "kubernetes.io/aws-ebs,")
	require.Equal(t, []string{"topo.csi.example.com/zone"}, csiNode.Spec.Drivers[0].TopologyKeys)
	require.Equal(t, int32(3), *csiNode.Spec.Drivers[0].Allocatable.Count)
	require.Equal(t, "plain.csi.example.com", csiNode.Spec.Drivers[1].Name)

	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.Equal(t, registered, w.writes("node-1"), "the next life finds all of it as it is to be")
}

// Upstream: nodeinfomanager.go ensureNodeOwnsCSINode, v1.37.
func TestTheCSINodeOfAnEarlierNodeIsReplaced(t *testing.T) {
	w := simple(t)
	w.settle()
	ctx := context.Background()
	require.NoError(t, w.user.CoreV1().Nodes().Delete(ctx, "node-1", metav1.DeleteOptions{}))
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	node, err := w.user.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	csiNode, err := w.user.StorageV1().CSINodes().Get(ctx, "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, node.UID, csiNode.OwnerReferences[0].UID)
}

// Upstream: nodeinfomanager.go tryUpdateCSINode and ensureNodeOwnsCSINode, v1.37.2.
func TestACSINodeThatWentIsMadeAnewByTheNextLife(t *testing.T) {
	drivers := []kubelet.CSIDriver{{Name: "a.example.com", NodeID: "1"}, {Name: "b.example.com", NodeID: "1"}}
	removed := map[bool]int{}
	for seed := range uint64(12) {
		cfg := kubelet.Config{CSIDrivers: drivers}
		cfg.Late = true
		w := newWorld(t, engine.Config{Policy: engine.Seeded(seed)}, cfg)
		w.settle()
		before := len(w.writes("node-1"))
		require.NoError(t, w.e.Crash(actor))
		w.settle()
		removed[slices.Contains(w.writes("node-1")[before:], "delete csinodes")]++
		require.NoError(t, w.user.StorageV1().CSINodes().Delete(t.Context(), "node-1", metav1.DeleteOptions{}))
		require.NoError(t, w.e.Crash(actor))
		w.settle()
		csiNode, err := w.user.StorageV1().CSINodes().Get(t.Context(), "node-1", metav1.GetOptions{})
		require.NoError(t, err)
		require.Len(t, csiNode.Spec.Drivers, 2, "seed %d", seed)
	}
	require.Len(t, removed, 2, "a driver may register before the kubelet knows its node, which then takes the CSINode for another's")
}

// Upstream: csi_plugin.go initializeCSINode, v1.37.2: until it has ended, the kubelet reports an error of its storage.
func TestARestartedKubeletMayReportItsNodeBeforeTheCSINode(t *testing.T) {
	ready := map[v1.ConditionStatus]int{}
	for seed := range uint64(12) {
		cfg := kubelet.Config{}
		cfg.Late = true
		w := newWorld(t, engine.Config{Policy: engine.Seeded(seed)}, cfg)
		w.settle()
		status := func() v1.ConditionStatus {
			node, err := w.user.CoreV1().Nodes().Get(t.Context(), "node-1", metav1.GetOptions{})
			require.NoError(t, err)
			_, is := nodeutil.GetNodeCondition(&node.Status, v1.NodeReady)
			return is.Status
		}
		require.Equal(t, v1.ConditionTrue, status(), "a node that is new is never reported before")
		require.NoError(t, w.e.Crash(actor))
		require.NoError(t, w.e.RunFor(5*time.Second))
		ready[status()]++
		require.Equal(t, status() == v1.ConditionFalse, strings.Contains(w.trace(), "NodeNotReady: Node node-1 status is now: NodeNotReady"), "seed %d", seed)
		require.NoError(t, w.e.RunFor(6*time.Second))
		require.Equal(t, v1.ConditionTrue, status(), "at the next turn")
	}
	require.Len(t, ready, 2)
}

func TestBadDriversAreRefused(t *testing.T) {
	for want, cfg := range map[string]kubelet.Config{
		`kubelet.Config.CSIDrivers[1] of node node-1 has Name "b" and NodeID ""; both are required`: {
			CSIDrivers: []kubelet.CSIDriver{{Name: "a", NodeID: "1"}, {Name: "b"}},
		},
		`kubelet.Config.CSIDrivers[0] of node node-1 has MaxVolumes -1; it must not be negative`: {
			CSIDrivers: []kubelet.CSIDriver{{Name: "a", NodeID: "1", MaxVolumes: -1}},
		},
	} {
		cfg.Node.Name = "node-1"
		root, err := disk.Open(t.TempDir())
		require.NoError(t, err)
		cfg.Root = root
		e := engine.New(engine.Config{})
		require.ErrorContains(t, e.Add(actor, kubelet.New(cfg)), want)
		e.Close()
		require.NoError(t, root.Close())
	}
}

func TestTheTurnsOfANodesStatusBeginWhereTheConfigurationSays(t *testing.T) {
	w := newWorld(t, engine.Config{}, kubelet.Config{StatusPhase: 7 * time.Second})
	w.settle()
	cordon := func(patch string) {
		_, err := w.user.CoreV1().Nodes().Patch(context.Background(), "node-1", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	until := func(began time.Time, d time.Duration) error { return w.e.RunFor(began.Add(d).Sub(w.e.Now())) }
	cordon(`{"spec":{"unschedulable":true}}`)
	require.NoError(t, until(engine.Start(), 2900*time.Millisecond))
	require.NotContains(t, w.trace(), "NodeNotSchedulable")
	require.NoError(t, until(engine.Start(), 3*time.Second))
	require.Contains(t, w.trace(), "NodeNotSchedulable", "7 s and 3 s are the 10 s between two turns")

	require.NoError(t, w.e.Crash(actor))
	began := w.e.Now()
	require.NoError(t, w.e.RunFor(time.Second))
	cordon(`{"spec":{"unschedulable":null}}`)
	require.NoError(t, until(began, 9900*time.Millisecond))
	require.NotContains(t, w.trace(), "NodeSchedulable: Node")
	require.NoError(t, until(began, 10*time.Second))
	require.Contains(t, w.trace(), "NodeSchedulable: Node", "its second life has a turn at its start")
}

// Upstream: kubelet_node_status.go recordNodeSchedulableEvent and setNodeStatus, v1.37.2: at each turn of the status, every ten seconds.
func TestAKubeletSeesItsNodeChange(t *testing.T) {
	w := simple(t)
	w.settle()
	nodes := w.user.CoreV1().Nodes()
	change := func(patch string, sub ...string) {
		_, err := nodes.Patch(context.Background(), "node-1", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, sub...)
		require.NoError(t, err)
		require.NoError(t, w.e.RunFor(11*time.Second))
	}
	change(`{"spec":{"unschedulable":true}}`)
	require.Contains(t, w.trace(), "Normal NodeNotSchedulable: Node node-1 status is now: NodeNotSchedulable")
	change(`{"spec":{"unschedulable":null}}`)
	require.Contains(t, w.trace(), "Normal NodeSchedulable: Node node-1 status is now: NodeSchedulable")
	change(`{"status":{"allocatable":{"pods":"1"}}}`, "status")
	node, err := nodes.Get(context.Background(), "node-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "110", node.Status.Allocatable.Pods().String(), "what another wrote is the kubelet's again")

	change(`{"metadata":{"labels":{"disk":"slow"}}}`)
	at := pod("slow")
	at.Spec.NodeSelector = map[string]string{"disk": "slow"}
	w.create(at)
	require.NoError(t, w.e.RunFor(time.Second))
	change(`{"metadata":{"labels":{"disk":"fast"}}}`)
	at = pod("late")
	at.Spec.NodeSelector = map[string]string{"disk": "slow"}
	w.create(at)
	require.NoError(t, w.e.RunFor(11*time.Second))
	require.Equal(t, v1.PodRunning, w.get("slow").Status.Phase)
	require.Equal(t, v1.PodFailed, w.get("late").Status.Phase, "it is admitted by the labels that the node has now")
}
