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
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim/internal/tables"
)

func marking(f *pflag.FlagSet) {
	choosing(f)
	f.Bool("overwrite", false, "")
}

// marks are labels or annotations, which label and annotate set.
type marks struct {
	field   string // of metadata
	current func(metav1.Object) map[string]string
	// check refuses what cannot be set, whatever the object has.
	check func(set map[string]string, removed []string) error
	// differ refuses to change values; each old one is in the words of kubectl.
	differ func(old []string) error
	// done tells what became of the object.
	done func(added, removed int) string
}

func label(c *call) error {
	return c.mark(marks{"labels", metav1.Object.GetLabels, checkLabels, differLabels, labelled})
}

func annotate(c *call) error {
	return c.mark(marks{"annotations", metav1.Object.GetAnnotations, checkAnnotations, differAnnotations, func(int, int) string { return "annotated" }})
}

// checkLabels refuses labels that cannot be valid, and a label that is set and removed.
// Upstream: kubectl cmd/label/label.go parseLabels, v0.37.2.
func checkLabels(set map[string]string, removed []string) error {
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if wrong := validation.IsValidLabelValue(set[key]); len(wrong) > 0 {
			return fmt.Errorf("invalid label value: %q: %s", key+"="+set[key], strings.Join(wrong, ";"))
		}
	}
	for _, key := range removed {
		if _, both := set[key]; both {
			return errors.New("can not both modify and remove a label in the same command")
		}
	}
	return nil
}

// checkAnnotations refuses annotations that are set and removed.
// Upstream: kubectl cmd/annotate/annotate.go validateAnnotations, v0.37.2.
func checkAnnotations(set map[string]string, removed []string) error {
	removed = slices.DeleteFunc(slices.Clone(removed), func(key string) bool { _, both := set[key]; return !both })
	if len(removed) == 0 {
		return nil
	}
	return fmt.Errorf("can not both modify and remove the following annotation(s) in the same command: %s", strings.Join(removed, ", "))
}

// differLabels refuses to change labels.
// Upstream: kubectl cmd/label/label.go validateNoOverwrites, v0.37.2.
func differLabels(old []string) error {
	for i := range old {
		old[i] += ", and --overwrite is false"
	}
	if len(old) == 1 {
		return errors.New(old[0])
	}
	return plainError(strings.Join(old, "\n"))
}

// differAnnotations refuses to change annotations.
// Upstream: kubectl cmd/annotate/annotate.go validateNoAnnotationOverwrites, v0.37.2.
func differAnnotations(old []string) error {
	return fmt.Errorf("--overwrite is false but found the following declared annotation(s): %s", strings.Join(old, "; "))
}

// labelled tells what became of an object's labels.
// Upstream: kubectl cmd/label/label.go updateDataChangeMsg, v0.37.2.
func labelled(added, removed int) string {
	switch {
	case added > 0 && removed > 0:
		return "modified"
	case added > 0:
		return "labeled"
	case removed > 0:
		return "unlabeled"
	}
	return "not labeled"
}

// mark sets and removes labels or annotations. Objects come first, then
// KEY=VALUE and KEY-.
func (c *call) mark(m marks) error {
	at := slices.IndexFunc(c.args, func(arg string) bool { return strings.Contains(arg, "=") || strings.HasSuffix(arg, "-") })
	if at < 0 {
		return c.misuse("expected KEY=VALUE or KEY-")
	}
	refs, err := c.chosen(c.args[:at])
	if err != nil {
		return err
	}
	set, removed := map[string]string{}, []string(nil)
	for _, arg := range c.args[at:] {
		key, value, sets := strings.Cut(arg, "=")
		switch {
		case sets:
			set[key] = value
		case strings.HasSuffix(arg, "-"):
			removed = append(removed, strings.TrimSuffix(arg, "-"))
		default:
			return c.misuse("%q is neither KEY=VALUE nor KEY-", arg)
		}
	}
	if err := m.check(set, removed); err != nil {
		return err
	}
	var errs []error
	for _, ref := range refs {
		errs = append(errs, c.markOne(ref, m, set, removed))
	}
	return errors.Join(errs...)
}

// markOne marks an object. As kubectl, it sends what differs, and of labels nothing if nothing does.
// Upstream: kubectl cmd/label/label.go RunLabel and cmd/annotate/annotate.go RunAnnotate, v0.37.2.
func (c *call) markOne(ref tables.Ref, m marks, set map[string]string, removed []string) error {
	obj, err := c.get(ref)
	if err != nil {
		return err
	}
	was := m.current(obj)
	changes, old, gone := map[string]any{}, []string(nil), 0
	for _, key := range slices.Sorted(maps.Keys(set)) {
		value, there := was[key]
		if there && value == set[key] {
			continue
		}
		changes[key] = set[key]
		if there && (m.field == "labels" || key != changeCause) {
			old = append(old, fmt.Sprintf("'%s' already has a value (%s)", key, value))
		}
	}
	for _, key := range removed {
		if _, there := was[key]; there {
			changes[key] = nil
			gone++
		} else if m.field == "labels" {
			c.say("label %q not found.", key)
		}
	}
	if len(old) > 0 && !c.on("overwrite") {
		return m.differ(old)
	}
	if len(changes) > 0 || m.field == "annotations" {
		data, err := json.Marshal(map[string]any{"metadata": map[string]any{m.field: changes}})
		if err != nil {
			return err
		}
		if _, err := c.patch(ref, types.MergePatchType, data, ""); err != nil {
			return err
		}
	}
	c.say("%s %s", ref.Qualified(), m.done(len(changes)-gone, gone))
	return nil
}

// changeCause is the annotation that kubectl always lets change. As a label it is one as any other.
const changeCause = "kubernetes.io/change-cause"
