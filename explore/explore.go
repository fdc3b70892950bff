package explore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explain/leaks"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/seeds"
	"github.com/storagesim/storagesim/trace"
)

// DefaultRuns is Config.Runs where it is 0, and DefaultShrinkRuns Config.ShrinkRuns.
const (
	DefaultRuns       = 1000
	DefaultShrinkRuns = 1000
)

// Config says how much to explore. The zero value works.
type Config struct {
	// Runs is the number of runs; default DefaultRuns. The first is the plain one: in
	// order, and without faults.
	Runs int
	// Budget is a time in the real world after which no run is begun, also to make a failure smaller, except the first 50 of those.
	// 0 is no limit.
	Budget time.Duration
	// Cluster is the configuration of each run's cluster. The run sets its Seed and Policy, and its
	// disks are in memory; Dir and RealMounts must not be set.
	Cluster storagesim.Config
	// Workers is the number of runs that go on at once; default one for each processor. Results do
	// not depend on it.
	Workers int
	// Strategies lists the ways to make plans, taken in turns; default all of Strategies.
	Strategies []string
	// Rules must hold, beside BuiltInRules and the checks of the scenario.
	Rules []Rule
	// Expect lists what does not work in the plain run, and is meant so.
	Expect []Expectation
	// Except are the names of built-in rules that do not hold for the scenario.
	Except []string
	// Upstream says what to do with runs that fail by a bug of the modelled release of Kubernetes
	// itself (UpstreamBugs); default Count.
	Upstream Upstream
	// ShrinkRuns is the number of runs a failure may take to be made smaller; default
	// DefaultShrinkRuns, negative for none. One with many more steps than the plain run counts
	// as several.
	ShrinkRuns int

	// First is the number of the run to go on with, of an exploration that ended early: those
	// before it are left out; default 1.
	First int
	// Shard and Shards divide the runs among machines: of Shards equal parts this machine plays the
	// one with the number Shard, from 1. By default it plays all runs.
	Shard, Shards int
	// Progress, if it is set, is called after each run, from several goroutines, with the
	// number of the run.
	Progress func(run int)

	// Page, if it is set, writes a page of a failure. Test then writes one to the test's artifacts, if go test is told to keep
	// them (-artifacts), and says where. It is a function so that tests which want no pages do not link them.
	Page func(w io.Writer, f *Failure) error

	least int       // how many runs there are even if Budget is over
	began time.Time // when Run was called, in the real world
}

// check refuses what cannot work, naming the field and what is allowed.
func (cfg Config) check() error {
	switch {
	case cfg.Runs < 0:
		return fmt.Errorf("explore: Config.Runs: %d is negative; it must be positive, or 0 for the default %d", cfg.Runs, DefaultRuns)
	case cfg.Budget < 0:
		return fmt.Errorf("explore: Config.Budget: %s is negative; it must be positive, or 0 for no limit", cfg.Budget)
	case cfg.First < 0:
		return fmt.Errorf("explore: Config.First: %d is negative; it must be the number of a run, or 0 for the first", cfg.First)
	case cfg.First > cfg.runs():
		return fmt.Errorf("explore: Config.First: %d is after the last run, %d; Config.Runs counts those before First, too", cfg.First, cfg.runs())
	case cfg.Shards < 0 || cfg.Shard < 0 || cfg.Shard > cfg.Shards || cfg.Shard == 0 && cfg.Shards > 0:
		return fmt.Errorf("explore: Config.Shard, Shards: there is no part %d of %d; Shard must be from 1 to Shards, or both 0", cfg.Shard, cfg.Shards)
	case cfg.Workers < 0:
		return fmt.Errorf("explore: Config.Workers: %d is negative; it must be positive, or 0 for one for each processor", cfg.Workers)
	case cfg.Cluster.Seed != 0 || cfg.Cluster.Policy != nil:
		return errors.New("explore: Config.Cluster: Seed and Policy are chosen by the exploration; leave them out")
	case cfg.Cluster.Dir != "" || cfg.Cluster.RealMounts:
		return errors.New("explore: Config.Cluster: the disks of explored clusters are in memory; leave Dir and RealMounts out")
	}
	for i, e := range cfg.Expect {
		if err := e.check(i); err != nil {
			return err
		}
	}
	return cfg.checkStrategies()
}

