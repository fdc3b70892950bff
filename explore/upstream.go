package explore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/volume"
)

// Upstream says what an exploration does with runs that fail by a bug of the modelled release of
// Kubernetes itself.
type Upstream int

const (
	// Count, the default, counts such runs in Report.Upstream, and goes on. Where the plain run is one of them, all others are played with
	// that bug mended; without the rule that is broken, if nothing mends it.
	Count Upstream = iota
	// Fail makes such a run a failure like any other.
	Fail
)

// UpstreamBug is a bug of the modelled release of Kubernetes, or of its library of provisioners, that clusters have by default.
type UpstreamBug struct {
	// Issue names the report, "kubernetes/kubernetes 121937"; "" if there is none.
	Issue string
	// Text says what goes wrong.
	Text string
	// Mend replaces it by the better way in the configuration of a cluster; nil if there is none.
	Mend func(cfg *storagesim.Config)
}

// String returns the issue.
func (f *UpstreamBug) String() string { return "upstream: " + cmp.Or(f.Issue, notReported) }

const notReported = "not reported yet"

// UpstreamBugs returns the bugs to which a run's failure can be attributed.
func UpstreamBugs() []*UpstreamBug {
	return []*UpstreamBug{
		{"kubernetes/kubernetes 121937", "a kubelet that restarts forgets a volume that is staged and in no pod's directory",
			onKubelets(func(cfg *kubelet.Config) { cfg.FindStaged = true })},
		{"", "a Node object that is made anew has no volumesInUse, so that mounted volumes are detached",
			onKubelets(func(cfg *kubelet.Config) { cfg.KeepInUse = true })},
		{"", "a kubelet that restarts unmounts a volume under its running pod if the claim cannot be read",
			onKubelets(func(cfg *kubelet.Config) { cfg.KeepUnread = true })},
		{"", "a kubelet forgets a mount in doubt if the driver does not say what it can do",
			onKubelets(func(cfg *kubelet.Config) { cfg.Final = finalUnlessUnanswered })},
		{"", "a kubelet goes on mounting the volumes of a pod that has ended",
			onKubelets(func(cfg *kubelet.Config) { cfg.DropUnmounted = true })},
		{"", "parts of a host path stay mounted if their pod goes while the kubelet is down",
			onKubelets(func(cfg *kubelet.Config) { cfg.CleanSubPaths = true })},
		{"", "a restarted attach/detach controller takes a volume for in use until the Node changes",
			func(cfg *storagesim.Config) { cfg.AttachDetach.InUseLast = true }},
		{"", "a scheduler that waits for the volumes of a pod made anew under its name writes the failure of the old pod into the new one",
			func(cfg *storagesim.Config) { cfg.Scheduler.WaitByUID = true }},
		{"", "an attach/detach controller that sees a pod before the claim that was made anew attaches the old claim's volume, until the pod goes",
			func(cfg *storagesim.Config) { cfg.AttachDetach.DropOld = true }},
		{"kubernetes/kubernetes 128164", "a scheduler whose cache still shows the claim that was made anew binds the pod, and selects no node for the new claim",
			func(cfg *storagesim.Config) { cfg.Scheduler.SeeClaims = true }},
		{"", "a StatefulSet that is deleted before its controller's cache shows a claim leaves the claim, which has no owner yet",
			func(cfg *storagesim.Config) { cfg.StatefulSet.OwnAtOnce = true }},
		{"", "a provisioner that cannot save a PersistentVolume deletes the volume, although an earlier try had saved the object and its answer was lost",
			func(cfg *storagesim.Config) {
				cfg.Provisioner = after(cfg.Provisioner, func(cfg *provisioner.Config) { cfg.KeepSaved = true })
			}},
	}
}

// onKubelets returns a change of the configurations of all kubelets, after those of the user's own.
func onKubelets(change func(*kubelet.Config)) func(*storagesim.Config) {
	return func(cfg *storagesim.Config) { cfg.Kubelet = after(cfg.Kubelet, change) }
}

// after returns a function that changes what the user's own, if there is one, has changed.
func after[C any](users, change func(*C)) func(*C) {
	return func(cfg *C) {
		if users != nil {
			users(cfg)
		}
		change(cfg)
	}
}

// finalUnlessUnanswered leaves a mount in doubt if the driver did not say what it can do.
func finalUnlessUnanswered(failure error) bool {
	_, unanswered := errors.AsType[*volume.UnansweredError](failure)
	return !unanswered && volume.IsFinal(failure)
}

// Finding sums up the runs that failed by one bug of the modelled release.
type Finding struct {
	Bug *UpstreamBug
	// Runs is the number of such runs.
	Runs int
	// First is the first of them. Its plan is as it was, not made smaller.
	First *Failure
}

// String returns the bug, the number of runs and the line that repeats the first.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s. It made %d runs fail; the first is %s%s", f.Bug, f.Bug.Text, f.Runs, f.First.Plan, f.GoesOn())
}

