package nodestatus

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/volume"
)

// Volumes is the volume manager as the node's status needs it.
type Volumes interface {
	// UpdateFromNodeStatus takes the Node's status as it is when the node is registered.
	UpdateFromNodeStatus(status *v1.NodeStatus)
	// VolumesToReport returns status.volumesInUse as it is to be written, given as it is.
	VolumesToReport(reported []v1.UniqueVolumeName) []v1.UniqueVolumeName
	// MarkVolumesAsReportedInUse is called when the status was written.
	MarkVolumesAsReportedInUse(names []v1.UniqueVolumeName)
}

// Node registers one node and keeps its status and its lease.
type Node struct {
	env      control.Env
	template *v1.Node
	// configured are the CSI drivers that only show in the Node and CSINode objects.
	configured []CSIDriver
	volumes    Volumes
	drivers    *nodeInfoManager
	lease      *nodeLease
	queue      control.Queue
	// turned is the time of a turn of the status, from which the others are counted; registered: the Node exists; reporting: a
	// status write is scheduled; reported: time of the last one.
	turned, reported      time.Time
	registered, reporting bool
	telling               bool // a turn is awaited that tells of a cordon
	late                  bool // turns may come later, by choice
	// latest is the Node as it was last seen; nil before the first time.
	latest *v1.Node
	cache  *control.Cache[*v1.Node]
	// synced is the version of the Node at the end of the last turn of its status.
	synced string
	// unschedulable says that an event has told that the Node is cordoned.
	unschedulable bool
	recorder      control.Recorder
}

// New makes the Node of a template, whose empty fields get defaults. It refuses drivers without
// a name. phase is the time since the last turn of its status; late has turns come up to a 25th of their period later, by choice.
func New(env control.Env, template *v1.Node, version runtime.Version, drivers []CSIDriver, phase time.Duration, late bool) (*Node, error) {
	if err := checkCSIDrivers(template.Name, drivers); err != nil {
		return nil, err
	}
	return &Node{
		env: env, template: nodeTemplate(template, version), configured: drivers, turned: env.Now().Add(-phase), late: late,
		drivers: &nodeInfoManager{env: env, node: template.Name, late: late}, lease: &nodeLease{env: env, node: template.Name}, recorder: env.Recorder("kubelet"),
	}, nil
}

// Start makes the queue of status writes, and follows the Node.
func (n *Node) Start(volumes Volumes, backoff control.RateLimiter) {
	n.volumes = volumes
	n.queue = n.env.Queue(control.QueueConfig{Name: "node-status", About: control.KeysOf("Node"), Reconcile: n.reportNodeStatus, Limiter: backoff})
	n.cache = control.NewCacheOfName[*v1.Node](n.env, control.Nodes(), n.name())
	n.cache.Handle(control.Handler[*v1.Node]{Add: n.changed, Update: func(_, node *v1.Node) { n.changed(node) }})
}

// changed notes the Node as it is now. Upstream looks at it at each turn of its status; here there is only a turn that has something to
// tell or to write: the Node was cordoned or uncordoned, or another than this kubelet wrote what is the kubelet's.
//
// Upstream: kubelet.go NewMainKubelet, of which an informer knows the Node, and kubelet_node_status.go setNodeStatus, v1.37.2.
func (n *Node) changed(node *v1.Node) {
	if newer, err := resourceversion.CompareResourceVersion(node.ResourceVersion, n.synced); err == nil && newer <= 0 {
		return
	}
	n.latest = node
	if !n.registered || n.reporting {
		return
	}
	switch {
	case n.isOutdated(node):
		n.ReportLater()
	case n.unschedulable != node.Spec.Unschedulable && !n.telling:
		n.telling = true
		n.env.Go("tell whether the node is schedulable", n.tellLater)
	}
}

// tellLater waits for the next turn of the status, which has nothing to write, only to tell. Settle does not wait for that.
func (n *Node) tellLater(ctx context.Context) {
	d := n.untilNextTurn()
	never := func(context.Context) (bool, error) { return false, nil }
	_ = n.env.Poll(control.WithTimeout(ctx, n.env, d), d+time.Second, d+time.Second, never) // it ends with the context, before it ever looks
	n.telling = false
	n.queue.Add(n.name())
}

// isOutdated reports whether a turn would change the Node's status.
func (n *Node) isOutdated(node *v1.Node) bool {
	is := withOwnConditions(node)
	n.setNodeStatus(is)
	return !semantic.Equal(node.Status, is.Status)
}

// StartHeartbeats starts to renew the lease and to report the status regularly.
func (n *Node) StartHeartbeats() {
	n.env.Heartbeat("renew the node's lease", nodeLeaseRenewInterval, n.renewNodeLease)
	n.env.Heartbeat("report the node's status", nodeStatusReportFrequency, n.reportAnyway)
}

// Template returns the Node as it is configured, with defaults. Do not modify it.
func (n *Node) Template() *v1.Node { return n.template }

// Latest returns the Node as it was last seen, before that as it is configured. Do not modify it.
//
// Upstream: kubelet_getters.go getNodeAnyWay, v1.37, of which an informer knows the Node.
func (n *Node) Latest() *v1.Node {
	if n.latest != nil {
		return n.latest
	}
	return n.template
}

// Read reads the Node. If it does not exist, it is as it is configured.
//
// Upstream: kubelet_getters.go getNodeAnyWay, v1.37.
func (n *Node) Read(ctx context.Context) (*v1.Node, error) {
	node, err := n.env.Client().CoreV1().Nodes().Get(ctx, n.name(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return n.template, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read node %s: %w", n.name(), err)
	}
	n.latest = node
	return node, nil
}

// recordNodeSchedulableEvent emits an event if the Node was cordoned, or uncordoned, since the last one of this life.
//
// Upstream: kubelet_node_status.go recordNodeSchedulableEvent, v1.37.
func (n *Node) recordNodeSchedulableEvent(node *v1.Node) {
	if n.unschedulable == node.Spec.Unschedulable {
		return
	}
	n.unschedulable = node.Spec.Unschedulable
	event := "NodeSchedulable"
	if n.unschedulable {
		event = "NodeNotSchedulable"
	}
	n.recorder.Eventf(node, v1.EventTypeNormal, event, "Node %s status is now: %s", n.name(), event)
}

// NodeInfoManager writes the CSI drivers that register into the Node and the CSINode.
func (n *Node) NodeInfoManager() volume.NodeInfoManager { return n.drivers }

// PodCIDR returns the network of the node's pods: spec.podCIDR, or one that is derived from the
// node's name.
func (n *Node) PodCIDR() string {
	if n.template.Spec.PodCIDR != "" {
		return n.template.Spec.PodCIDR
	}
	_, podCIDR := addresses(n.name())
	return podCIDR
}

// HostIP returns the node's internal address.
func (n *Node) HostIP() string {
	for _, a := range n.template.Status.Addresses {
		if a.Type == v1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

func (n *Node) name() string { return n.template.Name }

// now returns the time as the API keeps it, in whole seconds.
func (n *Node) now() metav1.Time { return metav1.NewTime(n.env.Now().Truncate(time.Second)) }
