package story

import (
	"time"

	"github.com/storagesim/storagesim/engine"
)

func failPointCommand() *command {
	return &command{
		name:  "fail-point",
		usage: "fail-point ACTOR POINT [when=before|after] [lost=yes | delay=TIME | crash=yes [restart=TIME]] [times=N] [skip=N]",
		help: "have an actor's code fail at a point that it marks with package mayfail, lose the answer, wait, or crash\n" +
			"By default the code gets an error. when=before (the default): the function of the point is not called; after: it was called.\n" +
			"lost=yes: it is called, and the code gets an error. delay=TIME: time passes, and then it is called.\n" +
			"crash=yes: the actor's process ends and starts again, at once or after restart=.\n" +
			"The actor of a CSI driver is csi-driver/NAME, and csi-driver/NAME/NODE on a node. times= is how often, default 1; 0 is always.\n" +
			"ACTOR and POINT may be any. Example: fail-point example.com/disks appliance.create lost=yes",
		run: failPoint,
	}
}

func failPoint(c *call) error {
	set, err := c.settings("when", "lost", "delay", "crash", "restart", "times", "skip")
	if err != nil {
		return err
	}
	if err := c.want(2, 2); err != nil {
		return err
	}
	f := engine.PointFault{Actor: unlessAny(c.args[0]), Point: unlessAny(c.args[1])}
	if f.After, f.Times, f.Skip, err = c.which(set); err != nil {
		return err
	}
	if err := c.pointEffect(&f, set); err != nil {
		return err
	}
	if err := c.cluster.Inject(f); err != nil {
		return misuse{err}
	}
	c.say("%s will fail at point %s", c.args[0], c.args[1])
	return nil
}

// pointEffect reads what happens at the points.
func (c *call) pointEffect(f *engine.PointFault, set map[string]string) (err error) {
	delay, isDelay := set["delay"]
	lost, isLost := set["lost"]
	crash, isCrash := set["crash"]
	restart, restarts := set["restart"]
	switch {
	case isDelay && isLost || isDelay && isCrash || isLost && isCrash:
		return c.misuse("expected only one of lost=, delay= and crash=")
	case isLost && lost != "yes":
		return c.misuse("lost: %q; expected yes", lost)
	case isCrash && crash != "yes":
		return c.misuse("crash: %q; expected yes", crash)
	case restarts && !isCrash:
		return c.misuse("restart= is how long the process is away after crash=yes, which is not set")
	case isLost && set["when"] == "before":
		return c.misuse("lost=yes: there is an answer to lose only after the call; expected when=after or nothing")
	case f.After && !isLost && !isDelay && !isCrash:
		return c.misuse("when=after: an error after the call is a lost answer: expected lost=yes, delay= or crash=yes")
	case isLost:
		f.After = true
	case isDelay:
		f.Delay, err = c.duration("delay", delay)
		if err == nil && f.Delay < time.Nanosecond {
			return c.misuse("delay: %q; expected a time above 0", delay)
		}
	case isCrash:
		f.Crash = true
		if restarts {
			f.Restart, err = c.duration("restart", restart)
		}
	}
	return err
}