// runs returns the number of runs there are.
func (cfg Config) runs() int {
	if cfg.Runs == 0 {
		return DefaultRuns
	}
	return cfg.Runs
}

func (cfg Config) shrinkRuns() int {
	switch {
	case cfg.ShrinkRuns == 0:
		return DefaultShrinkRuns
	case cfg.ShrinkRuns < 0:
		return 0
	}
	return cfg.ShrinkRuns
}

func (cfg Config) strategies() []string {
	if len(cfg.Strategies) == 0 {
		return Strategies()
	}
	return cfg.Strategies
}

// Report is the result of an exploration.
type Report struct {
	// Runs is the number of runs there were: all that were asked for; as many as the strategies
	// have or the budget allowed, if that is fewer; or up to the first that failed.
	Runs int
	// Coverage sums up the states that the runs saw.
	Coverage Coverage
	// Upstream sums up the runs that failed by bugs of the modelled release of Kubernetes, unless
	// Config.Upstream is Fail.
	Upstream []Finding
	// WithoutInventory are the provisioners and drivers that do not say what their backends hold: what is left there
	// was not looked for.
	WithoutInventory []string
	// Deviations lists the situations that arose in these runs in which the simulation does otherwise than upstream, in the
	// order of the register (trace.Deviations): there a run is no proof of what a cluster does.
	Deviations []trace.Deviates
}

// Failure is a run that failed, made as small as could be.
type Failure struct { // it is more than an error
	// Run is the number of the run that failed first, and Strategy what made its plan; "" for
	// the plain run.
	Run      int
	Strategy string
	// Plan repeats the failure, with Replay.
	Plan Plan
	// Err is the error of the scenario, a *Broken rule, the error of Close, or the panic.
	Err error
	// Story is the transcript, with short identifiers (storagesim.Trace.Transcript).
	Story string
	// From is the size of the plan that failed first (Plan.Size, with its order written as
	// choices), and ShrinkRuns how many runs it took to make it smaller.
	From, ShrinkRuns int

	// Acts lists the user's acts with Apply and Delete, object by object, that the failure
	// needs ("apply pod/default/web"); LeftOut is the number of all others.
	Acts    []string
	LeftOut int

	// Cluster and Commands are commands of a story (package story) that repeat Plan: the
	// words behind its command "cluster", and the commands before the user's first act. If
	// Untold is set, no commands can repeat it, and Untold says why.
	Cluster  string
	Commands []string
	Untold   error

	// Upstream is the bug of the modelled release of Kubernetes by which the run fails: with it
	// mended, the same plan is clean. nil for a failure of what the scenario plays.
	Upstream *UpstreamBug

	// Deviations lists the situations of the run in which the simulation does otherwise than upstream.
	Deviations []trace.Deviates

	// Nearest is the nearest run that goes well, the plan of the failure without one part, and where both part: the line
	// with which that run goes on, and that of the failure. It is empty if no part can be left out.
	Nearest, GoesOn, FailsWith string

	log     *trace.Log
	told    int                        // the number of its last records that the story tells
	tell    func(trace.Telling) string // tells the story; nil if there is none
	acts    int                        // how many there are, with those left out
	choices []uint32
	needs   []string
	note    string // what attribute has added to Err
	once    bool   // it did not fail so when it was repeated
	stuck   bool   // it is not played again: it takes long to fail, or shows only beside other runs
}

// Rule returns the name of the rule that was broken, "" if the run failed otherwise.
func (f *Failure) Rule() string {
	if broken, ok := errors.AsType[*Broken](f.Err); ok {
		return broken.Rule
	}
	return ""
}

// Error returns the reason, the story, and the line that repeats it.
func (f *Failure) Error() string { return f.reasons() + "the story:\n" + f.Story }

// hang is the indentation of what does not fit into a line.
const hang = 2

// Text returns what Error does, in lines of a width. The line that repeats the failure is not wrapped, since it is there to be copied.
// 0 wraps nothing.
func (f *Failure) Text(width int) string { return f.TextOf(width, nil) }

