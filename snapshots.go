package storagesim

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/controllers/snapshotcontroller"
	"github.com/storagesim/storagesim/csi/deploy"
	"github.com/storagesim/storagesim/machine"
)

// InstallSnapshots gives the cluster what a real one needs for snapshots: the
// CustomResourceDefinitions of external-snapshotter (VolumeSnapshot, VolumeSnapshotContent and
// VolumeSnapshotClass; those that are there already stay), the snapshot controller unless Config.Only leaves it
// out, and a csi-snapshotter for each CSI driver, also for those that are installed later. Apply does it by itself when a
// manifest has an object of these kinds, and package serve when a client has made the definitions. Called
// again it does nothing. Group snapshots work as soon as their definitions are applied, too: see snapshots.GroupDefinitions.
func (c *Cluster) InstallSnapshots() error {
	if c.snapshots {
		return nil
	}
	if err := c.defineSnapshots(); err != nil {
		return fmt.Errorf("install snapshots: %w", err)
	}
	c.snapshots = true
	if c.cfg.runs(SnapshotController) {
		if err := c.engine.Add(SnapshotController, snapshotcontroller.New()); err != nil {
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

// defineSnapshots creates the definitions that are not there.
func (c *Cluster) defineSnapshots() error {
	texts, err := snapshots.Definitions()
	if err != nil {
		return err
	}
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for _, text := range texts {
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &definition.Object); err != nil {
			return err
		}
		object, err := c.Server().Registry().New(definition.GroupVersionKind())
		if err == nil {
			err = yaml.Unmarshal([]byte(text), object)
		}
		if err != nil {
			return err
		}
		if _, err := c.Do(api.Request{Verb: "create", Resource: resource, Name: definition.GetName(), Object: object}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
