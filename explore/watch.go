package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/stacks"
	"github.com/storagesim/storagesim/trace"
)

// Labels of the goroutine that plays a run. Goroutines that are started in the run inherit them.
const (
	runLabel  = "storagesim.run"
	planLabel = "storagesim.plan"
)

// explorations counts the explorations of this process, so that each has goroutines of its own.
var explorations atomic.Uint64

const (
	// usualBlocked is the default of Config.Cluster.Blocked.
	usualBlocked = 30 * time.Second
	// leastBlocked is the shortest time without a step, since a busy machine may not come to it for a moment.
	leastBlocked = 5 * time.Second
	// lookInterval is the real time between two looks at a run. Times are counted in looks, since all clocks go on
	// while a machine is halted: then neither a look nor a step is made.
	lookInterval = 100 * time.Millisecond
	// mostSteps is the number of steps after which a run is said not to end. A run of the larger tests has some thousands.
	mostSteps = 5_000_000
)

// underWay is a run as its watcher sees it.
type underWay struct {
	cluster atomic.Pointer[storagesim.Cluster]
}

// watch plays a run in a goroutine of its own, and returns its failure. It gives up a run that takes no step for
// Config.Cluster.Blocked, and interrupts one that takes too many steps.
func (x *exploration) watch(plan Plan, number int, play func(w *underWay) *Failure) *Failure {
	w, done := &underWay{}, make(chan *Failure, 1)
	labels := pprof.Labels(runLabel, x.label+strconv.FormatUint(x.plays.Add(1), 10)+"/"+strconv.Itoa(number), planLabel, plan.String())
	go func() {
		defer close(done) // also when the scenario ends its goroutine, as a failing test does
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), labels))
		done <- play(w)
	}()
	timer := time.NewTicker(lookInterval)
	defer timer.Stop()
	last, looks, endless := uint64(0), 0, false
	for {
		select {
		case f, ok := <-done:
			switch {
			case !ok:
				runtime.Goexit()
			case endless && f != nil:
				f.Err, f.stuck = &Broken{Returns, about("the scenario", "the scenario does not end: it has taken more than %d steps", x.most)}, true
			}
			return f
		case <-timer.C:
		}
		c := w.cluster.Load()
		if c == nil {
			continue
		}
		if steps := c.Engine().Steps(); steps != last {
			last, looks = steps, 0
			if steps > x.most && !endless {
				endless = true
				c.Engine().Interrupt()
			}
			continue
		}
		looks++
		if limit := x.blocked(); limit > 0 && time.Duration(looks)*lookInterval >= limit {
			c.Engine().Interrupt() // should it go on after all
			return x.stuck(c, plan, limit, labels)
		}
	}
}

// blocked returns the real time after which a run without a step is given up, at least that after which a step of
// foreign code is given up; negative for never.
func (x *exploration) blocked() time.Duration {
	switch limit := x.cfg.Cluster.Blocked; {
	case limit == 0:
		return 2 * usualBlocked
	case limit < 0:
		return limit
	default:
		return max(2*limit, leastBlocked)
	}
}

// stuck returns the failure of a run that takes no step, with the stack of the code that it is in.
func (x *exploration) stuck(c *storagesim.Cluster, plan Plan, limit time.Duration, labels pprof.LabelSet) *Failure {
	run, _ := pprof.Label(pprof.WithLabels(context.Background(), labels), runLabel)
	stack := ""
	for _, g := range labelled(run) {
		if slices.ContainsFunc(g.frames, func(f stacks.Frame) bool {
			return strings.Contains(f.Function, "storagesim/explore.(*exploration).") || strings.Contains(f.Function, "storagesim/internal/seedtest.")
		}) && g.author() != "" {
			stack = indented(g.text())
		}
	}
	err := &Broken{Returns, about("the scenario", "the scenario does not return: no step for %s%s", limit, stack)}
	return &Failure{Plan: plan, Err: err, Story: tellingOf(c, c.Trace().Records())(trace.Telling{}), From: plan.Size(), stuck: true}
}

// goroutine is one, or several with the same stack, that belong to a run.
type goroutine struct {
	run, plan string
	frames    []stacks.Frame
}

// wrapper is in the name of the function that the compiler makes of a go statement with arguments.
const wrapper = ".gowrap"

// author returns the outermost function of the stack that is the author's, "" if there is none.
func (g goroutine) author() string {
	for _, f := range slices.Backward(g.frames) {
		if f.IsAuthors() && !strings.Contains(f.Function, wrapper) {
			return f.Function
		}
	}
	return ""
}

// text returns the stack from the innermost function to the author's outermost one.
func (g goroutine) text() string {
	last := 0
	for i, f := range g.frames {
		if f.IsAuthors() {
			last = i
		}
	}
	lines := make([]string, 0, last+1)
	for _, f := range g.frames[:last+1] {
		lines = append(lines, fmt.Sprintf("%s\n\t%s", f.Function, f.At))
	}
	return strings.Join(lines, "\n")
}

// labelled returns the goroutines of the runs whose label begins so.
func labelled(run string) (list []goroutine) {
	for _, found := range stacks.All() {
		var labels map[string]string
		if json.Unmarshal([]byte(found.Labels), &labels) == nil && strings.HasPrefix(labels[runLabel], run) {
			list = append(list, goroutine{labels[runLabel], labels[planLabel], found.Frames})
		}
	}
	return list
}

// lingering holds goroutines of the author's code that were left by several runs and began with the same function.
type lingering struct {
	goroutine
	runs []string // their labels
}

// lingerGrace is the real time that goroutines have to end after their run.
const lingerGrace = 2 * time.Second

// left returns the first function of the author's code that at least so many runs left behind as a goroutine, nil if there is none. A
// goroutine that one run has started for all of them is no leak, so that two are needed to tell. Runs that are
// under way do not count: there must be none.
func (x *exploration) left(least int) *lingering {
	if x.cfg.excepts(Returns) {
		return nil
	}
	for looks := 0; ; looks++ {
		by := map[string]*lingering{}
		var first *lingering
		var runs []string
		for _, g := range labelled(x.label) {
			name := g.author()
			if name == "" && len(g.frames) > 0 {
				continue
			}
			if !slices.Contains(runs, g.run) {
				runs = append(runs, g.run)
			}
			if name == "" {
				continue // it has not begun yet
			}
			l := by[name]
			if l == nil {
				l = &lingering{goroutine: g}
				by[name] = l
			}
			if !slices.Contains(l.runs, g.run) {
				l.runs = append(l.runs, g.run)
			}
			if len(l.runs) >= least && (first == nil || l.author() < first.author()) {
				first = l
			}
		}
		if len(runs) < least || time.Duration(looks)*lookInterval > lingerGrace {
			return first
		}
		time.Sleep(lookInterval)
	}
}

// failure returns the failure of the first of the runs that left the goroutine.
func (l *lingering) failure(story string) *Failure {
	number := 0
	for _, run := range l.runs {
		n, _ := strconv.Atoi(run[strings.LastIndex(run, "/")+1:])
		if number == 0 || n < number {
			number = n
		}
	}
	plan, _ := Parse(l.plan) // a plan prints what can be parsed
	name := l.author()
	err := &Broken{Returns, about(name, "%s does not return: %d runs left a goroutine of it%s", name, len(l.runs), indented(l.text()))}
	return &Failure{Run: max(1, number), Plan: plan, Err: err, Story: story, From: plan.Size(), stuck: true}
}