// TextOf returns what Text does, with the story told only of what keep chooses; nil chooses all.
func (f *Failure) TextOf(width int, keep func(trace.Entry) bool) string {
	lines := strings.SplitAfter(f.reasons(), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "replay ") {
			lines[i] = prose.Wrap(prose.Printable(line), width, hang)
		}
	}
	if f.tell == nil {
		return strings.Join(lines, "") + "the story:\n" + f.Story
	}
	return strings.Join(lines, "") + "the story:\n" + f.tell(trace.Telling{Width: width, Keep: keep})
}

// reasons returns what stands before the story.
func (f *Failure) reasons() string {
	by := "in order"
	if f.Strategy != "" {
		by = "strategy " + f.Strategy
	}
	text := fmt.Sprintf("run %d (%s): %v\n", f.Run, by, f.Err)
	if f.Upstream != nil {
		text += fmt.Sprintf("%s: %s\n", f.Upstream, f.Upstream.Text)
	}
	for _, d := range f.Deviations {
		text += fmt.Sprintf("this run %s\n", d)
	}
	if f.Plan.Size() < f.From {
		text += fmt.Sprintf("made smaller in %d runs: from %d to %d choices and faults\n", f.ShrinkRuns, f.From, f.Plan.Size())
	}
	if f.LeftOut > 0 {
		text += fmt.Sprintf("%d of the user's %d acts are enough: %s\n", len(f.Acts), len(f.Acts)+f.LeftOut, strings.Join(f.Acts, ", "))
	}
	text += fmt.Sprintf("replay %s\n", f.Plan)
	if len(f.Plan.Choices) > 0 {
		text += "(choices are positions: they fit this version and this scenario only)\n"
	}
	if f.Nearest != "" {
		text += fmt.Sprintf("without %s all is well: that run goes on with\n%s\nand this one with\n%s\n", f.Nearest, f.GoesOn, f.FailsWith)
	}
	return text
}

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

// NotRepeatable is the error of a scenario that does not do the same in two plain runs, or of which a run failed and
// did not fail when it was repeated. It depends on something else than its cluster: the order of a map, the wall clock,
// chance, or goroutines of its own.
type NotRepeatable struct { // says what a scenario is
	// Failure is the run that failed once; nil if the plain runs differ.
	Failure *Failure
	// First and Second are the lines at which the stories of the two runs first differ, with the
	// line before.
	First, Second string
}

func (n *NotRepeatable) Error() string {
	if f := n.Failure; f != nil {
		return fmt.Sprintf("run %d (%s) failed, and did not fail so when it was repeated (map order, wall clock, chance or goroutines of its own?); "+
			"it said\n%v\nreplay %s", f.Run, cmp.Or(f.Strategy, "in order"), f.Err, f.Plan)
	}
	return fmt.Sprintf("the scenario does not do the same in two runs (map order, wall clock, chance or goroutines of its own?); one went on with\n%s\n"+
		"the other with\n%s", n.First, n.Second)
}

// Run explores. The error is a *Failure, that of the first run that fails; a *NotRepeatable;
// that of ctx, when it ended before all was tried and nothing had failed; or what is wrong
// with cfg. A panic of the scenario is a failure.
func Run(ctx context.Context, cfg Config, scenario func(c *storagesim.Cluster) error) (Report, error) {
	if err := cfg.check(); err != nil {
		return Report{}, err
	}
	cfg.began = time.Now()
	x := newExploration(ctx, cfg, scenario)
	if failure, err := x.begin(nil); failure != nil || err != nil {
		return x.end(1, 1, failure, err)
	}
	runs := cfg.share(x.planner.plans(cfg.runs()))
	var err error
	first, tried := seeds.First(ctx, seeds.Config{Runs: runs, Budget: cfg.Budget, Least: cfg.least, Workers: cfg.Workers}, func(i uint64) *Failure {
		return x.run(cfg.number(int(i)))
	})
	if first == nil && tried < runs {
		err = ctx.Err()
	}
	last := 0
	if tried > 0 {
		last = cfg.number(tried)
	}
	return x.end(tried, last, first, err)
}

