package storagesim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/kubelet"
	kubeletcsi "github.com/storagesim/storagesim/kubelet/csi"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/volume"
)

// AddNode adds a node: a directory of its own, and a kubelet that
// registers it in the next Settle, Step or RunFor.
func (c *Cluster) AddNode(node Node) error {
	if err := node.check("Node"); err != nil {
		return err
	}
	if slices.ContainsFunc(c.cfg.Nodes, func(other Node) bool { return other.Name == node.Name }) {
		return fmt.Errorf("Node.Name: there is a node called %q already", node.Name)
	}
	if err := c.addNode(node); err != nil {
		return err
	}
	c.cfg.Nodes = append(slices.Clone(c.cfg.Nodes), node)
	return nil
}

// addNode adds the node's machine and starts its kubelet.
func (c *Cluster) addNode(node Node) error {
	m, err := c.addMachine(machine.Node, node.Name, cmp.Or(node.Capacity.StorageEphemeral().Value(), c.cfg.DiskSize))
	if err != nil {
		return fmt.Errorf("node %s: %w", node.Name, err)
	}
	containers := runtime.New(runtime.Config{Root: m.Disk(), Kind: node.Runtime, Images: node.Images, Entrypoints: c.cfg.Entrypoints})
	c.containers[node.Name] = containers
	cfg := kubelet.Config{
		Node: v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, Annotations: node.Annotations},
			Spec:       v1.NodeSpec{Taints: node.Taints},
			Status:     v1.NodeStatus{Capacity: node.Capacity},
		},
		Root:       m.Disk(),
		Mounter:    m.Mounter(),
		Plugins:    c.volumePlugins(m),
		Runtime:    containers,
		Server:     &kubelet.Server{},
		CSIDrivers: node.CSIDrivers,
	}
	if c.cfg.TakePrograms {
		cfg.TakesPrograms = c.takesPrograms
	}
	cfg.NoDefaultAccount = c.cfg.NoServiceAccountAdmission
	if c.cfg.Kubelet != nil {
		c.cfg.Kubelet(&cfg)
	}
	c.kubelets[node.Name] = cfg
	if err := c.addActor("kubelet/"+node.Name, kubelet.New(cfg)); err != nil {
		return err
	}
	c.onNode[node.Name] = []string{"kubelet/" + node.Name}
	for _, d := range c.csiDrivers {
		if err := c.runOnNode(d, m); err != nil {
			return err
		}
	}
	return nil
}

// volumePlugins returns a function that makes the plugins of a node's kubelet: those of
// Config.VolumePlugins, and the one for CSI drivers, which calls them on the node's sockets.
func (c *Cluster) volumePlugins(node *machine.Machine) func() []volume.VolumePlugin {
	others, name := c.cfg.VolumePlugins, node.String()
	if others == nil {
		others = kubelet.DefaultPlugins
	}
	drivers := &kubeletcsi.Node{
		Machine: name, Transport: c.sockets.Transport,
		Sockets: func(dir string) []string { return c.sockets.In(name, dir) },
		Watch:   func(dir string, changed func(string)) func() { return c.sockets.Watch(name, dir, changed) },
	}
	return func() []volume.VolumePlugin {
		plugins := others()
		for _, plugin := range plugins {
			if plugin.GetPluginName() == kubeletcsi.PluginName {
				return plugins // the user's own plugin for CSI
			}
		}
		return append(plugins, drivers.NewPlugin())
	}
}

// nodeOf returns the NAME of "node/NAME"; false if name is not of this form.
func (c *Cluster) nodeOf(name string) (string, bool) {
	return strings.CutPrefix(name, string(machine.Node)+"/")
}

// switchOff cuts the power of a node's machine.
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
			err = errors.Join(err, c.engine.SwitchOff(actor))
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

// machineOff returns the machine, node/NAME, of an actor that runs on one which is switched off; "" for others.
func (c *Cluster) machineOff(actor string) string {
	for _, node := range c.cfg.Nodes {
		if c.off[node.Name] && slices.Contains(c.onNode[node.Name], actor) {
			return string(machine.Node) + "/" + node.Name
		}
	}
	return ""
}

// stopped reports whether an actor was stopped and not started since.
func (c *Cluster) stopped(actor string) bool {
	restart, down := c.engine.Down()[actor]
	return down && restart.IsZero()
}
