package managers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
)

// Scenario is played in a cluster of its own, with our controllers or with upstream's.
type Scenario struct {
	// Name is that of the file in testdata, too.
	Name string
	// Nodes has the nodes of the cluster; default one, "node-1". With several equal nodes the scheduler chooses by chance.
	Nodes []storagesim.Node
	// CSI, if set, is the CSI driver of the cluster. Its sidecars are ours in both runs.
	CSI   *driver.Config
	Steps []Step
}

// Cluster makes the scenario's cluster, which cfg describes otherwise, and an observer of it.
func (s Scenario) Cluster(cfg storagesim.Config) (*storagesim.Cluster, *Observer, error) {
	cfg.Nodes, cfg.Disks = slices.Clone(s.Nodes), storagesim.MemoryDisks
	if len(cfg.Nodes) == 0 {
		cfg.Nodes = storagesim.Nodes("node-1")
	}
	for i := range cfg.Nodes { // which pod pulls an image is chance
		cfg.Nodes[i].Images = []string{"busybox:1", "busybox:2", "busybox:3", "busybox:4"}
	}
	cluster, err := storagesim.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	if s.CSI != nil {
		if err := cluster.InstallCSIDriver(*s.CSI); err != nil {
			return nil, nil, errors.Join(err, cluster.Close())
		}
	}
	return cluster, Observe(cluster), nil
}

// Rest is added to the least time of each step. It is longer than upstream's programs wait before they try again what failed
// once: they have nothing more to do at once when nothing was written for so long.
const Rest = 3 * time.Second

// Step is something that a user does, and what the controllers make of it.
type Step struct {
	Name string
	// Do does it, with the rights of a user. What the API server refuses is taken down.
	Do func(*User) error
	// Wait is the least time that passes in the step. Without it a step ends when nothing more happens at once.
	Wait time.Duration
	// Minutes, if set, makes the step last until so many minutes have begun, and ten seconds more.
	Minutes int
}

// least returns how long a step that begins now lasts at least.
func (s Step) least(now time.Time) time.Duration {
	if s.Minutes == 0 {
		return s.Wait
	}
	return now.Truncate(time.Minute).Add(time.Duration(s.Minutes)*time.Minute + 10*time.Second).Sub(now)
}

// User acts in a scenario.
type User struct {
	Cluster *storagesim.Cluster
	client  dynamic.Interface
}

// Apply makes a step that applies manifests.
func Apply(name, manifests string) Step {
	return Step{Name: name, Do: func(u *User) error { return u.Cluster.Apply(manifests) }}
}

// Delete makes a step that deletes objects, such as "pod/web".
func Delete(refs ...string) Step {
	return Step{Name: fmt.Sprint("delete ", refs), Do: func(u *User) error { return u.Cluster.Delete(refs...) }}
}

// Patch makes a step that changes an object of the namespace default, or one without a namespace, by a merge patch.
func Patch(name string, resource schema.GroupVersionResource, object, patch string, subresources ...string) Step {
	return Step{Name: name, Do: func(u *User) error {
		var client dynamic.ResourceInterface = u.client.Resource(resource)
		if resource != nodes {
			client = u.client.Resource(resource).Namespace(metav1.NamespaceDefault)
		}
		_, err := client.Patch(context.Background(), object, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		return err
	}}
}

// DeleteWith makes a step that deletes an object of the namespace default, and says what becomes of its dependents.
func DeleteWith(name string, policy metav1.DeletionPropagation, resource schema.GroupVersionResource, object string) Step {
	return Step{Name: name, Do: func(u *User) error {
		return u.client.Resource(resource).Namespace(metav1.NamespaceDefault).Delete(context.Background(), object, metav1.DeleteOptions{PropagationPolicy: &policy})
	}}
}

// Evict makes a step that evicts the first of a selector's pods, in the order of their names.
func Evict(name, selector string) Step {
	return Step{Name: name, Do: func(u *User) error {
		pods := u.Cluster.Client().CoreV1().Pods(metav1.NamespaceDefault)
		list, err := pods.List(context.Background(), metav1.ListOptions{LabelSelector: selector})
		if err != nil || len(list.Items) == 0 {
			return errors.Join(fmt.Errorf("there is no pod %s", selector), err)
		}
		return pods.EvictV1(context.Background(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: list.Items[0].Name, Namespace: metav1.NamespaceDefault}})
	}}
}

// For makes a step last so long at least.
func (s Step) For(d time.Duration) Step {
	s.Wait = d
	return s
}

// ForMinutes makes a step last until so many minutes have begun, and ten seconds more.
func (s Step) ForMinutes(n int) Step {
	s.Minutes = n
	return s
}

var (
	nodes                  = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	pods                   = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	deployments            = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	replicaSets            = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	replicationControllers = schema.GroupVersionResource{Version: "v1", Resource: "replicationcontrollers"}
	statefulSets           = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	daemonSets             = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}
	jobs                   = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	cronJobs               = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}
	quotas                 = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
	claims                 = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
)

// Play plays a scenario. Between two steps do calls its argument while the cluster rests, and settle lets the controllers do what
// there is to do, and at least so much time pass.
func (s Scenario) Play(o *Observer, do func(func()), settle func(least time.Duration)) (*Recording, error) {
	client, err := dynamic.NewForConfig(o.cluster.RESTConfig(storagesim.User))
	if err != nil {
		return nil, err
	}
	user := &User{Cluster: o.cluster, client: client}
	seen := &Recording{}
	for _, step := range s.Steps {
		var refused error
		var least time.Duration
		do(func() { refused, least = step.Do(user), step.least(o.cluster.Now()) })
		settle(least)
		do(func() { err = seen.add(step.Name, refused, o) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.Name, err)
		}
	}
	do(func() { seen.Events, err = o.events() })
	return seen, err
}