// number returns the number of the i-th run to play, both counted from 1.
func (cfg Config) number(i int) int {
	first, step := max(1, cfg.First), max(1, cfg.Shards)
	if step > 1 { // the first run of this part
		first += (cfg.Shard - 1 - (first-1)%step + step) % step
	}
	return first + (i-1)*step
}

// share returns how many of so many runs to play.
func (cfg Config) share(runs int) int {
	if runs < cfg.number(1) {
		return 0
	}
	return (runs-cfg.number(1))/max(1, cfg.Shards) + 1
}

// nearest finds the nearest run that goes well: the plan of a failure without its last fault, cache or choice.
func (x *exploration) nearest(f *Failure) {
	plan := f.Plan
	switch {
	case plan.Order != "":
		return
	case len(plan.Faults) > 0:
		last := len(plan.Faults) - 1
		f.Nearest, plan.Faults = "fault "+plan.Faults[last].text(), plan.Faults[:last]
	case len(plan.Holds) > 0:
		last := len(plan.Holds) - 1
		f.Nearest, plan.Holds = "hold "+plan.Holds[last].text(), plan.Holds[:last]
	case len(plan.Choices) > 0:
		last := len(plan.Choices) - 1
		f.Nearest, plan.Choices = "choice "+plan.Choices[last].text(), plan.Choices[:last]
	default:
		return
	}
	good, alone := recorded{plain: true}, *x
	alone.plain = nil // with acts that are left out, another run is the plain one
	if alone.play(plan, &good) != nil {
		f.Nearest = ""
		return
	}
	parts := differenceBy(good.story, f.Story, unpadded)
	f.GoesOn, f.FailsWith = lastLine(parts.First), lastLine(parts.Second)
}

func lastLine(text string) string { return text[strings.LastIndex(text, "\n")+1:] }

// Replay repeats the run of a line such as a failure prints. It returns a *Failure if the
// scenario fails, nil if it does not, a *NotReached if it does not and the line does not fit it, and another error for a
// line that cannot be played.
func Replay(cfg Config, line string, scenario func(c *storagesim.Cluster) error) error {
	_, err := Repeat(cfg, line, scenario)
	return err
}

// Repeat does what Replay does, and returns a report of the one run: Report.Runs and Report.Deviations.
func Repeat(cfg Config, line string, scenario func(c *storagesim.Cluster) error) (Report, error) {
	report := Report{Runs: 1}
	if err := cfg.check(); err != nil {
		return report, err
	}
	plan, err := Parse(line)
	if err != nil {
		return report, err
	}
	x := newExploration(context.Background(), cfg, scenario)
	x.goPastAll(plan)
	failure, err := x.begin(plan.Without)
	if err != nil || plan.isPlain() && failure != nil {
		return report, errors.Join(err, asError(failure))
	}
	if counted := x.findings.until(1); plan.isPlain() && len(counted) > 0 {
		return report, counted[0].First
	}
	r := recorded{notes: true}
	f := x.play(plan, &r)
	report.Deviations = r.deviations
	if f != nil && f.stuck {
		return report, f
	}
	if f != nil {
		f.Upstream = x.attribute(f)
		x.tell(f)
		return report, f
	}
	if missing := r.missing(plan); len(missing) > 0 {
		return report, &NotReached{plan, missing}
	}
	if x.left(1) != nil { // a goroutine of one run proves nothing
		story := x.storyOf(plan)
		if left := x.left(severalRuns); left != nil {
			return report, left.failure(story)
		}
	}
	return report, nil
}

// Log returns the records of the run, and the number of the first one that Story tells. It has values (trace.Log.KeepValues) if Config.Cluster asks for
// them.
func (f *Failure) Log() (log *trace.Log, told int) { return f.log, f.log.Len() - f.told }

// asError returns nil for a nil failure.
func asError(f *Failure) error {
	if f == nil {
		return nil
	}
	return f
}

