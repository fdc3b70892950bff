package scheduler

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
)

// scheduler is one scheduler's memory.
type scheduler struct {
	cfg      Config
	env      control.Env
	recorder control.EventRecorder
	caches   *caches
	cluster  *clusterState
	// nominator keeps places for pods that wait for their victims to end.
	nominator nominator
	queue     *schedulingQueue
	plugins   framework
	// inPreBind has, by UID, the pods whose volumes are being bound.
	inPreBind map[types.UID]*podInPreBind
	// feasible, best and refused are the nodes of the cycle under way, kept for their
	// memory: there may be thousands.
	feasible, best []*nodeInfo
	totals, scores []int64
	refused        []nodeVerdict
	// nextStartNodeIndex is the index, in clusterState.list, at which the next search for nodes
	// begins.
	nextStartNodeIndex int
}

// ActorName is the usual name of the scheduler's actor.
const ActorName = "kube-scheduler"

// New makes the scheduler.
// An impossible Config is reported by the Factory.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		cfg, err := cfg.withDefaults()
		if err != nil {
			return err
		}
		s := newScheduler(cfg, env)
		s.recorder = env.EventRecorder(cfg.SchedulerName)
		s.queue = newSchedulingQueue(cfg, env, buildQueueingHintMap(s.plugins), s.podOf)
		s.queue.gated = s.isPreempting
		s.queue.line = env.Queue(control.QueueConfig{Name: "pods", About: control.KeysOf("Pod"), Reconcile: s.scheduleOne})
		s.addAllEventHandlers()
		env.Every("flush unschedulable pods", flushPeriod, func(context.Context) { s.queue.flush() })
		return nil
	}
}

// newScheduler makes what decides: caches, state and plugins.
func newScheduler(cfg Config, env control.Env) *scheduler {
	caches := newCaches(env)
	s := &scheduler{cfg: cfg, env: env, caches: caches, cluster: newClusterState(), inPreBind: map[types.UID]*podInPreBind{}}
	s.plugins = newFramework(
		nodeUnschedulable{},
		taintToleration{},
		nodeAffinity{},
		nodePorts{},
		resourcesFit{},
		volumeRestrictions{claims: caches.claims, cluster: s.cluster},
		nodeVolumeLimits{caches},
		volumeBinding{newVolumeBinder(env, caches, cfg), cfg.decide()},
		volumeZone{claims: caches.claims, volumes: caches.volumes},
		topologySpread{caches, s.cluster},
		interPodAffinity{caches, s.cluster},
		balancedAllocation{},
		defaultBinder{env},
	)
	return s
}

// knownPod returns a pod as last heard of. Of a pod that has ended the scheduler hears that it is gone.
// Upstream: scheduler.go newPodInformer, v1.37.
func knownPod(pods *control.Cache[*v1.Pod], key string) (*v1.Pod, bool) {
	pod, ok := pods.Get(key)
	return pod, ok && !ended(pod)
}

// podOf returns the pod of a queue entry as last heard of, nil if it is gone.
func (s *scheduler) podOf(entry *queuedPod) *v1.Pod {
	if pod, ok := knownPod(s.caches.pods, entry.key); ok && pod.UID == entry.uid {
		return pod
	}
	return nil
}

// scheduleOne places the pod whose turn it is. The scheduling cycle (which node) runs through
// without a pause, unless Config.Late; the binding cycle (make it so) is a task of its own, beside
// the scheduling of later pods.
// Upstream: schedule_one.go ScheduleOne, v1.37.
func (s *scheduler) scheduleOne(ctx context.Context, _ string) error {
	entry, ok := s.queue.pop()
	if !ok {
		return nil
	}
	pod := s.podOf(entry)
	if pod == nil || s.skipPodSchedule(pod) {
		s.queue.done(entry)
		return nil
	}
	c := newCycle(pod, entry)
	if st := s.schedulingCycle(ctx, c); st.stops() {
		s.handleSchedulingFailure(ctx, c, st)
		return nil
	}
	s.env.Go("bind "+entry.key, func(ctx context.Context) { s.bindingCycle(ctx, c) })
	return nil
}

// skipPodSchedule: a pod that is being deleted needs no node.
// Upstream: schedule_one.go skipPodSchedule, v1.37.
func (s *scheduler) skipPodSchedule(pod *v1.Pod) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	s.recorder.Eventf(pod, nil, v1.EventTypeWarning, "FailedScheduling", "Scheduling", "skip schedule deleting pod: %s/%s", pod.Namespace, pod.Name)
	return true
}

// schedulingCycle chooses a node and reserves what the pod needs there, all in
// memory.
// Upstream: schedule_one.go schedulingCycle, schedulePod, v1.37.
func (s *scheduler) schedulingCycle(ctx context.Context, c *cycle) *status {
	c.diagnosis.total = s.caches.nodes.Len()
	if c.diagnosis.total == 0 {
		return refuse(unresolvable, "no nodes available to schedule pods")
	}
	if st := s.plugins.runPreFilterPlugins(c); st.stops() {
		c.diagnosis.preFilter = st
		return c.diagnosis.fitError()
	}
	feasible, st := s.findNodesThatFitPod(c)
	if st.stops() {
		return st
	}
	if len(feasible) == 0 {
		c.preemption = s.preempt(c)
		c.diagnosis.postFilter = "preemption: " + c.preemption.message
		return c.diagnosis.fitError()
	}
	if st := s.plugins.runPreScorePlugins(c, feasible); st.stops() {
		return st
	}
	node, equals := s.selectHost(c, feasible)
	c.node = node
	s.traceChoice(c, feasible, equals)
	c.diagnosis.nodes = nil // told, and its memory is the next cycle's
	if err := s.late(ctx, c); err != nil {
		return asStatus(err)
	}
	s.cluster.assume(c.pod, node)
	s.nominator.nominate(c.pod, "")
	if st := s.plugins.runReservePlugins(c); st.stops() {
		s.giveBack(c)
		return st
	}
	return nil
}

// cycleTime is about how long a cycle takes between Filter and Reserve.
const cycleTime = time.Millisecond

// late lets others do something, by choice, after volumes have been chosen and before Reserve takes them. A claim or volume that has changed
// meanwhile ends the cycle with an error (assumeCache.Assume).
func (s *scheduler) late(ctx context.Context, c *cycle) error {
	if !s.cfg.Late || c.volumes.onNode == nil || s.env.Choose(4) != 3 {
		return nil
	}
	return s.env.Sleep(ctx, cycleTime)
}

// giveBack undoes Reserve and assume, in memory. It says false of a pod that was seen
// bound after all: that one counts.
// Upstream: schedule_one.go unreserveAndForget, v1.37.
func (s *scheduler) giveBack(c *cycle) bool {
	s.plugins.runUnreservePlugins(c)
	if _, placed := s.cluster.placed[c.pod.UID]; placed && !s.cluster.isAssumed(c.pod.UID) {
		return false
	}
	s.cluster.forget(c.pod.UID)
	return true
}
