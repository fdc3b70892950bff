package provisioner

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// NodeDeployment configures a provisioner that runs on one node, beside the driver there, and creates volumes for
// that node only.
//
// Upstream: controller.go NodeDeployment, v6.4.
type NodeDeployment struct {
	// Node is the node's name.
	Node string
	// NoImmediateBinding leaves claims with immediate binding alone. Otherwise the provisioners
	// of all nodes try to take them, by writing their node's name to the claim.
	NoImmediateBinding bool
	// BaseDelay is the longest wait before the first attempt to take a claim. It doubles with each attempt up to
	// MaxDelay; defaults 20 s and 60 s.
	BaseDelay, MaxDelay time.Duration
}

// lister reads a cache or its replacement.
type lister[T any] interface {
	Get(key string) (T, bool)
	All() iter.Seq[T]
}

// only is a lister of one object.
type only[T metav1.Object] struct{ object T }

func (o only[T]) Get(key string) (T, bool) {
	if key != o.object.GetName() {
		var none T
		return none, false
	}
	return o.object, true
}

func (o only[T]) All() iter.Seq[T] { return func(yield func(T) bool) { yield(o.object) } }

// nodeProvisioner is a provisioner on one node.
//
// Upstream: controller.go internalNodeDeployment, v6.4.
type nodeProvisioner struct {
	inner startable
	*csiProvisioner
	NodeDeployment
	claims *control.Cache[*v1.PersistentVolumeClaim]
	node   *v1.Node // its labels are the node's topology
	// attempts is the number of failed attempts to take a claim, by UID.
	attempts map[types.UID]int
}

var (
	_ provisioner.BlockProvisioner = (*nodeProvisioner)(nil)
	_ provisioner.Qualifier        = (*nodeProvisioner)(nil)
	_ provisioner.Starter          = (*nodeProvisioner)(nil)
)

func newNodeProvisioner(p *csiProvisioner, inner startable) *nodeProvisioner {
	n := &nodeProvisioner{
		inner: inner, csiProvisioner: p, NodeDeployment: *p.cfg.NodeDeployment, attempts: map[types.UID]int{},
		claims: control.NewCache[*v1.PersistentVolumeClaim](p.env, control.PersistentVolumeClaims()),
	}
	n.claims.Handle(control.Handler[*v1.PersistentVolumeClaim]{Delete: func(claim *v1.PersistentVolumeClaim) { delete(n.attempts, claim.UID) }})
	return n
}

// Start implements provisioner.Starter. The node's own answer replaces the objects of all nodes.
//
// Upstream: cmd/csi-provisioner/csi-provisioner.go main, v6.4.
func (n *nodeProvisioner) Start(ctx context.Context) {
	n.reported = n.meet(ctx)
	info := n.nodeInfo(ctx)
	labels := maps.Clone(info.GetAccessibleTopology().GetSegments())
	if labels == nil {
		labels = map[string]string{}
	}
	n.segment = labels
	n.node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Node, Labels: labels}}
	n.nodes = only[*v1.Node]{n.node}
	n.csiNodes = only[*storage.CSINode]{&storage.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: n.Node},
		Spec: storage.CSINodeSpec{Drivers: []storage.CSINodeDriver{{
			Name: n.cfg.Driver, NodeID: info.GetNodeId(), TopologyKeys: slices.Sorted(maps.Keys(labels)),
		}}},
	}}
	n.inner.Start(ctx)
}

// nodeInfo asks the driver about the node until it answers.
//
// Upstream: pkg/controller/node.go GetNodeInfo, v6.4; its program ends instead of waiting.
func (n *nodeProvisioner) nodeInfo(ctx context.Context) *csi.NodeGetInfoResponse {
	for {
		info, err := csi.NewNodeClient(n.conn).NodeGetInfo(control.WithTimeout(ctx, n.env, n.cfg.Timeout), &csi.NodeGetInfoRequest{})
		if err == nil {
			return info
		}
		n.env.Trace(trace.Decision{About: trace.Ref{Kind: "CSIDriver", Name: n.cfg.Driver},
			Text: "cannot start: failed to get node info from CSI driver: " + err.Error()})
		_ = n.env.Sleep(control.InBackground(ctx), 10*time.Second)
	}
}