// exploration is one call of Run.
type exploration struct {
	ctx      context.Context
	cfg      Config
	scenario func(c *storagesim.Cluster) error
	planner  *planner
	base     base  // what the plain run told
	plain    *ends // how it stood at its rests; nil as long as it is played
	// plainSteps is the number of steps it had.
	plainSteps uint64
	unlisted   []string // see Report.WithoutInventory
	covered    *covered
	findings   *findings
	deviations *deviations
	past       []*UpstreamBug // by which the plain run fails, and which strike in no other run
	// label begins the label of the exploration's goroutines, and plays counts its runs.
	label string
	plays *atomic.Uint64
	// most is the number of steps after which a run is said not to end.
	most uint64
}

func newExploration(ctx context.Context, cfg Config, scenario func(c *storagesim.Cluster) error) *exploration {
	return &exploration{ctx: ctx, cfg: cfg, scenario: scenario, covered: newCovered(), findings: newFindings(), deviations: &deviations{},
		label: strconv.FormatUint(explorations.Add(1), 10) + "/", plays: new(atomic.Uint64), most: mostSteps}
}

// end returns the outcome. last is the number of the last run that counts.
func (x *exploration) end(runs, last int, failure *Failure, err error) (Report, error) {
	if failure == nil && err == nil && runs > 0 {
		if left := x.left(severalRuns); left != nil {
			failure = left.failure("")
			failure.Story = x.storyOf(failure.Plan)
		}
	}
	report := Report{Runs: runs, Coverage: x.covered.coverage(last), Upstream: x.findings.until(last), WithoutInventory: x.unlisted,
		Deviations: x.deviations.until(last)}
	if failure != nil {
		if failure.once {
			return report, &NotRepeatable{Failure: failure}
		}
		if failure.stuck {
			return report, failure
		}
		x.shrink(failure)
		x.nearest(failure)
		x.tell(failure)
		return report, failure
	}
	return report, err
}

// begin plays the plain run, without the acts that are left out: plans are made from it. Where it fails by a bug of upstream that only counts,
// each run would, and nothing else would be found: all runs that follow are played past that bug.
func (x *exploration) begin(without []int) (*Failure, error) {
	for {
		failure, err := x.plainRun(without)
		if failure == nil || failure.stuck {
			return failure, err
		}
		if own := x.judged(failure); own != nil {
			return own, nil
		}
		if !x.goPast(failure) {
			failure.once = true
			return failure, nil
		}
	}
}

// plainRun plays the plain run twice, since it must repeat.
func (x *exploration) plainRun(without []int) (*Failure, error) {
	first, second := recorded{plain: true}, recorded{plain: true}
	failure := x.play(Plan{Without: without}, &first)
	if failure != nil && failure.stuck {
		failure.Run = 1
		return failure, nil
	}
	again := x.play(Plan{Without: without}, &second)
	x.plainSteps, x.base, x.unlisted = first.steps, first.base, first.unlisted
	x.deviations.add(1, first.deviations)
	switch {
	case withoutClock(first.story, x.cfg.began) != withoutClock(second.story, x.cfg.began):
		return nil, difference(withoutClock(first.story, x.cfg.began), withoutClock(second.story, x.cfg.began))
	case withoutClock(first.trace, x.cfg.began) != withoutClock(second.trace, x.cfg.began):
		return nil, difference(withoutClock(first.trace, x.cfg.began), withoutClock(second.trace, x.cfg.began))
	case failure != nil || again != nil:
		failure = cmp.Or(failure, again)
		failure.Run = 1
		return failure, nil
	}
	if left := x.left(severalRuns); left != nil {
		return left.failure(first.story), nil
	}
	x.plain = &first.ends
	x.planner = newPlanner(first.base, x.cfg.strategies(), x.cfg.runs())
	x.covered.expect(x.planner)
	return nil, nil
}

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// withoutClock returns a text in which each moment between one of the machine's time and now is the same word: a program that writes
// time.Now into a condition does the same in two runs.
func withoutClock(text string, from time.Time) string {
	from, now := from.Truncate(time.Second), time.Now()
	return moment.ReplaceAllStringFunc(text, func(found string) string {
		if at, err := time.Parse(time.RFC3339, found); err != nil || at.Before(from) || at.After(now) {
			return found
		}
		return "<the machine's time>"
	})
}

// severalRuns is the number of runs that must leave a goroutine of the same function.
const severalRuns = 2

