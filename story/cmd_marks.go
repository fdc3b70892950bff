package story

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/tables"
)

func marking(f *pflag.FlagSet) {
	f.StringP("namespace", "n", "", "")
	f.Bool("overwrite", false, "")
}

func label(c *call) error {
	return c.mark("labels", "label", metav1.Object.GetLabels)
}

func annotate(c *call) error {
	return c.mark("annotations", "annotat", metav1.Object.GetAnnotations)
}

// mark sets and removes labels or annotations. Objects come first, then
// KEY=VALUE and KEY-.
func (c *call) mark(field, verb string, current func(metav1.Object) map[string]string) error {
	at := slices.IndexFunc(c.args, func(arg string) bool { return strings.Contains(arg, "=") || strings.HasSuffix(arg, "-") })
	if at < 0 {
		return c.misuse("expected KEY=VALUE or KEY-")
	}
	refs, err := c.refs(c.args[:at])
	if err != nil {
		return err
	}
	changes := map[string]any{}
	for _, arg := range c.args[at:] {
		key, value, set := strings.Cut(arg, "=")
		switch {
		case set:
			changes[key] = value
		case strings.HasSuffix(arg, "-"):
			changes[strings.TrimSuffix(arg, "-")] = nil
		default:
			return c.misuse("%q is neither KEY=VALUE nor KEY-", arg)
		}
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{field: changes}})
	if err != nil {
		return err
	}
	var errs []error
	for _, ref := range refs {
		errs = append(errs, c.markOne(ref, verb, changes, data, current))
	}
	return errors.Join(errs...)
}

func (c *call) markOne(ref tables.Ref, verb string, changes map[string]any, data []byte, current func(metav1.Object) map[string]string) error {
	obj, err := c.get(ref)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		if old, there := current(obj)[key]; there && changes[key] != nil && changes[key] != old && !c.on("overwrite") {
			return fmt.Errorf("'%s' already has a value (%s), and --overwrite is false", key, old)
		}
	}
	changed, err := c.patch(ref, types.MergePatchType, data, "")
	done := verb + "ed"
	switch {
	case err != nil:
		return err
	case !changed:
		done = "not " + done
	case !slices.ContainsFunc(slices.Collect(maps.Values(changes)), func(v any) bool { return v != nil }):
		done = "un" + done
	}
	c.say("%s %s", ref.Qualified(), done)
	return nil
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
