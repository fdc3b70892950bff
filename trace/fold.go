package trace

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Folding says how much of what repeats in each run a story leaves out.
type Folding int

// The foldings.
const (
	// Unfolded tells every record.
	Unfolded Folding = iota
	// FoldUpkeep leaves out renewals of leases and the status of CustomResourceDefinitions.
	FoldUpkeep
	// FoldNoise does this as well, tells the start of a container and the state of a pod in one line each, and leaves out the event that a
	// pod is scheduled, since its binding is told.
	FoldNoise
)

// folded is a record that stands for several.
type folded struct{ topic, text string }

// Topic implements Record.
func (f folded) Topic() string  { return f.topic }
func (f folded) String() string { return f.text }

// fold returns the entries to tell.
func fold(entries []Entry, how Folding) []Entry {
	if how == Unfolded {
		return entries
	}
	told := make([]Entry, 0, len(entries))
	started := map[string]bool{} // containers, by pod and name
	for i, e := range entries {
		if w, ok := e.Record.(Write); ok && w.isUpkeep() {
			continue
		}
		if how == FoldNoise {
			record := foldOne(entries[i:], started)
			if record == nil {
				continue
			}
			e.Record = record
		}
		told = append(told, e)
	}
	return told
}

// isUpkeep reports whether the write renews a lease or says how far the server is with a definition.
func (w Write) isUpkeep() bool {
	if w.Err != nil {
		return false
	}
	return w.Resource.Resource == "leases" && w.Old != nil && w.New != nil ||
		w.Resource.Resource == "customresourcedefinitions" && w.Subresource == "status"
}

// foldOne returns what is told instead of the first entry, nil for nothing.
func foldOne(entries []Entry, started map[string]bool) Record {
	switch r := entries[0].Record.(type) {
	case Event:
		return foldEvent(r, entries, started)
	case Write:
		was, is, ok := r.podStatus()
		if !ok || !onlyUsual(was, is) {
			return r
		}
		if node := is.Status.NominatedNodeName; node != was.Status.NominatedNodeName {
			if node == "" {
				return folded{r.Topic(), fmt.Sprintf("nominates no node for %s any more", r.About())}
			}
			return folded{r.Topic(), fmt.Sprintf("nominates %s for %s", node, r.About())}
		}
		if state := stateOf(is); state != stateOf(was) {
			return folded{r.Topic(), fmt.Sprintf("reports %s %s", r.About(), state)}
		}
		return nil
	}
	return entries[0].Record
}

// foldEvent folds the events of a pod's way to its node and to its start.
func foldEvent(e Event, entries []Entry, started map[string]bool) Record {
	if e.About.Kind != "Pod" || e.Type != v1.EventTypeNormal {
		return e
	}
	switch e.Reason {
	case "Pulling", "Pulled", "Created", "Scheduled":
		return nil
	case "Started":
		return foldStart(e, entries, started)
	}
	return e
}

// foldStart names the containers that the pod's next status has started. Those that were told before, such as one that starts again, are
// not told.
func foldStart(e Event, entries []Entry, started map[string]bool) Record {
	names := startedBy(e.About, entries)
	if names == nil {
		if e.Repeated {
			return nil
		}
		return folded{e.Topic(), fmt.Sprintf("starts a container of %s", e.About)}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		key := e.About.String() + " " + name
		before := started[key]
		started[key] = true
		return before
	})
	switch len(names) {
	case 0:
		return nil
	case 1:
		return folded{e.Topic(), fmt.Sprintf("starts container %s of %s", names[0], e.About)}
	}
	return folded{e.Topic(), fmt.Sprintf("starts containers %s of %s", strings.Join(names, ", "), e.About)}
}

// startedBy returns the containers that run or have ended in the next status of a pod in which one more does than before; nil if there is
// none.
func startedBy(pod Ref, entries []Entry) (names []string) {
	for _, e := range entries {
		w, ok := e.Record.(Write)
		if !ok || w.About() != pod {
			continue
		}
		was, is, ok := w.podStatus()
		if !ok {
			continue
		}
		before := begun(was)
		for _, name := range begun(is) {
			if !slices.Contains(before, name) {
				names = append(names, name)
			}
		}
		if names != nil {
			return names
		}
	}
	return nil
}

// begun returns the containers of a pod that run or have ended.
func begun(pod *v1.Pod) (names []string) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.State.Running != nil || c.State.Terminated != nil {
			names = append(names, c.Name)
		}
	}
	return names
}

// podStatus returns the pod before and after a write of its status that was carried out.
func (w Write) podStatus() (was, is *v1.Pod, ok bool) {
	if w.Err != nil || w.Subresource != "status" {
		return nil, nil, false
	}
	was, ok1 := w.Old.(*v1.Pod)
	is, ok2 := w.New.(*v1.Pod)
	return was, is, ok1 && ok2
}

// stateOf returns the state of a pod in words: its phase, whether it is ready, and why a container does not run.
func stateOf(pod *v1.Pod) string {
	state := string(pod.Status.Phase)
	if pod.Status.Phase == v1.PodRunning {
		state += ", not ready"
		if isTrue(pod, v1.PodReady) {
			state = "Running and ready"
		}
	}
	var why []string
	if pod.Status.Reason != "" {
		why = append(why, pod.Status.Reason)
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		reason := ""
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "ContainerCreating" && c.State.Waiting.Reason != "PodInitializing":
			reason = c.State.Waiting.Reason
		case c.State.Terminated != nil && c.State.Terminated.ExitCode != 0:
			reason = c.State.Terminated.Reason
		}
		if reason != "" {
			why = append(why, c.Name+": "+reason)
		}
	}
	if len(why) > 0 {
		state += " (" + strings.Join(why, ", ") + ")"
	}
	return state
}

func isTrue(pod *v1.Pod, kind v1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == kind && c.Status == v1.ConditionTrue })
}

// onlyUsual reports whether a pod's status has no condition besides those of each pod that it did not have before.
func onlyUsual(was, is *v1.Pod) bool {
	usual := []v1.PodConditionType{v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled}
	return !slices.ContainsFunc(is.Status.Conditions, func(c v1.PodCondition) bool {
		return !slices.Contains(usual, c.Type) && !slices.ContainsFunc(was.Status.Conditions, func(before v1.PodCondition) bool {
			return before.Type == c.Type && before.Status == c.Status && before.Reason == c.Reason
		})
	})
}