// storyOf returns the story of a plan whose run does not fail.
func (x *exploration) storyOf(plan Plan) string {
	r := recorded{plain: true}
	_ = x.play(plan, &r)
	return r.story
}

// unpadded returns a line without the blanks that align its columns: they depend on the longest name of an actor in the whole story.
func unpadded(line string) string { return strings.Join(strings.Fields(line), " ") }

// difference returns the first lines in which two stories differ.
func difference(first, second string) *NotRepeatable {
	return differenceBy(first, second, func(line string) string { return line })
}

// differenceBy returns the first lines of which key differs.
func differenceBy(first, second string, key func(line string) string) *NotRepeatable {
	a, b := strings.SplitAfter(first, "\n"), strings.SplitAfter(second, "\n")
	i := 0
	for i < min(len(a), len(b)) && key(a[i]) == key(b[i]) {
		i++
	}
	from := max(0, i-1)
	around := func(lines []string) string {
		return strings.TrimRight(strings.Join(lines[min(from, len(lines)):min(i+1, len(lines))], ""), "\n")
	}
	return &NotRepeatable{First: around(a), Second: around(b)}
}

// run returns the run of that number.
func (x *exploration) run(number int) *Failure {
	strategy, plan := x.planner.plan(number)
	r := recorded{number: number}
	f := x.play(plan, &r)
	if f != nil && f.stuck {
		f.Run, f.Strategy = number, strategy
		return f
	}
	x.covered.add(number, plan, &r, f == nil)
	x.deviations.add(number, r.deviations)
	if f != nil {
		f.Run, f.Strategy = number, strategy
		f = x.judged(f)
	}
	if x.cfg.Progress != nil {
		x.cfg.Progress(number)
	}
	return f
}

// judged repeats a failure, and lays it to upstream if it comes from there. It returns nil for one that only counts.
func (x *exploration) judged(f *Failure) *Failure {
	if again := x.play(f.Plan, nil); again == nil || again.Reason() != f.Reason() {
		f.once = true
		return f
	}
	f.Upstream = x.attribute(f)
	if f.Upstream == nil || x.cfg.Upstream == Fail {
		return f
	}
	x.findings.add(f)
	return nil
}

// recorded holds the notes of a run.
type recorded struct {
	base        // if plain or notes is set
	number int  // of the run, 0 if it has none
	plain  bool // the run is without trouble
	notes  bool // what a run with trouble does is noted
	ends   ends
	// story is the transcript, and trace all writes with their objects and all records, of the plain run only.
	story, trace string
	writes       strings.Builder
	seen         *seen
	steps        uint64
	unlisted     []string
	deviations   []trace.Deviates
	// trouble holds the run's faults and holds, and missed those that struck nothing.
	trouble *trouble
	missed  []string
	opening
}

// ends says how the objects of a run stood at its rests, and at the end.
type ends struct {
	rests []restOf
	end   tally
	lost  []leaks.Loss // at the end
	// failing counts, by actor, the work that fails at the end.
	failing map[string]int
}

// play returns one run. What it does is noted in r, if that is given. If it does not fail, its twins are played, too:
// they judge what is behind at a rest.
func (x *exploration) play(plan Plan, r *recorded) *Failure {
	number := 0
	if r != nil {
		number = r.number
	}
	return x.watch(plan, number, func(w *underWay) *Failure {
		f, doubtful := x.playTo(plan, r, nil, w)
		for i := 0; f == nil && i < len(doubtful); i++ {
			f, _ = x.playTo(plan, nil, &doubtful[i], w)
		}
		return f
	})
}

