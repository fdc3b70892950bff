package story

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/drain"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/tables"
)

func nodeCommands() []*command {
	return []*command{
		{name: "cordon", usage: "cordon NODE...", help: "let no new pods onto nodes", run: func(c *call) error { return c.cordon(true) }},
		{name: "uncordon", usage: "uncordon NODE...", help: "let pods onto nodes again", run: func(c *call) error { return c.cordon(false) }},
		{
			name: "drain", usage: "drain NODE [--ignore-daemonsets] [--delete-emptydir-data] [--force] [--grace-period SECONDS] [--timeout TIME]", run: drainNode,
			help: "cordon a node and evict its pods\n" +
				"No time passes, unless --timeout says for how long to wait at most until the pods are gone. Then pods that a\n" +
				"PodDisruptionBudget keeps are evicted again every 5s, as kubectl does.\n" +
				"If one of the pods may not be evicted, none is: pods of DaemonSets stay only with --ignore-daemonsets, those with\n" +
				"emptyDir volumes go only with --delete-emptydir-data, those without a controller only with --force.",
			flags: func(f *pflag.FlagSet) {
				f.Bool("ignore-daemonsets", false, "")
				f.Bool("delete-emptydir-data", false, "")
				f.Bool("force", false, "")
				f.Int64("grace-period", -1, "")
				f.String("timeout", "0s", "")
			},
		},
		{name: "taint", usage: "taint NODE KEY[=VALUE]:EFFECT... KEY[:EFFECT]-...", help: "add taints to a node, or remove them (KEY-)", run: taint},
		{
			name: "stop", usage: "stop ACTOR|node/NAME", run: stop,
			help: "end an actor's process until start, or switch a machine off\n" +
				"stop kubelet/node-1 ends the kubelet: the node's containers run on, its mounts stay, and nothing reports it.\n" +
				"stop node/node-1 switches the machine off: kubelet and CSI driver stop, containers end, mounts are gone, the disk stays.",
		},
		{name: "start", usage: "start ACTOR|node/NAME", help: "start what stop has ended, without its memory", run: start},
	}
}

func stop(c *call) error { return c.power(c.cluster.Stop, "is stopped", "is switched off") }

func start(c *call) error { return c.power(c.cluster.Start, "starts again", "is switched on") }

// power stops or starts an actor or a machine.
func (c *call) power(do func(string) error, actor, machine string) error {
	if len(c.args) == 0 {
		return c.misuse("nothing is named%s", prose.OneOf("", c.powered()))
	}
	if err := c.want(1, 1); err != nil {
		return err
	}
	name, done := c.args[0], actor
	if strings.HasPrefix(name, "node/") {
		done = machine
	}
	if !slices.Contains(c.powered(), name) {
		return c.misuse("%q is neither an actor nor a node%s", name, prose.OneOf(name, c.powered()))
	}
	if err := do(name); err != nil {
		return err
	}
	c.say("%s %s", name, done)
	return nil
}

// powered returns the names that stop and start take. Nodes come first, so that node-1 is taken for a machine rather than for its kubelet.
func (c *call) powered() []string {
	nodes := slices.DeleteFunc(c.cluster.Lab().Machines(), func(name string) bool { return !strings.HasPrefix(name, "node/") })
	return append(nodes, c.cluster.Engine().Actors()...)
}

func drainNode(c *call) error {
	if err := c.want(1, 1); err != nil {
		return err
	}
	ref, node, err := c.node(c.args[0])
	if err != nil {
		return err
	}
	o, timeout, err := c.drainOptions()
	if err != nil {
		return err
	}
	pods, err := c.podsOf(ref.Name)
	if err != nil {
		return err
	}
	done, err := drain.Node(context.Background(), c.cluster.Client(), ref.Name, o)
	c.say("%s %s", ref.Qualified(), map[bool]string{false: "cordoned", true: "already cordoned"}[node.Spec.Unschedulable])
	if err != nil && len(done.Evicted)+len(done.Refused) == 0 {
		return fmt.Errorf("unable to drain node %q due to error: %w", ref.Name, err)
	}
	for _, warning := range done.Warnings {
		c.say("Warning: %s", warning)
	}
	for _, pod := range done.Evicted {
		c.say("evicting pod %s", pod)
	}
	for _, refused := range done.Refused {
		c.say("evicting pod %s/%s", refused.Pod.Namespace, refused.Pod.Name)
	}
	switch {
	case err != nil:
		return err
	case timeout == 0:
		return done.Err()
	}
	evicted, err := c.waitForDelete(o, podsNamed(pods, done.Evicted), done.Refused, timeout)
	if err != nil {
		return fmt.Errorf("unable to drain node %q due to error: %w", ref.Name, err)
	}
	for _, pod := range evicted {
		c.say("pod/%s evicted", pod.Name)
	}
	c.say("%s drained", ref.Qualified())
	return nil
}

