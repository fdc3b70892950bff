package storagesim

import (
	"fmt"

	"github.com/storagesim/storagesim/internal/manifest"
)

// Crash ends an actor's process: it forgets everything and starts again at once. Engine.CrashFor keeps it down for a while.
func (c *Cluster) Crash(actor string) error { return c.engine.Crash(actor) }

// Stop ends an actor's process until Start. Its files on the node's disk stay, and a
// kubelet's containers go on running, unreported. "node/node-1" instead of an actor switches
// the whole machine off: its kubelet and its parts of CSI
// drivers stop, its containers end and its mounts are gone; only its disk stays.
func (c *Cluster) Stop(actor string) error {
	if node, ok := c.nodeOf(actor); ok {
		return c.switchOff(node)
	}
	return c.engine.Stop(actor)
}

// Start starts a stopped actor again, with empty caches, in the next Settle, Step or RunFor.
// "node/node-1" switches on a machine that Stop has switched off, with all that runs there; until then nothing starts there.
func (c *Cluster) Start(actor string) error {
	if node, ok := c.nodeOf(actor); ok {
		return c.switchOn(node)
	}
	if m := c.machineOff(actor); m != "" {
		return fmt.Errorf("actor %q cannot start: its machine is switched off; start %s", actor, m)
	}
	return c.engine.Start(actor)
}

// Hold delivers no more changes to an actor's cache of a resource until Release. The resource may
// have any name that kubectl knows ("persistentvolumes", "pv").
func (c *Cluster) Hold(actor, resource string) error { return c.cache(c.engine.Hold, actor, resource) }

// Release lets a held cache catch up.
func (c *Cluster) Release(actor, resource string) error {
	return c.cache(c.engine.Release, actor, resource)
}

func (c *Cluster) cache(do func(actor, resource string) error, actor, resource string) error {
	resource, err := manifest.Plural(c.server().Registry(), resource)
	if err != nil {
		return err
	}
	return do(actor, resource)
}
