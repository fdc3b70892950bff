package explore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/explain/leaks"
	"github.com/storagesim/storagesim/internal/unfinished"
	"github.com/storagesim/storagesim/trace"
)

// A rest is a moment at which the scenario has let the cluster come to rest, or time pass, and acts next: the last
// such moment before a write of the user, or the end. A run with trouble is compared there with the plain run. What
// is behind may catch up later, and then nothing is wrong. If the user deletes it first, that cannot be seen in the
// run itself. So a twin of the run is played: it repeats the run to that rest, all trouble ends there, and it has 20
// minutes.

// tally counts the objects of each kind.
type tally map[string]count

// count is that of the objects of one kind.
type count struct {
	there int // all
	done  int // those that are as their users want them
	going int // those that are being deleted, or wait for it
}

// counted are the kinds of which there must be as many objects as in the plain run, not more: objects that users or
// their controllers made. Whether there are more pods, volumes and attachments is a matter of leaks.
var counted = map[string]bool{
	"PersistentVolumeClaim": true, "StatefulSet": true, "Deployment": true, "ReplicaSet": true, "ReplicationController": true, "DaemonSet": true, "Job": true,
	"ConfigMap": true, "Secret": true, "Service": true, "PodDisruptionBudget": true,
}

// watched are the kinds that are looked at beside those.
var watched = map[string]bool{"Pod": true, "PersistentVolume": true, "VolumeAttachment": true}

// objects follows the objects of one run.
type objects struct {
	c       *storagesim.Cluster
	known   map[types.UID]standing
	tally   tally
	acts    int // writes of the user so far
	rests   []restOf
	failing *failing
	// states has the states of objects at the rests so far.
	states map[string][]string
	// partial is set if acts of the user are left out: then not all that is expected comes true.
	partial bool
	// story is that of a twin, up to its end, and tell tells the same as one likes.
	story string
	tell  func(trace.Telling) string
}

// standing says whether an object is as its user wants it.
type standing struct {
	kind, ref   string // ref as trace.Ref.Path has it
	done, going bool
	users       bool   // the user has created it
	state       string // as Expectation has it
}

// restOf tells of one of the times that a run came to rest.
type restOf struct {
	acts  int // writes of the user before it
	at    int // its number among all times that the cluster came to rest, from 1
	tally tally
	// withState is set if an object has a state.
	withState bool
	// stopped is set if the scenario has stopped a process, which then is not there on purpose.
	stopped bool
	lost    []leaks.Loss
}

// follow counts the objects of a cluster from now on, at each of its rests.
func follow(c *storagesim.Cluster) *objects {
	o := &objects{c: c, known: map[types.UID]standing{}, tally: tally{}, failing: followFailing(c), states: map[string][]string{}}
	c.Engine().Server().OnWrite(o.write)
	rests := 0
	c.Lab().OnRest(func() {
		rests++
		o.rest(rests)
	})
	return o
}

func (o *objects) write(w trace.Write) {
	if w.Err != nil || w.Old == w.New {
		return
	}
	if w.Actor == storagesim.User {
		o.acts++
	}
	obj := cmp.Or(w.New, w.Old)
	_, custom := obj.(runtime.Unstructured)
	if !custom && !counted[w.Kind] && !watched[w.Kind] {
		return
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	was, known := o.known[m.GetUID()]
	if known {
		o.add(was, -1)
	}
	if w.New == nil {
		delete(o.known, m.GetUID())
		return
	}
	is := standing{kind: w.Kind, ref: was.ref, done: isDone(w.New), going: isGoing(w.New), users: was.users, state: stateOf(w.Kind, w.New)}
	if !known {
		is.ref, is.users = w.About().Path(), w.Actor == storagesim.User
	}
	o.known[m.GetUID()] = is
	o.add(is, 1)
}

func (o *objects) add(s standing, n int) {
	c := o.tally[s.kind]
	c.there += n
	if s.done {
		c.done += n
	}
	if s.going {
		c.going += n
	}
	o.tally[s.kind] = c
}

// isDone reports whether an object is as its user wants it. A container of a pod may end again and again: the pod runs, unless it is a failure.
func isDone(obj runtime.Object) bool {
	if pod, ok := obj.(*v1.Pod); ok && pod.DeletionTimestamp == nil {
		return pod.Status.Phase == v1.PodRunning && !crashes(pod) || pod.Status.Phase == v1.PodSucceeded
	}
	return !unfinished.Object(obj)
}

// crashes reports whether a container of a pod that runs has failed and waits to be started again, as one that does not find its data.
func crashes(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c v1.ContainerStatus) bool {
		ended := c.LastTerminationState.Terminated
		return c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff" && ended != nil && ended.ExitCode != 0
	})
}

// isGoing reports whether an object is to be deleted, and is there.
func isGoing(obj runtime.Object) bool {
	if m, err := meta.Accessor(obj); err == nil && m.GetDeletionTimestamp() != nil {
		return true
	}
	_, isVolume := obj.(*v1.PersistentVolume)
	return isVolume && unfinished.Object(obj)
}

// rest takes note of a rest, which replaces one after the same write of the user.
func (o *objects) rest(number int) {
	if n := len(o.rests); n > 0 && o.rests[n-1].acts == o.acts {
		o.rests = o.rests[:n-1]
	}
	stopped := false
	for _, until := range o.c.Engine().Down() {
		stopped = stopped || until.IsZero()
	}
	stated := o.withState()
	for _, ref := range stated {
		if state := o.state(ref); !slices.Contains(o.states[ref], state) {
			o.states[ref] = append(o.states[ref], state)
		}
	}
	o.rests = append(o.rests, restOf{o.acts, number, maps.Clone(o.tally), len(stated) > 0, stopped, o.c.Lab().Lost()})
}