// playTo plays a run to its end, or to a rest, which it then judges: all trouble ends there. It returns the rests that
// a twin must judge.
func (x *exploration) playTo(plan Plan, r *recorded, until *restOf, w *underWay) (f *Failure, doubtful []restOf) {
	policy, err := orderOf(plan)
	if err != nil {
		return &Failure{Plan: plan, Err: err}, nil
	}
	if policy == nil {
		policy = &deviating{choices: plan.Choices}
	}
	c, err := storagesim.New(x.cfg.of(plan.Seed, policy))
	if err != nil {
		return &Failure{Plan: plan, Err: err}, nil
	}
	w.cluster.Store(c)
	did, seen := watchActs(c, plan, r), follow(c)
	seen.partial = len(plan.Without) > 0
	if until == nil {
		err = x.playOn(c, plan, r, seen)
	} else {
		err = x.judge(c, plan, seen, *until)
	}
	r.noteRPCs(c)
	if r != nil {
		r.steps, r.deviations = c.Engine().Steps(), c.Trace().Deviations()
	}
	if r != nil && r.plain {
		r.story, r.unlisted = tellingOf(c, c.Trace().Records())(trace.Telling{}), c.Lab().WithoutInventory()
		r.trace = r.writes.String() + c.Engine().Trace().String()
	}
	if err = errors.Join(err, c.Close()); err == nil {
		if until == nil {
			doubtful = x.doubtful(seen)
		}
		return nil, doubtful
	}
	f = &Failure{Plan: plan, Err: err, Story: seen.story, tell: seen.tell, Deviations: c.Trace().Deviations(), From: plan.Size(), Acts: did.done,
		acts: did.count, choices: c.Engine().Choices(), needs: needs(c), log: c.Engine().Trace(), told: len(c.Trace().Records())}
	if f.tell == nil {
		f.tell = tellingOf(c, c.Trace().Records())
		f.Story = f.tell(trace.Telling{})
	}
	return f, nil
}

// tellingOf returns a function that tells records of a cluster, with short identifiers and the calls of provisioners:
// a failure is told to the author of such code.
func tellingOf(c *storagesim.Cluster, records []trace.Entry) func(trace.Telling) string {
	return func(how trace.Telling) string {
		how.Shorten, how.Calls = c.Trace().ShortIDs, true
		return c.Trace().TellRecords(records, how)
	}
}

// of returns the configuration of one run's cluster.
func (cfg Config) of(seed uint64, policy engine.Policy) storagesim.Config {
	cluster := cfg.Cluster
	cluster.Seed, cluster.Policy, cluster.Disks = seed, policy, storagesim.MemoryDisks
	return cluster
}

// playOn plays the scenario on a cluster, with the planned trouble, and returns the first
// rule that is broken, or the scenario's error.
func (x *exploration) playOn(c *storagesim.Cluster, plan Plan, r *recorded, seen *objects) error {
	g := newGuard(c, append(x.cfg.builtIn(x.plain, seen), x.cfg.Rules...))
	trouble, err := x.beginTrouble(c, plan, r)
	if err != nil {
		return err
	}
	err = guarded(func() error { return x.scenario(c) })
	if g.broken != nil {
		return g.broken
	}
	if err != nil {
		return seen.refused(err, !plan.isPlain())
	}
	trouble.end()
	if r != nil && r.plain {
		r.ends.rests = slices.Clone(seen.rests)
	}
	if err := rest(c, g); err != nil {
		return err
	}
	return r.finish(c, seen)
}

// judge plays a run to a rest, ends all trouble there, and returns an error if something is behind 20 minutes later.
func (x *exploration) judge(c *storagesim.Cluster, plan Plan, seen *objects, until restOf) error {
	trouble, err := x.beginTrouble(c, plan, nil)
	if err != nil {
		return err
	}
	wrong := x.wrongAt(c, seen, until)
	rests, behind := 0, error(nil)
	c.Lab().OnRest(func() {
		if rests++; rests != until.at {
			return
		}
		trouble.end()
		c.Lab().OnRest(nil)
		behind = seen.catchUp(wrong)
		c.Engine().Interrupt()
	})
	_ = guarded(func() error { return x.scenario(c) }) // it is interrupted
	return behind
}

// wrongAt returns a function that says what is wrong on a twin, at the rest or later.
func (x *exploration) wrongAt(c *storagesim.Cluster, seen *objects, until restOf) func() error {
	rule, ill, before := PlainRun, func() error { return seen.ill(x.cfg.Expect) }, unheld()
	if x.plain != nil {
		i := slices.IndexFunc(x.plain.rests, func(r restOf) bool { return r.acts == until.acts })
		plain := x.plain.rests[i]
		rule, before = Liveness, plain.lost
		ill = func() error {
			return seen.behindOf(plain.tally, "when the user acts next, 20 minutes after all trouble: ")
		}
	}
	return func() error {
		if err := lost(c, before); err != nil && !x.cfg.excepts(NothingLost) {
			return &Broken{NothingLost, err}
		}
		if err := ill(); err != nil && !x.cfg.excepts(rule) {
			return &Broken{rule, err}
		}
		return nil
	}
}

