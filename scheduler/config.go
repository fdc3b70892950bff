package scheduler

import (
	"cmp"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Config configures the scheduler. The zero value is upstream's defaults.
type Config struct {
	// SchedulerName: only pods with this spec.schedulerName are scheduled;
	// default "default-scheduler". It is also the component of its events.
	SchedulerName string
	// BindTimeout is the time that PreBind waits for a pod's volumes to be bound;
	// default 600 s. Upstream: bindTimeoutSeconds of VolumeBinding.
	BindTimeout time.Duration
	// InitialBackoff and MaxBackoff bound the time before a pod is tried again;
	// it doubles with each failure. Defaults 1 s and 10 s.
	// Upstream: podInitialBackoffSeconds, podMaxBackoffSeconds.
	InitialBackoff, MaxBackoff time.Duration
	// MaxUnschedulable is the time that an unschedulable pod waits at most for an
	// event that could help before it is tried anyway; default 5 min.
	// Upstream: podMaxInUnschedulablePodsDuration.
	MaxUnschedulable time.Duration
	// PercentageOfNodesToScore is after how many nodes that fit, in percent of all, the
	// search for nodes ends, but not before 100 of them: 1 to 100, or 0 for what upstream
	// does by default, which is 50 less 1 for every 125 nodes, and at least 5.
	PercentageOfNodesToScore int
	// WaitByUID ends the wait of PreBind for a pod's volumes once the pod has been deleted and made anew under its
	// name, and leaves the new pod's status alone. Upstream, and so the default, goes by the name: the wait goes on, the
	// binding fails by its UID, and if the new pod has got a node meanwhile, the failure is written into its status.
	WaitByUID bool
	// SeeClaims makes the scheduler look at the API, before it binds a pod, whether a claim of the pod that it takes for bound is there.
	// Default false, as upstream: its cache may still show the claim of that name that was deleted. Then the pod gets a node, and the
	// new claim, which waits for a scheduler, never a volume. It needs ClaimUID.
	SeeClaims bool
	// ClaimUID returns the UID of a claim in the API now, "" if there is none. A Cluster sets it.
	ClaimUID func(namespace, name string) types.UID
	// Late lets a scheduling cycle take a moment, by choice, between the choice of a pod's volumes and Reserve, as a cycle does on a cluster:
	// the pod is turned down with an error if a volume or claim has changed meanwhile. Default false: a cycle takes no time.
	Late bool
	// Decide chooses the volumes of a pod; default: each attempt looks for them. Upstream's versions
	// before 1.14 could use what they had found for an earlier attempt (kubernetes/kubernetes 71212).
	Decide Decide
}

// Decide returns the volumes that a pod gets on a node. find looks for them in the caches.
type Decide func(pod *v1.Pod, node string, find func() (*PodVolumes, error)) (*PodVolumes, error)

// Name returns the SchedulerName, or its default.
func (cfg Config) Name() string { return cmp.Or(cfg.SchedulerName, v1.DefaultSchedulerName) }

func (cfg Config) decide() Decide {
	if cfg.Decide != nil {
		return cfg.Decide
	}
	return func(_ *v1.Pod, _ string, find func() (*PodVolumes, error)) (*PodVolumes, error) { return find() }
}

// flushPeriod is the interval between looks for pods that have waited too long.
// Upstream: scheduler/backend/queue PriorityQueue.Run, v1.37.
const flushPeriod = 30 * time.Second

func (cfg Config) withDefaults() (Config, error) {
	cfg.SchedulerName = cfg.Name()
	for _, d := range []struct {
		field    string
		value    *time.Duration
		standard time.Duration
	}{
		{"BindTimeout", &cfg.BindTimeout, 600 * time.Second},
		{"InitialBackoff", &cfg.InitialBackoff, time.Second},
		{"MaxBackoff", &cfg.MaxBackoff, 10 * time.Second},
		{"MaxUnschedulable", &cfg.MaxUnschedulable, 5 * time.Minute},
	} {
		if *d.value < 0 {
			return cfg, fmt.Errorf("scheduler.Config.%s: %s is negative; it must be positive, or 0 for the default %s", d.field, *d.value, d.standard)
		}
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	if p := cfg.PercentageOfNodesToScore; p < 0 || p > 100 {
		return cfg, fmt.Errorf("scheduler.Config.PercentageOfNodesToScore: %d is not a percentage; it must be 1 to 100, or 0 to choose by the number of nodes", p)
	}
	if cfg.MaxBackoff < cfg.InitialBackoff {
		return cfg, fmt.Errorf("scheduler.Config.MaxBackoff: %s is less than InitialBackoff, %s", cfg.MaxBackoff, cfg.InitialBackoff)
	}
	return cfg, nil
}