// behind returns the kinds in which a run is behind the plain run, in the order of their names.
func (t tally) behind(plain tally) (kinds []string) {
	for _, kind := range slices.Sorted(maps.Keys(t)) {
		if len(t[kind].behind(kind, plain[kind])) > 0 {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(plain)) {
		if _, seen := t[kind]; !seen && plain[kind].done > 0 && !isMade(kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// isMade reports whether a kind is one of which programs make as many objects as they need.
func isMade(kind string) bool { return kind == "PersistentVolume" || kind == "VolumeAttachment" }

// behind says in what the objects of a kind are behind those of the plain run.
func (c count) behind(kind string, plain count) (text string) {
	switch {
	case c.done < plain.done && !isMade(kind):
		return fmt.Sprintf("%s: %d are as they should be, in order %d were", kind, c.done, plain.done)
	case c.going > plain.going:
		return fmt.Sprintf("%s: %d are not gone yet, in order %d were not", kind, c.going, plain.going)
	case c.there > plain.there && !watched[kind]:
		return fmt.Sprintf("%s: there are %d, in order there were %d", kind, c.there, plain.there)
	}
	return ""
}

// doubtful returns the rests of a run that a twin must judge: something is behind there, and what the user did next
// took it away, so that the rests that follow do not tell.
func (o *objects) doubtful(plain []restOf, cfg Config) (list []restOf) {
	find := func(all []restOf, acts int) *restOf {
		i, ok := slices.BinarySearchFunc(all, acts, func(r restOf, acts int) int { return cmp.Compare(r.acts, acts) })
		if !ok {
			return nil
		}
		return &all[i]
	}
	for i, rest := range o.rests {
		then := find(plain, rest.acts)
		if then == nil || rest.stopped || i+1 == len(o.rests) {
			continue
		}
		next := find(plain, o.rests[i+1].acts)
		behind := next != nil && !cfg.excepts(Liveness) && slices.ContainsFunc(rest.tally.behind(then.tally), func(kind string) bool {
			return next.tally[kind].done < then.tally[kind].done || next.tally[kind].there != then.tally[kind].there
		})
		if behind || cfg.loses(rest, then.lost) {
			list = append(list, rest)
		}
	}
	return list
}

// behindOf returns an error if the run is behind the plain run now. when says when that is. A claim that lacks nothing but a pod is not behind: the scenario
// deleted the pod earlier than the claim needed it, since trouble made the claim late. A pod that is missing counts itself.
func (o *objects) behindOf(plain tally, when string) error {
	if len(o.tally.behind(plain)) == 0 {
		return nil
	}
	forPods := o.waitForPods()
	seen := maps.Clone(o.tally)
	if claims, ok := seen[claimKind]; ok {
		claims.done += len(forPods)
		seen[claimKind] = claims
	}
	kinds := seen.behind(plain)
	if len(kinds) == 0 {
		return nil
	}
	var lines []string
	for _, kind := range kinds {
		lines = append(lines, seen[kind].behind(kind, plain[kind]))
	}
	object, cause := "", ""
	for _, ref := range o.unfinished(kinds, plain) {
		if slices.Contains(forPods, ref) {
			continue
		}
		why, err := o.c.Lab().Explanation(ref)
		if err == nil {
			lines = append(lines, strings.TrimRight(why.Text, "\n"))
		} else {
			lines = append(lines, ref+" is there")
		}
		if object == "" {
			object, cause = ref, causeOf(why.Verdict)
		}
	}
	return causedError{cause, about(cmp.Or(object, kinds[0]), "%s%s", when, strings.Join(lines, "\n"))}
}

const claimKind = "PersistentVolumeClaim"

// waitForPods returns the claims that wait by design for a pod which uses them: to be provisioned, or for the rest of an expansion on a node. One that a
// program created and that no volume is bound to is not among them: the program may have deleted another one, with its data.
func (o *objects) waitForPods() (refs []string) {
	for _, s := range o.known {
		if s.kind != claimKind || s.done || s.going {
			continue
		}
		why, err := o.c.Lab().Explanation(s.ref)
		if err != nil || why.Verdict.Class != explain.Waits {
			continue
		}
		if why.Verdict.Code == explain.ResizeWaits || why.Verdict.Code == explain.NoConsumer && s.users {
			refs = append(refs, s.ref)
		}
	}
	return refs
}

// catchUp lets time pass, in order, until nothing is wrong any more. It returns what still is after Recovery.
func (o *objects) catchUp(wrong func() error) error {
	left := Recovery
	for wait := firstLook; wrong() != nil && left > 0; wait *= 2 {
		wait = min(wait, left)
		left -= wait
		if err := o.c.Engine().Ordered(func() error { return errors.Join(o.c.RunFor(wait), o.c.Settle()) }); err != nil {
			return fmt.Errorf("it does not come to rest: %w", err)
		}
	}
	o.tell = tellingOf(o.c, o.c.Trace().Records())
	o.story = o.tell(trace.Telling{})
	return wrong()
}

// unfinished returns the objects of those kinds that are not finished, by kind and name; all of a kind of which there are too many.
func (o *objects) unfinished(kinds []string, plain tally) (refs []string) {
	for _, kind := range kinds {
		var own []string
		for _, s := range o.known {
			extra := !watched[kind] && o.tally[kind].there > plain[kind].there // one of them is not to be there
			if s.kind == kind && (!s.done || s.going || extra) {
				own = append(own, s.ref)
			}
		}
		slices.Sort(own)
		refs = append(refs, own...)
	}
	return refs
}
