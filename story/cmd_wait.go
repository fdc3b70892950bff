package story

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/tables"
)

func waitCommand() *command {
	return &command{
		name: "wait",
		usage: "wait TYPE/NAME... | TYPE NAME... | TYPE --all|-l SELECTOR [-A] | -f FILE|DIRECTORY " +
			"--for create|delete|condition=NAME[=VALUE]|jsonpath={PATH}[=VALUE] [--timeout TIME] [-n NAMESPACE]",
		run: wait,
		help: "let virtual time pass until objects are as it says, one after the other, as kubectl wait does, and tell what happens meanwhile\n" +
			"--for may be repeated. It waits for at most --timeout, 30s if not given; with 0s it only looks.",
		flags: func(f *pflag.FlagSet) {
			choosing(f)
			files(f)
			f.StringArray("for", nil, "")
			f.Duration("timeout", 30*time.Second, "")
		},
	}
}

// condition is one --for. met reports whether an object is as it says; fields is nil if there is no such object.
type condition struct {
	text string
	met  func(fields map[string]any) (bool, error)
}

// Upstream: kubectl pkg/cmd/wait/wait.go WaitOptions.RunWaitContext, v0.37.2.
func wait(c *call) error {
	conditions, err := c.conditions()
	if err != nil {
		return err
	}
	timeout, err := c.flags.GetDuration("timeout")
	if err != nil {
		return err
	}
	if timeout < 0 {
		timeout = 7 * 24 * time.Hour
	}
	w := waiting{call: c, end: c.cluster.Now().Add(timeout), once: timeout == 0}
	asked := func(text string) bool {
		return slices.ContainsFunc(conditions, func(one condition) bool { return one.text == text })
	}
	var met []string
	err = c.advance(nil, func() error {
		refs, err := w.refs(asked("create"))
		if err != nil {
			return err
		}
		if len(refs) == 0 && !asked("delete") {
			return errors.New("no matching resources found")
		}
		for _, ref := range refs {
			there, err := w.isThere(ref)
			switch {
			case apierrors.IsNotFound(err) && asked("delete"):
				continue
			case err != nil:
				return err
			}
			for _, one := range conditions {
				if err := w.until(ref, there, one); err != nil {
					return err
				}
				met = append(met, ref.Qualified())
			}
		}
		return nil
	})
	for _, name := range met {
		c.say("%s condition met", name)
	}
	return err
}

// forms names the values of --for.
const forms = "create, delete, condition=NAME or jsonpath={PATH}=VALUE"

// conditions reads --for.
//
// Upstream: kubectl pkg/cmd/wait/wait.go conditionFuncsFor, v0.37.2.
func (c *call) conditions() (list []condition, err error) {
	texts, err := c.flags.GetStringArray("for")
	if err != nil {
		return nil, err
	}
	if len(texts) == 0 {
		return nil, c.misuse("expected --for " + forms)
	}
	for _, text := range texts {
		one := condition{text: strings.ToLower(text)}
		name, isCondition := strings.CutPrefix(text, "condition=")
		path, isPath := strings.CutPrefix(text, "jsonpath=")
		switch {
		case one.text == "delete":
			one.met = func(fields map[string]any) (bool, error) { return fields == nil, nil }
		case one.text == "create":
			one.met = func(map[string]any) (bool, error) { return true, nil }
		case isCondition:
			name, value, given := strings.Cut(name, "=")
			if !given {
				value = "true"
			}
			one.met = func(fields map[string]any) (bool, error) { return hasCondition(fields, name, value) }
		case isPath:
			if one.met, err = hasValue(path); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("unrecognized condition: %q; expected %s", text, forms)
		}
		list = append(list, one)
	}
	return list, nil
}

// hasCondition reports whether an object has a condition with a value, and that is of its present generation.
//
// Upstream: kubectl pkg/cmd/wait/condition.go ConditionalWait.checkCondition, v0.37.2.
func hasCondition(fields map[string]any, name, value string) (bool, error) {
	list, _, err := unstructured.NestedSlice(fields, "status", "conditions")
	if err != nil {
		return false, err
	}
	for _, item := range list {
		is, _ := item.(map[string]any)
		kind, _, _ := unstructured.NestedString(is, "type")
		status, known, _ := unstructured.NestedString(is, "status")
		if !known || !strings.EqualFold(kind, name) {
			continue
		}
		generation, counts, _ := unstructured.NestedInt64(fields, "metadata", "generation")
		observed, told, _ := unstructured.NestedInt64(is, "observedGeneration")
		if !told {
			observed, told, _ = unstructured.NestedInt64(fields, "status", "observedGeneration")
		}
		if counts && told && observed < generation {
			return false, nil
		}
		return strings.EqualFold(status, value), nil
	}
	return false, nil
}