// GoesOn says how the other runs were played if the plain run failed by the bug; "" if it did not.
func (f Finding) GoesOn() string {
	switch {
	case f.First.Strategy != "":
		return ""
	case f.Bug.Mend == nil:
		return fmt.Sprintf(". The plain run failed by it, so all others were played without the rule %q", f.First.Rule())
	}
	return ". The plain run failed by it, so all others were played with it mended"
}

// attribute returns the bug of the modelled release that makes a run fail: with that bug mended, the same plan is clean.
// If no single bug explains the failure, a long run may have met several: then it returns the bugs that must be mended
// together. A breach of the rules of CSI by a driver's callers is attributed to them, unless what the driver answered misled them, or the plain run
// has it without any trouble. nil means that the scenario, or a program that it plays, is the cause.
func (x *exploration) attribute(f *Failure) *UpstreamBug {
	clean := func(bugs ...*UpstreamBug) bool { return x.mended(together(bugs)).play(f.Plan, nil) == nil }
	all := UpstreamBugs()
	for _, bug := range all {
		if clean(bug) {
			return bug
		}
	}
	if clean(all...) {
		needed := all
		for _, bug := range all {
			if rest := allBut(needed, bug); clean(rest...) {
				needed = rest
			}
		}
		return together(needed)
	}
	rule := f.Rule()
	if rule != CSICalls && rule != CallOrder {
		return nil
	}
	if note := f.unnamed(); note != "" {
		f.noted(note)
		return nil
	}
	return ownBreach(rule)
}

// goPast makes all further runs leave out the bug by which the plain run fails. It reports false if they were so already: then the scenario
// fails by chance.
func (x *exploration) goPast(plain *Failure) bool {
	bug := plain.Upstream
	if slices.ContainsFunc(x.past, func(one *UpstreamBug) bool { return one.Text == bug.Text }) {
		return false
	}
	x.past = append(x.past, bug)
	if bug.Mend == nil {
		x.cfg.Except = append(slices.Clone(x.cfg.Except), plain.Rule())
		return true
	}
	bug.Mend(&x.cfg.Cluster)
	return true
}

// goPastAll goes past the bugs of the scenario's whole plain run, as the exploration has that found a plan: where acts are left out, the plain run
// may not meet them, and the trouble of the plan does.
func (x *exploration) goPastAll(plan Plan) {
	if len(plan.Without) == 0 || plan.isPlain() || x.cfg.Upstream == Fail || x.play(Plan{}, nil) == nil {
		return
	}
	_, _ = x.begin(nil) // what fails here is not what the plan is about
	x.findings = newFindings()
}

// together returns bugs as one.
func together(bugs []*UpstreamBug) *UpstreamBug {
	if len(bugs) == 1 {
		return bugs[0]
	}
	var issues, words []string
	for _, bug := range bugs {
		issues, words = append(issues, cmp.Or(bug.Issue, notReported)), append(words, bug.Text)
	}
	return &UpstreamBug{Issue: strings.Join(issues, " and "), Text: strings.Join(words, "; and "), Mend: func(cfg *storagesim.Config) {
		for _, bug := range bugs {
			bug.Mend(cfg)
		}
	}}
}

// allBut returns the bugs without one.
func allBut(bugs []*UpstreamBug, one *UpstreamBug) (rest []*UpstreamBug) {
	for _, bug := range bugs {
		if bug.Text != one.Text {
			rest = append(rest, bug)
		}
	}
	return rest
}

// mended returns an exploration in whose clusters a bug is mended.
func (x *exploration) mended(bug *UpstreamBug) *exploration {
	better := *x
	bug.Mend(&better.cfg.Cluster)
	return &better
}

// findings collects the failures of upstream's own bugs: the numbers of the runs, and the first run. It is safe for
// concurrent use.
type findings struct {
	mu    sync.Mutex
	runs  map[string][]int // by the text of the bug
	first map[string]*Failure
}

func newFindings() *findings {
	return &findings{runs: map[string][]int{}, first: map[string]*Failure{}}
}

func (f *findings) add(failure *Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	bug := failure.Upstream.Text
	f.runs[bug] = append(f.runs[bug], failure.Run)
	if first := f.first[bug]; first == nil || failure.Run < first.Run {
		f.first[bug] = failure
	}
}

// inOrder returns the bugs, those without a mend and those that were met together after the single ones.
func (f *findings) inOrder() []*UpstreamBug {
	bugs := UpstreamBugs()
	for _, text := range slices.Sorted(maps.Keys(f.first)) {
		if !slices.ContainsFunc(bugs, func(one *UpstreamBug) bool { return one.Text == text }) {
			bugs = append(bugs, f.first[text].Upstream)
		}
	}
	return bugs
}

// until returns the findings of the runs up to a number, in the order of UpstreamBugs.
func (f *findings) until(last int) []Finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []Finding
	for _, bug := range f.inOrder() {
		first := f.first[bug.Text]
		if first == nil || first.Run > last {
			continue
		}
		found := Finding{Bug: bug, First: first}
		for _, run := range f.runs[bug.Text] {
			if run <= last {
				found.Runs++
			}
		}
		list = append(list, found)
	}
	return list
}
