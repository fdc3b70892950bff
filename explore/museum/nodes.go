package museum

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner"
)

// onNodes is a backend that makes volumes on the node that was selected.
type onNodes struct {
	backend
	env     control.Env
	refusal provisioner.ProvisioningState // its answer when the node is gone or full
	full    string                        // a node without room
	on      map[string]string             // the nodes of volumes
	goesOn  bool                          // finishes a volume that it has begun, even if the node is gone
}

func (o *onNodes) run(env control.Env) (provisioner.Provisioner, error) {
	o.env = env
	return o, nil
}

// Provision makes the volume, unless the node is gone or full.
func (o *onNodes) Provision(ctx context.Context, options provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	node, begun := options.SelectedNodeName, o.on[options.PVName]
	if o.goesOn && begun != "" {
		return o.make(ctx, options, begun)
	}
	_, err := o.env.Client().CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, o.refusal, err
	case err != nil:
		return nil, provisioner.ProvisioningNoChange, err
	case node == o.full:
		return nil, o.refusal, errors.New("ResourceExhausted: there is no room on " + node)
	}
	if begun != "" && begun != node {
		o.holds[options.PVName+" on "+begun] = true // a second one is made, and this one stays
	}
	return o.make(ctx, options, node)
}

// make makes the volume on a node.
func (o *onNodes) make(ctx context.Context, options provisioner.ProvisionOptions, node string) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	o.on[options.PVName] = node
	volume, state, err := o.backend.Provision(ctx, options)
	if err != nil {
		return nil, state, err
	}
	volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	return volume, state, err
}

// reschedules returns a backend that, if fixed, lets the scheduler select another node.
func reschedules(fixed bool) *onNodes {
	if fixed {
		return &onNodes{refusal: provisioner.ProvisioningReschedule, goesOn: true}
	}
	return &onNodes{refusal: provisioner.ProvisioningFinished, goesOn: true}
}

// playOnNodes runs a pod that wants a volume on one of two nodes, which are objects without a
// kubelet. Ten seconds later something happens to the node that was selected.
func playOnNodes(c *explore.Cluster, o *onNodes, happens func(node string)) {
	o.holds, o.on = map[string]bool{}, map[string]string{}
	addNodes(c, "node-1", "node-2")
	c.AddProvisionController(provisioner.Config{Name: backendName, New: o.run})
	c.Apply(backendClass("WaitForFirstConsumer"), backendClaim(), pod("web", "", "data"))
	c.RunFor(10 * time.Second)
	if node := c.Claim("data").Annotations[binding.AnnSelectedNode]; node != "" {
		happens(node)
	}
	c.RunFor(time.Hour)
}

// addNodes creates nodes that are objects without a kubelet.
func addNodes(c *explore.Cluster, names ...string) {
	for _, name := range names {
		_, err := c.Client().CoreV1().Nodes().Create(context.Background(), &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
			Status:     v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourcePods: resource.MustParse("110")}},
		}, metav1.CreateOptions{})
		c.Must(err)
	}
}

func nodeGone() Exhibit {
	return Exhibit{
		Number: 5, Name: "the selected node is gone",
		Mechanism: "The scheduler selects a node, which is deleted before the provisioner has got to the claim. Each attempt fails at that node, " +
			"and the annotation stays.",
		Upstream: "https://github.com/kubernetes-sigs/sig-storage-lib-external-provisioner/issues/121",
		Fix:      "the provisioner answers Reschedule where it answered Finished",
		Rule:     explore.Liveness, Replay: "x1;faults=4:refused",
		actors: []string{storagesim.Scheduler},
		scenario: func(c *explore.Cluster, fixed bool) {
			playOnNodes(c, reschedules(fixed), func(node string) { deleteNode(c, node) })
		},
	}
}

func deleteNode(c *explore.Cluster, node string) {
	c.Must(c.Client().CoreV1().Nodes().Delete(context.Background(), node, metav1.DeleteOptions{}))
}

func nodeGoneTooLate() Exhibit {
	return Exhibit{
		Number: 6, Name: "the fix of bug 5 leaks",
		Mechanism: "The backend has made the volume, and the process ends before it creates the PersistentVolume. The node is deleted before it is back. " +
			"The provisioner gives the claim back to the scheduler, and a second volume is made on another node; the first is forgotten.",
		Upstream: "https://github.com/kubernetes-sigs/sig-storage-lib-external-provisioner/issues/152",
		Fix:      "the provisioner goes on with what it has begun",
		Rule:     explore.NothingLeaks, Replay: "x1;faults=5:crash;holds=5:55s:example.com/disk:persistentvolumeclaims",
		actors: []string{storagesim.Scheduler},
		scenario: func(c *explore.Cluster, fixed bool) {
			o := reschedules(true)
			o.goesOn = fixed
			playOnNodes(c, o, func(node string) { deleteNode(c, node) })
		},
	}
}

func nodeFull() Exhibit {
	return Exhibit{
		Number: 7, Name: "the selected node is full",
		Mechanism: "The node that the scheduler selected is full, and cordoned, before the provisioner has got to the claim. The claim keeps the node, " +
			"and each retry fails.",
		Upstream: "https://github.com/kubernetes-sigs/sig-storage-lib-external-provisioner/issues/68",
		Fix:      "the provisioner answers Reschedule where it answered Finished",
		Rule:     explore.Liveness, Replay: "x1;faults=4:refused",
		actors: []string{storagesim.Scheduler},
		scenario: func(c *explore.Cluster, fixed bool) {
			o := reschedules(fixed)
			playOnNodes(c, o, func(node string) {
				o.full = node
				_, err := c.Client().CoreV1().Nodes().Patch(context.Background(), node, types.MergePatchType,
					[]byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
				c.Must(err)
			})
		},
	}
}
