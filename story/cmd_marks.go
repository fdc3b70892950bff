package story

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
