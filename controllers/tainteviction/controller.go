package tainteviction

import (
	"context"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/semantic"
	"github.com/storagesim/storagesim/internal/workload"
)

// ActorName is upstream's name of this controller, and the component of its events.
const ActorName = "taint-eviction-controller"

// byNode is the index of pods by their node.
const byNode = "node"

// New returns the factory of the controller.
// Upstream: taint_eviction.go New, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		c := &controller{
			env: env, client: env.Client(), recorder: env.Recorder(ActorName),
			pods: control.NewCache[*v1.Pod](env, control.Pods()), nodes: control.NewCache[*v1.Node](env, control.Nodes()),
			tainted: map[string][]v1.Taint{}, evictions: map[string]*eviction{},
		}
		c.pods.AddIndex(byNode, func(pod *v1.Pod) []string { return []string{pod.Spec.NodeName} })
		c.nodeQueue = env.Queue(control.QueueConfig{Name: "noexec_taint_node", About: control.KeysOf("Node"), Reconcile: c.handleNodeUpdate})
		c.podQueue = env.Queue(control.QueueConfig{Name: "noexec_taint_pod", About: control.KeysOf("Pod"), Reconcile: c.handlePodUpdate})
		c.pods.Handle(control.Handler[*v1.Pod]{Add: c.podAdded, Update: c.podUpdated, Delete: c.podAdded})
		c.nodes.Handle(control.Handler[*v1.Node]{Add: c.nodeAdded, Update: c.nodeUpdated, Delete: c.nodeAdded})
		return nil
	}
}

type controller struct {
	env      control.Env
	client   kubernetes.Interface
	recorder control.Recorder
	pods     *control.Cache[*v1.Pod]
	nodes    *control.Cache[*v1.Node]

	nodeQueue, podQueue control.Queue
	// tainted holds the NoExecute taints of the nodes that have any.
	tainted map[string][]v1.Taint
	// evictions holds the planned deletions by the pod's key.
	evictions map[string]*eviction
}

func (c *controller) nodeAdded(node *v1.Node) { c.nodeQueue.Add(node.Name) }

// Upstream: taint_eviction.go NodeUpdated, v1.37.
func (c *controller) nodeUpdated(old, node *v1.Node) {
	if !semantic.Equal(noExecute(old.Spec.Taints), noExecute(node.Spec.Taints)) {
		c.nodeQueue.Add(node.Name)
	}
}

// podAdded queues a pod that is, or was, on a tainted node. If the node's taint is not known yet, its pods are
// queued when it is.
func (c *controller) podAdded(pod *v1.Pod) {
	if key := control.Key(pod); c.tainted[pod.Spec.NodeName] != nil || c.evictions[key] != nil {
		c.podQueue.Add(key)
	}
}

// Upstream: taint_eviction.go PodUpdated, v1.37.
func (c *controller) podUpdated(old, pod *v1.Pod) {
	if old.Spec.NodeName != pod.Spec.NodeName || old.UID != pod.UID || !semantic.Equal(old.Spec.Tolerations, pod.Spec.Tolerations) {
		c.podAdded(pod)
	}
}

func noExecute(taints []v1.Taint) []v1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t v1.Taint) bool { return t.Effect != v1.TaintEffectNoExecute })
}

// handleNodeUpdate processes the pods of a node whose taints have changed.
// Upstream: taint_eviction.go handleNodeUpdate, v1.37.
func (c *controller) handleNodeUpdate(_ context.Context, name string) error {
	node, found := c.nodes.Get(name)
	if !found {
		delete(c.tainted, name)
		return nil
	}
	taints := noExecute(node.Spec.Taints)
	if len(taints) == 0 {
		if _, was := c.tainted[name]; !was {
			return nil
		}
		delete(c.tainted, name)
	} else {
		c.tainted[name] = taints
	}
	for _, pod := range c.pods.ByIndex(byNode, name) {
		c.processPodOnNode(pod, taints)
	}
	return nil
}

// handlePodUpdate processes a pod that is new on its node, has other tolerations, or is gone.
// Upstream: taint_eviction.go handlePodUpdate, v1.37.
func (c *controller) handlePodUpdate(_ context.Context, key string) error {
	pod, found := c.pods.Get(key)
	if !found {
		c.cancelWorkWithEvent(key)
		return nil
	}
	if taints, tainted := c.tainted[pod.Spec.NodeName]; tainted {
		c.processPodOnNode(pod, taints)
	}
	return nil
}

// processPodOnNode plans the deletion of a pod that does not tolerate its node's taints for ever.
// Upstream: taint_eviction.go processPodOnNode, v1.37.
func (c *controller) processPodOnNode(pod *v1.Pod, taints []v1.Taint) {
	key, now := control.Key(pod), c.env.Now()
	if len(taints) == 0 {
		c.cancelWorkWithEvent(key)
		return
	}
	tolerated, used := matchingTolerations(taints, pod.Spec.Tolerations)
	if !tolerated {
		c.cancelWorkWithEvent(key)
		c.addWork(pod, now, 0)
		return
	}
	left, forever := minTolerationTime(used)
	if forever {
		c.cancelWorkWithEvent(key)
		return
	}
	since := now
	if scheduled := c.evictions[key]; scheduled != nil {
		if since = scheduled.created; since.Before(now) {
			return // an earlier one is planned
		}
		c.cancelWorkWithEvent(key)
	}
	c.addWork(pod, since, left)
}

// matchingTolerations returns the tolerations of all of the taints, and whether each taint is tolerated.
// Upstream: pkg/apis/core/v1/helper GetMatchingTolerations, v1.37.
func matchingTolerations(taints []v1.Taint, tolerations []v1.Toleration) (bool, []v1.Toleration) {
	var used []v1.Toleration
	for i := range taints {
		at := slices.IndexFunc(tolerations, func(t v1.Toleration) bool { return workload.Tolerates(t, &taints[i]) })
		if at < 0 {
			return false, nil
		}
		used = append(used, tolerations[at])
	}
	return true, used
}

// minTolerationTime returns the shortest time of the tolerations, or that all hold for ever.
// Upstream: taint_eviction.go getMinTolerationTime, v1.37.
func minTolerationTime(tolerations []v1.Toleration) (least time.Duration, forever bool) {
	seconds := int64(math.MaxInt64)
	for _, t := range tolerations {
		if t.TolerationSeconds != nil {
			seconds = min(seconds, max(*t.TolerationSeconds, 0))
		}
	}
	if seconds == math.MaxInt64 {
		return 0, true
	}
	const longest = math.MaxInt64 / int64(time.Second)
	return time.Duration(min(seconds, longest)) * time.Second, false
}

// podRef returns a pod as events name it here: without its UID.
func podRef(key string) *v1.Pod {
	namespace, name := control.SplitKey(key)
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
