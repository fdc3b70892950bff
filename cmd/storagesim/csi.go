package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/call"
	"github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/csi/snapshotter"
	"github.com/storagesim/storagesim/internal/manifest"
)

// csiEndpoint is a value of --csi-endpoint.
type csiEndpoint struct {
	label   string // the flag, for errors
	name    string // of the driver, "" to ask it
	address string // with {node} for the name of a node
}

// nodeWord stands for the name of a node in an address.
const nodeWord = "{node}"

// askTime is the time that a driver may take to answer GetPluginInfo.
const askTime = 10 * time.Second

const csiHelp = "`ADDRESS` of a CSI driver that runs already: unix:///PATH or tcp://HOST:PORT; may be repeated"

// onNode returns the address of the driver's process for a node.
func (e csiEndpoint) onNode(node string) string {
	return strings.ReplaceAll(e.address, nodeWord, node)
}

// csiEndpoints reads the values of --csi-endpoint.
func (o *runOptions) csiEndpoints() ([]csiEndpoint, error) { return readEndpoints(o.csi, o.nodes) }

// readEndpoints reads values of --csi-endpoint, of drivers on these nodes.
func readEndpoints(texts, nodes []string) (all []csiEndpoint, err error) {
	for _, text := range texts {
		e := csiEndpoint{address: text}
		if name, address, named := strings.Cut(text, "="); named {
			e = csiEndpoint{name: name, address: address}
		}
		e.label = "--csi-endpoint " + e.address
		if slices.ContainsFunc(all, func(other csiEndpoint) bool { return other.address == e.address }) {
			return nil, fmt.Errorf("--csi-endpoint: %s is given twice", e.address)
		}
		for _, node := range nodes {
			if err := call.CheckAddress(e.onNode(node)); err != nil {
				return nil, fmt.Errorf("--csi-endpoint: %w", err)
			}
		}
		if err := oneNode("--csi-endpoint", text, nodes); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// chooseNodes has a cluster with a driver for one node have one node, unless --nodes says
// otherwise.
func (o *runOptions) chooseNodes(flags *pflag.FlagSet) {
	alone := slices.ContainsFunc(slices.Concat(o.csi, o.commands), func(text string) bool { return !strings.Contains(text, nodeWord) })
	if alone && !flags.Changed("nodes") {
		o.nodes = o.nodes[:1]
	}
}

// installCSI installs the drivers of --csi-endpoint, and those that --csi-command has started.
func (o *runOptions) installCSI(ctx context.Context, c *storagesim.Cluster, objects []manifest.Object) error {
	endpoints, err := o.csiEndpoints()
	if err != nil {
		return err
	}
	for _, e := range append(endpoints, o.started...) {
		d, err := e.driver(ctx, o.nodes[0])
		if err != nil {
			return err
		}
		for _, obj := range objects {
			if object, ok := obj.Object.(*storagev1.CSIDriver); ok && object.Name == d.Name {
				d.Spec = object.Spec
			}
		}
		if o.extra {
			d.Sidecars.Provisioner = func(c *provisioner.Config) { c.ExtraCreateMetadata = true }
			d.Sidecars.Snapshotter = func(c *snapshotter.Config) { c.ExtraCreateMetadata = true }
		}
		if err := c.InstallCSIDriver(d); err != nil {
			return fmt.Errorf("%s: %w", e.label, err)
		}
	}
	return nil
}

// driver returns the driver at an endpoint; the process of the first node has the controller.
func (e csiEndpoint) driver(ctx context.Context, first string) (csi.Driver, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	at := e.onNode(first)
	d, err := csi.AtEndpoint(ctx, at)
	switch {
	case err != nil && !strings.HasPrefix(e.label, "--csi-endpoint"):
		return d, fmt.Errorf("%s: the driver does not say who it is: %w", e.label, errors.Unwrap(err))
	case err != nil && e.name == "":
		return d, fmt.Errorf("%s: no driver says who it is there: %w; start it first, or give its name, as in NAME=%s", e.label, errors.Unwrap(err), e.address)
	case err != nil:
		d = csi.Driver{Name: e.name, Endpoint: at, NodeEndpoint: e.onNode}
	case e.name != "" && d.Name != e.name:
		return d, fmt.Errorf("%s: the driver there says that its name is %q, not %q", e.label, d.Name, e.name)
	}
	if d.NodeEndpoint != nil {
		d.NodeEndpoint = e.onNode
	}
	return d, nil
}
