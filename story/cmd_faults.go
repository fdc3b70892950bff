package story

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
)

func faultCommands() []*command {
	return []*command{
		{
			name: "crash", usage: "crash ACTOR [before|after VERB RESOURCE [NAME]] [skip=N] [restart=TIME]", run: crash,
			help: "end an actor's process now, or at its next call to the API of that kind\n" +
				"The actor starts again without its memory, at once or after restart=, for which settle does not wait. skip= lets that many calls pass first.\n" +
				"VERB and RESOURCE may be any. Example: crash openebs.io/local before create pv",
		},
		{
			name: "fail", usage: "fail ACTOR VERB RESOURCE [NAME] [times=N] [skip=N] [error=REASON | lost=yes | delay=TIME]", run: fail,
			help: "refuse an actor's calls to the API of that kind, lose their answers, or make them slow\n" +
				"error= is one of " + strings.Join(slices.Sorted(maps.Keys(reasons)), ", ") + "; default InternalError.\n" +
				"lost=yes: the call is carried out and the caller is told it timed out.\n" +
				"times= is how many calls, default 1; 0 is all. ACTOR, VERB and RESOURCE may be any.",
		},
		{name: "hold", usage: "hold ACTOR RESOURCE", help: "stop an actor's cache of a resource from receiving changes", run: hold},
		{name: "lag", usage: "lag ACTOR RESOURCE", help: "the same, and after a crash the actor lists what there is now, as from an API server that is behind",
			run: lag},
		{name: "release", usage: "release ACTOR RESOURCE", help: "let a held cache receive its changes", run: release},
		failCSICommand(), failPointCommand(), breakCommand(), mendCommand(),
	}
}

// reasons are the errors that fail can give.
var reasons = map[string]func(schema.GroupResource, string) error{
	"InternalError": func(schema.GroupResource, string) error { return apierrors.NewInternalError(errors.New("injected")) },
	"Conflict": func(r schema.GroupResource, n string) error {
		return apierrors.NewConflict(r, n, errors.New("injected"))
	},
	"Forbidden": func(r schema.GroupResource, n string) error {
		return apierrors.NewForbidden(r, n, errors.New("injected"))
	},
	"NotFound":           func(r schema.GroupResource, n string) error { return apierrors.NewNotFound(r, n) },
	"AlreadyExists":      func(r schema.GroupResource, n string) error { return apierrors.NewAlreadyExists(r, n) },
	"Timeout":            func(schema.GroupResource, string) error { return apierrors.NewTimeoutError("injected", 0) },
	"TooManyRequests":    func(schema.GroupResource, string) error { return apierrors.NewTooManyRequests("injected", 0) },
	"ServiceUnavailable": func(schema.GroupResource, string) error { return apierrors.NewServiceUnavailable("injected") },
}

// unlessAny returns the word, or nothing, which matches anything.
func unlessAny(word string) string {
	if word == "any" {
		return ""
	}
	return word
}

// calls reads "ACTOR VERB RESOURCE [NAME]" and skip= into a fault.
func (c *call) calls(actor string, words []string, set map[string]string) (f engine.Fault, err error) {
	if len(words) < 2 || len(words) > 3 {
		return f, c.misuse("%q does not say which calls; expected VERB RESOURCE [NAME]", strings.Join(words, " "))
	}
	f.Actor, f.Verb = unlessAny(actor), unlessAny(words[0])
	if f.Resource = unlessAny(words[1]); f.Resource != "" {
		if f.Resource, err = manifest.Plural(c.kinds(), f.Resource); err != nil {
			return f, misuse{err}
		}
	}
	if len(words) == 3 {
		f.Name = words[2]
	}
	if skip, ok := set["skip"]; ok {
		f.Skip, err = c.number("skip", skip)
	}
	return f, err
}

func crash(c *call) error {
	set, err := c.settings("skip", "restart")
	if err != nil {
		return err
	}
	var downtime time.Duration
	if restart, ok := set["restart"]; ok {
		if downtime, err = c.duration("restart", restart); err != nil {
			return err
		}
	}
	if len(c.args) == 0 {
		return c.misuse("no actor is named%s", prose.OneOf("", c.cluster.Engine().Actors()))
	}
	if _, skips := set["skip"]; len(c.args) == 1 && !skips {
		if err := c.cluster.Engine().CrashFor(c.args[0], downtime); err != nil {
			return misuse{err}
		}
		c.say("%s crashed", c.args[0])
		return nil
	}
	if len(c.args) < 2 || c.args[1] != "before" && c.args[1] != "after" {
		return c.misuse("expected before or after, and then which call")
	}
	f, err := c.calls(c.args[0], c.args[2:], set)
	if err != nil {
		return err
	}
	f.Crash, f.After = true, c.args[1] == "after"
	f.Restart, f.Unawaited = downtime, downtime > 0
	return c.inject(f, "%s will crash %s", c.args[0], strings.Join(c.args[1:], " "))
}

func fail(c *call) error {
	set, err := c.settings("times", "skip", "error", "lost", "delay")
	if err != nil {
		return err
	}
	if err := c.want(3, 4); err != nil {
		return err
	}
	f, err := c.calls(c.args[0], c.args[1:], set)
	if err != nil {
		return err
	}
	if f.Times, err = c.times(set); err != nil {
		return err
	}
	if err := c.effect(&f, set); err != nil {
		return err
	}
	return c.inject(f, "%s will fail to %s", c.args[0], strings.Join(c.args[1:], " "))
}

// effect reads what happens to the calls.
func (c *call) effect(f *engine.Fault, set map[string]string) (err error) {
	_, isError := set["error"]
	delay, isDelay := set["delay"]
	lost, isLost := set["lost"]
	switch {
	case isDelay && isError || isLost && isError || isLost && isDelay:
		return c.misuse("expected only one of error=, lost= and delay=")
	case isDelay:
		f.Delay, err = c.duration("delay", delay)
		return err
	case isLost && lost != "yes":
		return c.misuse("lost: %q; expected yes", lost)
	case isLost:
		f.After = true
		return nil
	}
	reason := set["error"]
	if !isError {
		reason = "InternalError"
	}
	newError, ok := reasons[reason]
	if !ok {
		return c.misuse("error: unknown reason %q%s", reason, prose.OneOf(reason, slices.Sorted(maps.Keys(reasons))))
	}
	f.Err = newError(schema.GroupResource{Resource: f.Resource}, f.Name)
	return nil
}

func (c *call) inject(f engine.Fault, format string, args ...any) error {
	if err := c.cluster.Inject(f); err != nil {
		return misuse{err}
	}
	c.say(format, args...)
	return nil
}

func hold(c *call) error {
	return c.cache("is held", c.cluster.Hold)
}

func lag(c *call) error {
	return c.cache("lags behind", c.cluster.Engine().Lag)
}

func release(c *call) error {
	return c.cache("is released", c.cluster.Release)
}

func (c *call) cache(done string, f func(actor, resource string) error) error {
	if err := c.want(2, 2); err != nil {
		return err
	}
	resource, err := manifest.Plural(c.kinds(), c.args[1])
	if err != nil {
		return misuse{err}
	}
	if err := f(c.args[0], resource); err != nil {
		return misuse{err}
	}
	c.say("%s's cache of %s %s", c.args[0], resource, done)
	return nil
}