// hasValue returns a function that reports whether an object has a value at a path ("{.status.phase}=Bound"), or any if none is given.
//
// Upstream: kubectl pkg/cmd/wait/wait.go processJSONPathInput, and json.go JSONPathWait.checkCondition, v0.37.2.
func hasValue(text string) (func(fields map[string]any) (bool, error), error) {
	const form = "jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'"
	parts := splitAtEquals(text)
	if len(parts) > 2 {
		return nil, errors.New(form)
	}
	expression, err := tables.RelaxedPath(strings.Trim(parts[0], `'"`))
	if err != nil {
		return nil, err
	}
	if expression == "" {
		return nil, errors.New("jsonpath expression cannot be empty")
	}
	path, want := jsonpath.New("wait").AllowMissingKeys(true), ""
	if err := path.Parse(expression); err != nil {
		return nil, err
	}
	if len(parts) == 2 {
		if want = strings.Trim(parts[1], `'"`); want == "" {
			return nil, errors.New("jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3")
		}
	}
	return func(fields map[string]any) (bool, error) {
		results, err := path.FindResults(fields)
		switch {
		case err != nil:
			return false, err
		case len(results) == 0 || len(results[0]) == 0:
			return false, nil
		case len(results) > 1:
			return false, errors.New("given jsonpath expression matches more than one list")
		case len(results[0]) > 1:
			return false, errors.New("given jsonpath expression matches more than one value")
		case len(parts) == 1:
			return true, nil
		}
		value := results[0][0].Interface()
		switch value.(type) {
		case map[string]any, []any:
			return false, errors.New("jsonpath leads to a nested object or list which is not supported")
		}
		return strings.TrimSpace(fmt.Sprint(value)) == strings.TrimSpace(want), nil
	}, nil
}

// splitAtEquals splits at each single equal sign: two together belong to an expression.
func splitAtEquals(text string) []string {
	const both = "\x00"
	parts := strings.Split(strings.ReplaceAll(text, "==", both), "=")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], both, "==")
	}
	return parts
}

// waiting is a wait under way.
type waiting struct {
	*call
	end  time.Time
	once bool // do not wait
}

// errTimedOut is in the error of a wait that took too long.
var errTimedOut = errors.New("timed out waiting for the condition")

// refs returns the objects that are meant; with create it waits until each of them is there.
func (w *waiting) refs(create bool) (refs []tables.Ref, err error) {
	if refs, err = w.objectsMeant(); err != nil || !create {
		return refs, err
	}
	var failed error
	err = w.pass(func() bool {
		if refs, failed = w.objectsMeant(); failed != nil {
			return true
		}
		return len(refs) > 0 && !slices.ContainsFunc(refs, func(ref tables.Ref) bool { return w.version(ref) == "" })
	})
	return refs, errors.Join(failed, err)
}

// isThere returns the object as it is at the beginning of the wait for it.
func (w *waiting) isThere(ref tables.Ref) (fields map[string]any, err error) {
	obj, err := w.get(ref)
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}

// until lets time pass until the condition of an object is met. fields has the object as it is now.
//
// Upstream: kubectl pkg/cmd/wait/condition.go getObjAndCheckCondition, v0.37.2.
func (w *waiting) until(ref tables.Ref, fields map[string]any, one condition) error {
	name := ref.Resource.GroupVersionResource().Resource + "/" + ref.Name
	if w.once {
		met, err := one.met(fields)
		if err == nil && !met {
			err = errors.New("condition not met for " + name)
		}
		return err
	}
	var failed error
	err := w.pass(func() bool {
		fields, err := w.isThere(ref)
		switch {
		case err != nil && !apierrors.IsNotFound(err):
			failed = err
			return true
		case err != nil && one.text != "delete": // it may come back
			return false
		}
		met, err := one.met(fields)
		failed = err
		return met || err != nil
	})
	if errors.Is(err, errTimedOut) {
		return fmt.Errorf("%w on %s", err, name)
	}
	return errors.Join(failed, err)
}

// pass lets time pass until done returns true, and returns errTimedOut if it did not before the end.
func (w *waiting) pass(done func() bool) error {
	err := w.cluster.Engine().RunUntil(max(0, w.end.Sub(w.cluster.Now())), done)
	if _, missed := errors.AsType[*engine.ConditionError](err); missed {
		return errTimedOut
	}
	return err
}
