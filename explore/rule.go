package explore

import (
	"fmt"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/trace"
)

// Rule is something that must hold in every run. The built-in ones are checked always
// (BuiltInRules); a user's own are Config.Rules.
type Rule struct {
	// Name is the name of the rule in a failure.
	Name string
	// Begin is called for each run before the scenario, and makes what checks that run.
	Begin func(c *storagesim.Cluster) Check
}

// Check checks one run. Fields may be nil.
type Check struct {
	// Write is called for each write that the server carried out, before its client has the
	// answer. It must not call the cluster; w's objects are shared and must not be changed.
	Write func(w trace.Write) error
	// Rest is called at the end, when all trouble is over and the cluster is at rest.
	Rest func() error
}

// Broken is the error of a run in which a rule did not hold.
type Broken struct { // a rule that is broken
	// Rule is the rule's name.
	Rule string
	// Err says how the rule was broken.
	Err error
}

func (b *Broken) Error() string { return fmt.Sprintf("%s: %v", b.Rule, b.Err) }

// Unwrap returns Err.
func (b *Broken) Unwrap() error { return b.Err }

// guard checks all rules of one run.
type guard struct {
	c      *storagesim.Cluster
	names  []string
	checks []Check
	broken *Broken // the first
}

func newGuard(c *storagesim.Cluster, rules []Rule) *guard {
	g := &guard{c: c}
	watches := false
	for _, r := range rules {
		check := r.Begin(c)
		g.names, g.checks = append(g.names, r.Name), append(g.checks, check)
		watches = watches || check.Write != nil
	}
	if watches {
		c.Engine().Server().OnWrite(g.write)
	}
	return g
}

// write checks the rules at a write. The run ends at the first broken rule.
func (g *guard) write(w trace.Write) {
	if w.Err != nil || w.Old == w.New || g.broken != nil {
		return
	}
	for i, check := range g.checks {
		if check.Write == nil {
			continue
		}
		if err := check.Write(w); err != nil {
			g.broken = &Broken{g.names[i], err}
			g.c.Engine().Interrupt()
			return
		}
	}
}

// rest returns the first rule that is broken at the end.
func (g *guard) rest() error {
	for i, check := range g.checks {
		if check.Rest == nil {
			continue
		}
		if err := guarded(func() error { return check.Rest() }); err != nil {
			return &Broken{g.names[i], err}
		}
	}
	return nil
}

// check refuses rules that cannot work.
func (r Rule) check(i int) error {
	if r.Name == "" || r.Begin == nil {
		return fmt.Errorf("explore: Config.Rules[%d]: it needs a Name and a Begin", i)
	}
	return nil
}