// drainOptions returns the flags of drain.
func (c *call) drainOptions() (o drain.Options, timeout time.Duration, err error) {
	o = drain.Options{Force: c.on("force"), IgnoreDaemonSets: c.on("ignore-daemonsets"), DeleteEmptyDirData: c.on("delete-emptydir-data")}
	grace, err := c.flags.GetInt64("grace-period")
	switch {
	case err != nil:
		return o, 0, err
	case grace >= 0:
		o.GracePeriod = &grace
	case grace < -1:
		return o, 0, c.misuse("grace-period: %d; expected seconds, at least 0, or -1 for the pods' own", grace)
	}
	timeout, err = c.duration("timeout", c.flag("timeout"))
	return o, timeout, err
}

// node reads a node's name.
func (c *call) node(name string) (tables.Ref, *v1.Node, error) {
	refs, err := tables.ParseRefs(c.kinds(), "", "node/"+strings.TrimPrefix(name, "node/"))
	if err != nil {
		return tables.Ref{}, nil, misuse{err}
	}
	obj, err := c.get(refs[0])
	if err != nil {
		return refs[0], nil, err
	}
	return refs[0], obj.(*v1.Node), nil
}

func (c *call) cordon(on bool) error {
	if err := c.want(1, -1); err != nil {
		return err
	}
	word := map[bool]string{true: "cordoned", false: "uncordoned"}[on]
	for _, name := range c.args {
		ref, _, err := c.node(name)
		if err != nil {
			return err
		}
		var value any
		if on {
			value = true
		}
		data, err := json.Marshal(map[string]any{"spec": map[string]any{"unschedulable": value}})
		if err != nil {
			return err
		}
		changed, err := c.patch(ref, types.StrategicMergePatchType, data, "")
		switch {
		case err != nil:
			return err
		case changed:
			c.say("%s %s", ref.Qualified(), word)
		default:
			c.say("%s already %s", ref.Qualified(), word)
		}
	}
	return nil
}

func taint(c *call) error {
	if len(c.args) > 0 && slices.Contains([]string{"node", "nodes", "no"}, c.args[0]) {
		c.args = c.args[1:]
	}
	if err := c.want(2, -1); err != nil {
		return err
	}
	ref, node, err := c.node(c.args[0])
	if err != nil {
		return err
	}
	taints, word := node.Spec.Taints, "untainted"
	for _, arg := range c.args[1:] {
		t, removed, err := parseTaint(arg)
		if err != nil {
			return misuse{err}
		}
		before := len(taints)
		taints = slices.DeleteFunc(slices.Clone(taints), func(old v1.Taint) bool {
			return old.Key == t.Key && (t.Effect == "" || old.Effect == t.Effect)
		})
		if removed && len(taints) == before {
			return fmt.Errorf("taint %q not found", strings.TrimSuffix(arg, "-"))
		}
		if !removed {
			taints, word = append(taints, t), "tainted"
		}
	}
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": taints}})
	if err != nil {
		return err
	}
	if _, err := c.patch(ref, types.MergePatchType, data, ""); err != nil {
		return err
	}
	c.say("%s %s", ref.Qualified(), word)
	return nil
}

// parseTaint reads KEY[=VALUE]:EFFECT, or KEY[:EFFECT]- for removal.
func parseTaint(text string) (t v1.Taint, removed bool, err error) {
	text, removed = strings.CutSuffix(text, "-")
	spec, effect, hasEffect := strings.Cut(text, ":")
	t.Key, t.Value, _ = strings.Cut(spec, "=")
	t.Effect = v1.TaintEffect(effect)
	effects := []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute}
	switch {
	case t.Key == "":
		return t, removed, fmt.Errorf("%q has no key; expected KEY[=VALUE]:EFFECT", text)
	case !hasEffect && removed:
		return t, removed, nil
	case !hasEffect:
		return t, removed, fmt.Errorf("%q has no effect; expected KEY[=VALUE]:EFFECT", text)
	case !slices.Contains(effects, t.Effect):
		return t, removed, fmt.Errorf("%q is not an effect%s", effect, prose.OneOf(effect, effects))
	}
	return t, removed, nil
}
