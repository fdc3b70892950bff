package storagesim

import (
	"maps"

	"github.com/storagesim/storagesim/attachdetach"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/garbagecollector"
	"github.com/storagesim/storagesim/machine"
	"github.com/storagesim/storagesim/nodelifecycle"
	"github.com/storagesim/storagesim/podgc"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/pvcontroller/ephemeral"
	"github.com/storagesim/storagesim/pvcontroller/expand"
	"github.com/storagesim/storagesim/pvcontroller/protection"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/statefulset"
	"github.com/storagesim/storagesim/tainteviction"
)

// planeActor makes an actor of the control plane.
func (c *Cluster) planeActor(name string) control.Factory {
	switch name {
	case PVController:
		return pvcontroller.New(c.withDeleter(c.cfg.PVController))
	case PVCProtection:
		return protection.NewPVC()
	case PVProtection:
		return protection.NewPV()
	case EphemeralVolumes:
		return ephemeral.New()
	case VolumeExpansion:
		return expand.New()
	case StatefulSets:
		return statefulset.New()
	case GarbageCollection:
		return garbagecollector.New(garbagecollector.Config{Kinds: c.collected()})
	case AttachDetach:
		return attachdetach.New(c.cfg.AttachDetach)
	case Scheduler:
		return scheduler.New(c.cfg.Scheduler)
	case NodeLifecycle:
		return nodelifecycle.New()
	case TaintEviction:
		return tainteviction.New()
	case PodGC:
		return podgc.New(podgc.Config{})
	}
	panic("there is no actor " + name) // a mistake in actorNames, which each test would find
}

// withDeleter adds the deleter of hostPath volumes, unless there is one: upstream's
// deletes from the disk of the machine it runs on.
func (c *Cluster) withDeleter(cfg pvcontroller.Config) pvcontroller.Config {
	deleters := map[string]pvcontroller.Deleter{
		pvcontroller.HostPathPlugin: pvcontroller.NewHostPathDeleter(func(path string) error {
			if len(c.machines.Of(machine.Node)) == 0 {
				return nil // and no disk that it could be on
			}
			return c.machines.Of(machine.Node)[0].Disk().RemoveAll(path)
		}),
	}
	maps.Copy(deleters, cfg.Deleters)
	cfg.Deleters = deleters
	return cfg
}
