package scheduler

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// code is a plugin's verdict. Upstream: framework.Code, v1.37.
type code int

const (
	success code = iota
	// failed is an error of the scheduler's own work; the pod is tried again
	// after a backoff.
	failed
	// unschedulable: the pod does not fit now; evicting a pod might help.
	unschedulable
	// unresolvable: the pod does not fit, and evicting pods cannot help.
	// Upstream: UnschedulableAndUnresolvable.
	unresolvable
	// skip: the plugin has nothing to do for this pod in the coupled phase
	// (Filter after PreFilter, PreBind after PreBindPreFlight).
	skip
)

// status is a verdict with its reasons. nil is success.
// Upstream: framework.Status, v1.37.
type status struct {
	code    code
	reasons []string
	plugin  string // who judged
	err     error  // set when code is failed
}

func refuse(c code, reasons ...string) *status { return &status{code: c, reasons: reasons} }

func asStatus(err error) *status {
	if err == nil {
		return nil
	}
	return &status{code: failed, err: err}
}

func (s *status) is(c code) bool {
	if s == nil {
		return c == success
	}
	return s.code == c
}

// rejected says that the pod was turned down, as opposed to an error.
func (s *status) rejected() bool { return s.is(unschedulable) || s.is(unresolvable) }

// stops says that the phase ends here.
func (s *status) stops() bool { return !s.is(success) && !s.is(skip) }

func (s *status) message() string {
	switch {
	case s == nil:
		return ""
	case s.err != nil:
		return s.err.Error()
	}
	return strings.Join(s.reasons, ", ")
}

// from marks who judged, and says in an error where it happened.
func (s *status) from(plugin, where string) *status {
	if s == nil {
		return nil
	}
	s.plugin = plugin
	if s.err != nil {
		s.err = fmt.Errorf("running %s: %w", where, s.err)
	}
	return s
}

// cycle is one attempt to place one pod: what the phases hand to each other.
// Upstream: framework.CycleState with one typed entry per plugin, v1.37.
type cycle struct {
	pod   *v1.Pod
	entry *queuedPod
	node  string // chosen; "" until Score
	// nominated is the node last written to the pod's status by this cycle.
	nominated string
	skipped   map[string]bool // plugins whose Filter PreFilter has made needless
	unscored  map[string]bool // plugins whose Score PreScore has made needless

	// nodeNames, if not nil, are the only nodes to look at: NodeAffinity's by name.
	nodeNames map[string]bool

	request    resources   // NodeResourcesFit
	ports      []hostPort  // NodePorts
	rwopClaims []string    // VolumeRestrictions: ReadWriteOncePod claims that another pod uses
	attach     []csiVolume // NodeVolumeLimits: what the pod needs attached
	installed  []string    // NodeVolumeLimits: the CSI drivers that the node must have
	volumes    volumeState // VolumeBinding
	zones      []zoneLabel // VolumeZone: where the pod's volumes are
	// spread and spreadScore are PodTopologySpread's, for Filter and Score; ownSpread says that
	// the latter are the pod's own.
	spread, spreadScore []*spreadConstraint
	ownSpread           bool
	// interPod and interPodScores are InterPodAffinity's, for Filter and Score.
	interPod       interPodState
	interPodScores termCounts
	diagnosis      diagnosis // why nodes were passed over
	// preemption holds the result of the search for victims, if there was one.
	preemption preemption
	inPreBind  *podInPreBind // nil until PreBind plugins are at work
}

func newCycle(pod *v1.Pod, entry *queuedPod) *cycle {
	return &cycle{pod: pod, entry: entry, skipped: map[string]bool{}, unscored: map[string]bool{}}
}

// plugin is one concern of the scheduler. It joins the phases whose interface
// it implements.
type plugin interface {
	// Name is upstream's name of the plugin.
	Name() string
	// EventsToRegister are the events that could make a pod schedulable that this
	// plugin turned down.
	EventsToRegister() []registration
}

// preFilterPlugin looks at the pod alone, before any node.
type preFilterPlugin interface {
	plugin
	PreFilter(c *cycle) *status
}

// filterPlugin judges one node. It writes nothing, neither to the API nor to
// any cache.
type filterPlugin interface {
	plugin
	Filter(c *cycle, node *nodeInfo) *status
}

// preScorePlugin looks at the pod once more when there is more than one node to
// choose from. A plugin that returns skip has no preference and is not asked for scores.
type preScorePlugin interface {
	plugin
	PreScore(c *cycle, feasible []*nodeInfo) *status
}

// scorePlugin rates a node that passed the filters: 0 to maxNodeScore, unless it is a
// normalizer.
type scorePlugin interface {
	plugin
	Score(c *cycle, node *nodeInfo) int64
	Weight() int64
}

// normalizer is a scorePlugin that brings its scores of all nodes to 0 to maxNodeScore.
// Upstream: framework.ScoreExtensions.
type normalizer interface {
	NormalizeScore(scores []int64)
}

// reservePlugin claims what the pod needs on the chosen node in memory, and
// gives it back.
type reservePlugin interface {
	plugin
	Reserve(c *cycle, node string) *status
	Unreserve(c *cycle, node string)
}

// preBindPlugin does what must be done in the API before the pod is bound. It
// may take long.
type preBindPlugin interface {
	plugin
	// PreBindPreFlight returns skip when there is nothing to do.
	PreBindPreFlight(c *cycle, node string) *status
	PreBind(ctx context.Context, c *cycle, node string) *status
}

// bindPlugin binds the pod to the node.
type bindPlugin interface {
	plugin
	Bind(ctx context.Context, c *cycle, node string) *status
}

// framework has the plugins, in upstream's order: all of them, and those that take part in each phase. The phases, one file
// each, walk them.
type framework struct {
	all       []plugin
	preFilter []preFilterPlugin
	filter    []filterPlugin
	preScore  []preScorePlugin
	score     []scorePlugin
	reserve   []reservePlugin
	preBind   []preBindPlugin
	bind      []bindPlugin
}

func newFramework(plugins ...plugin) framework {
	return framework{
		plugins, of[preFilterPlugin](plugins), of[filterPlugin](plugins), of[preScorePlugin](plugins), of[scorePlugin](plugins), of[reservePlugin](plugins),
		of[preBindPlugin](plugins), of[bindPlugin](plugins),
	}
}

// of returns the plugins that take part in a phase.
func of[P plugin](plugins []plugin) []P {
	var list []P
	for _, p := range plugins {
		if p, ok := p.(P); ok {
			list = append(list, p)
		}
	}
	return list
}