// SupportsBlock implements provisioner.BlockProvisioner.
func (n *nodeProvisioner) SupportsBlock(ctx context.Context) bool { return n.inner.SupportsBlock(ctx) }

// ShouldProvision implements provisioner.Qualifier. A claim without a node may be taken here; it is provisioned for
// when it returns with the node's name.
//
// Upstream: controller.go ShouldProvision, v6.4.
func (n *nodeProvisioner) ShouldProvision(ctx context.Context, claim *v1.PersistentVolumeClaim) bool {
	class, ok := n.classes.Get(binding.GetPersistentVolumeClaimClass(claim))
	if !ok {
		return true // Provision returns the error
	}
	owned, err := n.checkNode(ctx, claim, class)
	return owned || err != nil
}

// Provision implements provisioner.Provisioner.
//
// Upstream: controller.go Provision, v6.4.
func (n *nodeProvisioner) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	claim := options.PVC
	owned, err := n.checkNode(ctx, claim, options.StorageClass)
	switch {
	case err != nil:
		return nil, provisioner.ProvisioningNoChange, fmt.Errorf("node check failed: %w", err)
	case !owned:
		return nil, provisioner.ProvisioningNoChange, &provisioner.IgnoredError{
			Reason: fmt.Sprintf("not responsible for provisioning of PVC %s/%s because it is not assigned to node %q", claim.Namespace, claim.Name, n.Node),
		}
	}
	return n.inner.Provision(ctx, options)
}

// Delete implements provisioner.Provisioner. It ignores volumes of other nodes.
//
// Upstream: controller.go Delete and topology.go VolumeIsAccessible, v6.4.
func (n *nodeProvisioner) Delete(ctx context.Context, volume *v1.PersistentVolume) error {
	if len(n.node.Labels) > 0 && !binding.Reachable(volume, n.node) {
		return &provisioner.IgnoredError{Reason: "PV was not provisioned on this node"}
	}
	return n.inner.Delete(ctx, volume)
}

