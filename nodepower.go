package storagesim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/storagesim/storagesim/machine"
)

// nodeOf is the node that "node/NAME" names.
func (c *Cluster) nodeOf(name string) (string, bool) {
	return strings.CutPrefix(name, string(machine.Node)+"/")
}

// switchOff has a node's machine lose its power.
func (c *Cluster) switchOff(node string) error {
	m, err := c.machine(string(machine.Node) + "/" + node)
	switch {
	case err != nil:
		return err
	case c.off[node]:
		return fmt.Errorf("node %q is switched off already", node)
	}
	c.off[node] = true
	for _, actor := range c.onNode[node] {
		if !c.stopped(actor) {
			err = errors.Join(err, c.engine.Stop(actor))
		}
	}
	c.containers[node].SwitchOff()
	return errors.Join(err, m.SwitchOff())
}

// switchOn starts a node that was switched off, and all that runs there.
func (c *Cluster) switchOn(node string) error {
	_, err := c.machine(string(machine.Node) + "/" + node)
	switch {
	case err != nil:
		return err
	case !c.off[node]:
		return fmt.Errorf("node %q is not switched off", node)
	}
	delete(c.off, node)
	for _, actor := range c.onNode[node] {
		if c.stopped(actor) {
			err = errors.Join(err, c.engine.Start(actor))
		}
	}
	return err
}

// stopped says whether an actor was stopped, and has not been started since.
func (c *Cluster) stopped(actor string) bool {
	restart, down := c.engine.Down()[actor]
	return down && restart.IsZero()
}
