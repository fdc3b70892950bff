package podgc

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/podstatus"
)

// ActorName is the name of this controller in upstream's controller manager.
const ActorName = "pod-garbage-collector"

// Upstream: gc_controller.go, v1.37.
const (
	// gcCheckPeriod is the interval at which all pods are checked.
	gcCheckPeriod = 20 * time.Second
	// quarantineTime is the time that a node may be missing before its pods are deleted.
	quarantineTime = 40 * time.Second
)

// Config configures the controller. The zero value has the defaults.
type Config struct {
	// TerminatedPodThreshold is the number of ended pods that may exist; default 12,500, negative for any number.
	TerminatedPodThreshold int
}

// New returns the factory of the controller.
// Upstream: gc_controller.go NewPodGC, v1.37.
func New(cfg Config) control.Factory {
	cfg.TerminatedPodThreshold = cmp.Or(cfg.TerminatedPodThreshold, 12_500)
	return func(env control.Env) error {
		c := &controller{
			cfg: cfg, env: env, client: env.Client(), missing: map[string]time.Time{},
			pods: control.NewCache[*v1.Pod](env, control.Pods()), nodes: control.NewCache[*v1.Node](env, control.Nodes()),
		}
		env.Every("collect pods", gcCheckPeriod, c.gc)
		return nil
	}
}

type controller struct {
	cfg    Config
	env    control.Env
	client kubernetes.Interface
	pods   *control.Cache[*v1.Pod]
	nodes  *control.Cache[*v1.Node]
	// missing holds nodes that do not exist although pods are on them, with the time of the next look.
	missing map[string]time.Time
}

// gc does one round. A pod that could not be deleted is tried again in the next.
// Upstream: gc_controller.go gc, v1.37.
func (c *controller) gc(ctx context.Context) {
	var terminated, outOfService, orphaned, unscheduled []*v1.Pod
	for pod := range c.pods.All() {
		node, found := c.nodes.Get(pod.Spec.NodeName)
		if ended(pod) {
			terminated = append(terminated, pod)
		}
		switch deleting := pod.DeletionTimestamp != nil; {
		case pod.Spec.NodeName == "" && deleting:
			unscheduled = append(unscheduled, pod)
		case pod.Spec.NodeName == "":
		case !found:
			orphaned = append(orphaned, pod)
		case deleting && !isReady(node) && isOutOfService(node):
			outOfService = append(outOfService, pod)
		}
	}
	if most := c.cfg.TerminatedPodThreshold; most > 0 && len(terminated) > most {
		c.deleteAll(ctx, oldestFirst(terminated)[:len(terminated)-most], nil)
	}
	c.deleteAll(ctx, oldestFirst(outOfService), nil)
	c.gcOrphaned(ctx, orphaned)
	c.deleteAll(ctx, unscheduled, nil)
}

func ended(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

func isReady(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue })
}

func isOutOfService(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == v1.TaintNodeOutOfService })
}

// oldestFirst sorts pods by age, after those that their node has evicted.
// Upstream: gc_controller.go byEvictionAndCreationTimestamp, v1.37.
func oldestFirst(pods []*v1.Pod) []*v1.Pod {
	evicted := func(pod *v1.Pod) int {
		if pod.Status.Phase == v1.PodFailed && pod.Status.Reason == "Evicted" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(evicted(a), evicted(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return pods
}

// gcOrphaned deletes pods whose node is missing. It first waits for quarantineTime, and then asks the API server, since the
// cache may be behind.
// Upstream: gc_controller.go gcOrphaned and discoverDeletedNodes, v1.37.
func (c *controller) gcOrphaned(ctx context.Context, pods []*v1.Pod) {
	if len(pods) == 0 && len(c.missing) == 0 {
		return
	}
	now := c.env.Now()
	names := map[string]bool{}
	for _, pod := range pods {
		names[pod.Spec.NodeName] = true
	}
	gone := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at, waits := c.missing[name]
		if waits && now.Before(at) {
			continue
		}
		c.missing[name] = now.Add(quarantineTime)
		gone[name] = waits && !c.nodeExists(ctx, name)
	}
	maps.DeleteFunc(c.missing, func(name string, _ time.Time) bool { return !names[name] })
	for _, pod := range pods {
		if gone[pod.Spec.NodeName] {
			c.deleteAll(ctx, []*v1.Pod{pod}, &v1.PodCondition{
				Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists",
			})
		}
	}
}

// nodeExists asks the API server for a node. It returns true if there is no answer.
// Upstream: gc_controller.go checkIfNodeExists, v1.37.
func (c *controller) nodeExists(ctx context.Context, name string) bool {
	_, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	return !apierrors.IsNotFound(err)
}

// deleteAll sets pods that have not ended to Failed, and deletes them.
// Upstream: gc_controller.go markFailedAndDeletePodWithCondition, v1.37.
func (c *controller) deleteAll(ctx context.Context, pods []*v1.Pod, why *v1.PodCondition) {
	for _, pod := range pods {
		if !ended(pod) {
			change := podstatus.Change{Phase: v1.PodFailed, Condition: why}
			if podstatus.Patch(ctx, c.client, pod, change, metav1.NewTime(c.env.Now())) != nil {
				continue
			}
		}
		// A failed deletion is repeated in the next round.
		_ = c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))
	}
}