// checkNode reports whether the claim is for this node. If it is for none, and its class binds at once, checkNode
// tries to take it.
//
// Upstream: controller.go checkNode, v6.4.
func (n *nodeProvisioner) checkNode(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storage.StorageClass) (bool, error) {
	if selected := claim.Annotations[binding.AnnSelectedNode]; selected != "" {
		return selected == n.Node, nil
	}
	if mode := class.VolumeBindingMode; mode == nil || *mode != storage.VolumeBindingImmediate || n.NoImmediateBinding {
		return false, nil
	}
	if len(class.AllowedTopologies) > 0 && n.supportsTopology() {
		if _, err := n.GenerateAccessibilityRequirements(claim, class.AllowedTopologies, n.Node); err != nil {
			return false, nil //nolint:nilerr // As upstream: the node is not among the allowed ones.
		}
	}
	if err := n.becomeOwner(ctx, claim, class); err != nil {
		return false, fmt.Errorf("PVC %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return false, nil
}

// becomeOwner waits for a while, and then writes the node's name to the claim, unless another node was faster or the
// node has too little capacity.
//
// Upstream: controller.go becomeOwner, v6.4.
func (n *nodeProvisioner) becomeOwner(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storage.StorageClass) error {
	for {
		current, taken, err := n.wait(ctx, claim)
		switch {
		case err != nil:
			return err
		case taken:
			delete(n.attempts, claim.UID)
			return nil
		}
		if enough, err := n.checkCapacity(ctx, claim, class); err == nil && !enough {
			n.env.Trace(trace.Decision{About: trace.RefOf("PersistentVolumeClaim", claim), Text: "is not taken for node " + n.Node + ": there is not enough room"})
			return nil
		}
		if current.Annotations[binding.AnnSelectedNode] == n.Node {
			return nil
		}
		mine := current.DeepCopy()
		metav1.SetMetaDataAnnotation(&mine.ObjectMeta, binding.AnnSelectedNode, n.Node)
		_, err = n.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, mine, metav1.UpdateOptions{})
		switch {
		case apierrors.IsConflict(err):
			continue // probably another node was faster
		case err != nil:
			return fmt.Errorf("selecting node %q for PVC failed: %w", n.Node, err)
		}
		delete(n.attempts, claim.UID)
		return nil
	}
}

// wait waits before the next attempt. It reports whether another node has taken the claim meanwhile.
func (n *nodeProvisioner) wait(ctx context.Context, claim *v1.PersistentVolumeClaim) (current *v1.PersistentVolumeClaim, taken bool, err error) {
	end := n.env.Now().Add(n.delay(claim.UID))
	interval := max(n.BaseDelay/100, 10*time.Millisecond)
	for {
		left := end.Sub(n.env.Now())
		if err := n.env.Sleep(ctx, min(interval, max(left, 0))); err != nil {
			return nil, false, errors.New("timed out waiting to become PVC owner")
		}
		current, ok := n.claims.Get(control.Key(claim))
		switch {
		case !ok:
			return nil, false, fmt.Errorf("PVC not found: persistentvolumeclaim %q not found", claim.Name)
		case current.UID != claim.UID:
			return nil, false, errors.New("PVC was replaced")
		}
		selected := current.Annotations[binding.AnnSelectedNode]
		if taken := selected != "" && selected != n.Node; taken || left <= interval {
			return current, taken, nil
		}
	}
}

// jitters is the number of possible random parts of the base delay.
const jitters = 100

// delay returns the wait before the next attempt: at most BaseDelay, doubled for each earlier attempt, minus a part
// of BaseDelay that depends on node, claim and chance.
//
// Upstream: ratelimiter.go When, v6.4, where it depends on chance alone.
func (n *nodeProvisioner) delay(uid types.UID) time.Duration {
	full := min(n.BaseDelay<<min(n.attempts[uid], 16), n.MaxDelay)
	n.attempts[uid]++
	h := fnv.New32a()
	_, _ = h.Write([]byte(n.Node + string(uid)))
	part := (int(h.Sum32()%jitters) + n.env.Choose(jitters)) % jitters
	return max(full-n.BaseDelay*time.Duration(part)/jitters, 0)
}

// checkCapacity asks the driver whether the node has the capacity for the claim.
//
// Upstream: controller.go checkCapacity, v6.4.
func (n *nodeProvisioner) checkCapacity(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storage.StorageClass) (bool, error) {
	asked := claim.Spec.Resources.Requests[v1.ResourceStorage]
	if asked.Value() == 0 {
		return true, nil
	}
	result, _, err := n.prepareProvision(ctx, claim, class, n.Node)
	if err != nil {
		return false, err
	}
	topologies := []*csi.Topology{nil}
	if requisite := result.req.GetAccessibilityRequirements().GetRequisite(); len(requisite) > 0 {
		topologies = requisite
	}
	for _, topology := range topologies {
		answer, err := n.driver.GetCapacity(ctx, &csi.GetCapacityRequest{
			VolumeCapabilities: result.req.GetVolumeCapabilities(), Parameters: result.req.GetParameters(), AccessibleTopology: topology,
		})
		if err != nil {
			return false, fmt.Errorf("GetCapacity: %w", err)
		}
		if asked.Value() <= answer.GetAvailableCapacity() {
			return true, nil
		}
	}
	return false, nil
}

// getNameWithMaxLength joins base and suffix. If the result is too long, it shortens base and adds a hash of it.
//
// Upstream: cmd/csi-provisioner/util.go getNameWithMaxLength, v6.4.
func getNameWithMaxLength(base, suffix string, most int) string {
	name := base + "-" + suffix
	if len(name) <= most {
		return name
	}
	hash := func(s string) string {
		h := fnv.New32a()
		_, _ = h.Write([]byte(s))
		return fmt.Sprintf("%08x", h.Sum32())
	}
	if room := most - 10 - len(suffix); room > 0 {
		return base[:min(room, len(base))] + "-" + hash(base) + "-" + suffix
	}
	return base[:min(len(base), most-9)] + "-" + hash(name)
}
