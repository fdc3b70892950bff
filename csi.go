package storagesim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/controllers/snapshotcontroller"
	"github.com/storagesim/storagesim/csi/deploy"
	"github.com/storagesim/storagesim/machine"
)

// InstallCSIDriver runs a CSI driver, a csi.Driver of package csi, with its sidecars: on a
// machine of its own, "host/NAME", and on every node, also those that are added later. It
// creates the driver's CSIDriver object, unless there is one. Package csi says which actors
// these are. Its storage classes are yours to apply.
//
// The reference driver is InstallCSIDriver(driver.Config{}), of package csi/driver.
func (c *Cluster) InstallCSIDriver(d deploy.Driver) error {
	plan, err := d.Deploy(c.csiWorld())
	if err != nil {
		return err
	}
	for _, other := range c.csiDrivers {
		if other.Name == plan.Name {
			return fmt.Errorf("csi.Driver.Name: a driver called %q is installed already", plan.Name)
		}
		for _, fstype := range slices.Sorted(maps.Keys(plan.FSTypes)) {
			if other.FSTypes[fstype] != nil {
				return fmt.Errorf("csi.Driver %s: FSTypes[%q] is the type of driver %s", plan.Name, fstype, other.Name)
			}
		}
	}
	for _, node := range c.machines.Of(machine.Node) {
		if err := plan.CheckNode(c.csiHost(node)); err != nil {
			return err
		}
	}
	object := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: plan.Name}, Spec: plan.Spec}
	if _, err := c.setup.StorageV1().CSIDrivers().Create(context.Background(), object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("csi.Driver %s: %w", plan.Name, err)
	}
	c.csiDrivers = append(c.csiDrivers, plan)
	if plan.RealPaths {
		c.realPaths = append(c.realPaths, plan.Name)
	}
	if plan.Controller != nil {
		host, err := c.addMachine(machine.Host, plan.Name, c.cfg.DiskSize)
		if err != nil {
			return fmt.Errorf("csi.Driver %s: %w", plan.Name, err)
		}
		at := deploy.Host{Machine: host, Now: c.Now}
		if err := c.addActors(plan.Controller(at)); err != nil {
			return err
		}
		if c.snapshots {
			if err := c.addActors(plan.Snapshots(at)); err != nil {
				return err
			}
		}
	}
	for _, node := range c.machines.Of(machine.Node) {
		if err := c.runOnNode(plan, node); err != nil {
			return err
		}
	}
	return nil
}

// runOnNode runs a driver on a node.
func (c *Cluster) runOnNode(d deploy.Plan, node *machine.Machine) error {
	host := c.csiHost(node)
	if err := d.CheckNode(host); err != nil {
		return err
	}
	actors := d.Node(host)
	for _, a := range actors {
		c.onNode[node.Name()] = append(c.onNode[node.Name()], a.Name)
	}
	err := c.addActors(actors)
	for _, a := range actors {
		if err == nil && c.off[node.Name()] {
			err = c.engine.Stop(a.Name)
		}
	}
	return err
}

// csiHost returns a node as the host of a driver's node server.
func (c *Cluster) csiHost(node *machine.Machine) deploy.Host {
	return deploy.Host{Machine: node, Node: node.Name(), Now: c.Now}
}

func (c *Cluster) addActors(actors []deploy.Actor) error {
	for _, a := range actors {
		if err := c.addActor(a.Name, a.Factory); err != nil {
			return err
		}
	}
	return nil
}

// csiWorld returns what drivers' actors need of the cluster.
func (c *Cluster) csiWorld() deploy.World {
	return deploy.World{
		Sockets: &c.sockets,
		Crash:   func(actor string, downtime time.Duration) { _ = c.engine.CrashFor(actor, downtime) }, // it exists, and the engine runs
	}
}

// csiNames returns the names of the installed CSI drivers.
func (c *Cluster) csiNames() []string {
	var names []string
	for _, d := range c.csiDrivers {
		names = append(names, d.Name)
	}
	return names
}

// InstallSnapshots gives the cluster what a real one needs for snapshots: the
// CustomResourceDefinitions of external-snapshotter (VolumeSnapshot, VolumeSnapshotContent and
// VolumeSnapshotClass; existing ones stay), the snapshot controller unless Config.Only leaves it
// out, and a csi-snapshotter for each CSI driver, also for those installed later. Apply calls it
// when a manifest has an object of these kinds, and package live/serve when a client has created
// the definitions. A second call does nothing. Group snapshots work as soon as their definitions
// are applied, too: see snapshots.GroupDefinitions.
func (l Lab) InstallSnapshots() error { return l.c.installSnapshots() }

func (c *Cluster) installSnapshots() error {
	if c.snapshots {
		return nil
	}
	if err := c.defineSnapshots(); err != nil {
		return fmt.Errorf("install snapshots: %w", err)
	}
	c.snapshots = true
	if c.cfg.runs(SnapshotController) {
		if err := c.addActor(SnapshotController, snapshotcontroller.New(c.cfg.SnapshotController)); err != nil {
			return err
		}
	}
	for _, d := range c.csiDrivers {
		if d.Snapshots == nil {
			continue
		}
		host, err := c.machines.Find(string(machine.Host) + "/" + d.Name)
		if err != nil {
			return err
		}
		if err := c.addActors(d.Snapshots(deploy.Host{Machine: host, Now: c.Now})); err != nil {
			return err
		}
	}
	return nil
}

// snapshotKinds returns upstream's definitions of the kinds of snapshots. They are read once: a schema takes milliseconds.
var snapshotKinds = sync.OnceValues(func() (kinds []*apiextensionsv1.CustomResourceDefinition, err error) {
	texts, err := snapshots.Definitions()
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		kind := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal([]byte(text), kind); err != nil {
			return nil, err
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
})

// defineSnapshots creates the definitions that are not there.
func (c *Cluster) defineSnapshots() error {
	kinds, err := snapshotKinds()
	if err != nil {
		return err
	}
	resource := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	for _, kind := range kinds {
		if _, err := c.setup.Do(context.Background(),
			api.Request{Verb: "create", Resource: resource, Name: kind.Name, Object: kind.DeepCopy()}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