// beginTrouble makes the trouble of a plan strike from now on. It records the run in r, unless that is nil.
func (x *exploration) beginTrouble(c *storagesim.Cluster, plan Plan, r *recorded) (*trouble, error) {
	t, err := newTrouble(c, plan)
	if r != nil {
		r.trouble = t
		r.ours = c.Engine().Actors()
		r.seen = newSeen()
		c.Engine().Server().OnWrite(r.seen.write)
		if r.plain {
			c.Engine().Server().OnWrite(r.write)
		}
	}
	c.Engine().OnCall(func(number int, call *api.Request) {
		t.call(number, call)
		if r != nil {
			r.call(call)
		}
	})
	c.Engine().OnPoint(func(number int, actor, point string) {
		t.point(number, actor, point)
		if r != nil && (r.plain || r.notes) {
			r.points = append(r.points, actor+" "+point)
		}
	})
	return t, err
}

// Recovery is the virtual time that a cluster has after all trouble until the rules hold: the
// longest backoffs are of some minutes.
const Recovery = 20 * time.Minute

// rest waits, without trouble, until the cluster is at rest, and sees that the rules hold.
func rest(c *storagesim.Cluster, g *guard) error {
	broken := func() error {
		err := c.Settle()
		switch {
		case g.broken != nil:
			return g.broken
		case err != nil:
			return fmt.Errorf("it does not come to rest: %w", err)
		}
		return g.rest()
	}
	err := broken()
	left := Recovery
	for wait := firstLook; err != nil && left > 0 && g.broken == nil; wait *= 2 {
		wait = min(wait, left)
		left -= wait
		if err := c.RunFor(wait); err != nil && g.broken == nil {
			return fmt.Errorf("it does not come to rest: %w", err)
		}
		err = broken()
	}
	return cmp.Or(asBroken(g.broken), err)
}

// firstLook is when the rules are looked at again, and then each time after twice as long:
// most of what Settle does not wait for is done at the PV controller's next resync.
const firstLook = 15 * time.Second

func asBroken(b *Broken) error {
	if b == nil {
		return nil
	}
	return b
}

// guarded turns a panic into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// write notes a write of the plain run with its object.
func (r *recorded) write(w trace.Write) {
	object, err := json.Marshal(w.New)
	if err != nil {
		object = []byte(err.Error())
	}
	fmt.Fprintf(&r.writes, "%s %ss %s: %s\n", w.Actor, w.Verb, w.About(), object)
}

// call notes a call at the API server.
func (r *recorded) call(call *api.Request) {
	if r.plain || r.notes {
		r.calls = append(r.calls, place(call))
	}
}

// noteRPCs notes the calls to drivers.
func (r *recorded) noteRPCs(c *storagesim.Cluster) {
	if r == nil {
		return
	}
	for _, entry := range c.Trace().Records() {
		rpc, ok := entry.Record.(trace.RPC)
		if ok && (r.plain || r.notes) {
			r.rpcs = append(r.rpcs, entry.Actor+" "+rpc.Method)
		}
	}
	if r.trouble != nil {
		r.missed = r.trouble.missed()
	}
}

// finish notes how a plain run ended.
func (r *recorded) finish(c *storagesim.Cluster, seen *objects) error {
	if r == nil || !r.plain && !r.notes {
		return nil
	}
	for _, actor := range c.Engine().Actors() {
		resources, err := c.Engine().Follows(actor)
		if err != nil {
			return err
		}
		for _, resource := range resources {
			r.follows = append(r.follows, Hold{Actor: actor, Resource: resource})
		}
	}
	r.choices = len(c.Engine().Choices())
	r.ends.end, r.ends.lost, r.ends.failing = maps.Clone(seen.tally), c.Lab().Lost(), seen.failing.count()
	return nil
}
