package explore

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/unfinished"
	"github.com/storagesim/storagesim/trace"
)

// The plain run has no trouble, so that it must work: if a claim is not bound in it, or a pod does not run, then no run
// with trouble says anything about that. What the scenario means to be so is an Expectation.

// Expectation says that an object is not bound, ready or running in the plain run, and that this is meant.
type Expectation struct {
	// Object is the object: "pvc/data" (in the namespace default), "pod/shop/web".
	Object string
	// State is its state at a rest or at the end: the phase of a claim or a pod, such as Pending or Failed; Terminating for
	// an object that is being deleted; Unready for a StatefulSet, Deployment, DaemonSet or Job, and for a pod that runs and of which a container fails
	// again and again.
	State string
}

// Expect returns an Expectation, for Config.Expect. It must come true in the plain run.
func Expect(object, state string) Expectation { return Expectation{object, state} }

// The states of objects beside the phases of claims and pods.
const (
	terminating = "Terminating"
	unready     = "Unready"
)

// expectable returns the states that an Expectation can have.
func expectable() []string {
	return []string{string(v1.ClaimPending), string(v1.ClaimLost), string(v1.PodFailed), terminating, unready}
}

func (e Expectation) check(i int) error {
	if e.Object == "" || !slices.Contains(expectable(), e.State) {
		return fmt.Errorf("explore: Config.Expect[%d]: Expect(%q, %q): it needs an object such as pvc/data, and one of the states %s", i, e.Object,
			e.State, strings.Join(expectable(), ", "))
	}
	return nil
}

// stateOf returns the state of an object that is not as its user wants it, "" of any other.
func stateOf(kind string, obj runtime.Object) string {
	switch o := obj.(type) {
	case *v1.Pod:
		if o.DeletionTimestamp != nil {
			return terminating
		}
		if isDone(o) || o.Status.Phase == v1.PodFailed && len(o.OwnerReferences) > 0 {
			return ""
		}
		if o.Status.Phase == v1.PodRunning {
			return unready
		}
		return string(o.Status.Phase)
	case *v1.PersistentVolumeClaim:
		if o.DeletionTimestamp != nil {
			return terminating
		}
		if o.Status.Phase != v1.ClaimBound {
			return string(o.Status.Phase)
		}
	}
	if !slices.Contains([]string{"StatefulSet", "Deployment", "DaemonSet", "Job", "PersistentVolumeClaim"}, kind) || !unfinished.Object(obj) {
		return ""
	}
	return unready
}

// ill returns an error if an object is not bound, ready or running, does not wait by design, and is not expected to be so.
func (o *objects) ill(expect []Expectation) error {
	expected, err := o.expected(expect)
	if err != nil {
		return err
	}
	var lines []string
	object, cause := "", ""
	for _, ref := range o.withState() {
		state := o.state(ref)
		if slices.Contains(expected[ref], state) || o.waits(ref) {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s is %s", ref, state))
		why, err := o.c.Lab().Explanation(ref)
		if err == nil {
			lines = append(lines, strings.TrimRight(why.Text, "\n"))
		}
		if object == "" {
			object, cause = ref, causeOf(why.Verdict)
		}
		lines = append(lines, fmt.Sprintf("if that is meant, say so: Config.Expect with explore.Expect(%q, %q)", ref, state))
	}
	if object == "" {
		return nil
	}
	return causedError{cause, about(object, "%s", strings.Join(lines, "\n"))}
}

// expected returns the expected states by object.
func (o *objects) expected(expect []Expectation) (map[string][]string, error) {
	states := map[string][]string{}
	for i, e := range expect {
		at, err := manifest.ParseRef(o.c.Engine().Server().Registry(), "", e.Object)
		if err != nil {
			return nil, fmt.Errorf("explore: Config.Expect[%d]: %w", i, err)
		}
		ref := trace.Ref{Kind: at.Resource.Kind, Namespace: at.Namespace, Name: at.Name}.Path()
		states[ref] = append(states[ref], e.State)
	}
	return states, nil
}

// cameTrue returns an error if an expectation did not come true at any rest so far.
func (o *objects) cameTrue(expect []Expectation) error {
	for i, e := range expect {
		if o.partial {
			break
		}
		states, err := o.expected(expect[i : i+1])
		if err != nil {
			return err
		}
		for ref := range states { // there is one
			if !slices.Contains(o.states[ref], e.State) {
				return about(ref, "explore.Expect(%q, %q) does not come true", e.Object, e.State)
			}
		}
	}
	return nil
}

// withState returns the objects with a state, in the order of their names.
func (o *objects) withState() (refs []string) {
	for _, s := range o.known {
		if s.state != "" {
			refs = append(refs, s.ref)
		}
	}
	slices.Sort(refs)
	return refs
}

func (o *objects) state(ref string) string {
	for _, s := range o.known {
		if s.ref == ref {
			return s.state
		}
	}
	return ""
}

// waits reports whether an object waits by design, such as a claim whose class binds when a pod uses the claim, and none
// does.
func (o *objects) waits(ref string) bool {
	why, err := o.c.Lab().Explanation(ref)
	return err == nil && why.Verdict.Class == explain.Waits
}

// doubtful returns the rests of a run that a twin must judge: of the plain run those at which something does not work.
func (x *exploration) doubtful(seen *objects) (list []restOf) {
	if x.plain != nil {
		return seen.doubtful(x.plain.rests, x.cfg)
	}
	for _, rest := range seen.rests[:max(0, len(seen.rests)-1)] {
		ill := rest.withState && !x.cfg.excepts(PlainRun)
		if rest.lost = unlike(rest.lost, unheld()); !rest.stopped && (ill || x.cfg.loses(rest, nil)) {
			list = append(list, rest)
		}
	}
	return list
}

// refused adds to the error of a scenario, if it is that of an act which the API server refused, why the object of that act is not as its user wants it: a
// claim that was never bound cannot be made larger. In a run with trouble the claim may only be late, so that it also says how a scenario waits.
func (o *objects) refused(failed error, trouble bool) error {
	var last trace.Write
	for _, entry := range o.c.Trace().Records() {
		if w, ok := entry.Record.(trace.Write); ok && entry.Actor == storagesim.User {
			last = w
		}
	}
	ref := last.About().Path()
	if last.Err == nil || !strings.Contains(failed.Error(), last.Err.Error()) || o.state(ref) == "" {
		return failed
	}
	why, err := o.c.Lab().Explanation(ref)
	if err != nil {
		return failed
	}
	failed = fmt.Errorf("%w\n%s", failed, why.Verdict)
	if wait := map[string]string{"PersistentVolumeClaim": "RequireBound", "Pod": "RequireRunning"}[last.Kind]; trouble && wait != "" {
		failed = fmt.Errorf("%w\nif it is only late, let the scenario wait before this act: %s(%q) waits up to %v", failed, wait,
			last.Namespace+"/"+last.Name, Recovery)
	}
	return causedError{causeOf(why.Verdict), failed}
}
