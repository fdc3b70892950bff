package csi

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/volume"
)

// updaters are the drivers that are asked about the node again and again, with a number that
// is new for each task that does it: a task whose number is not the last ends.
type updaters map[string]int

// watchDrivers asks drivers for their limits as often as their CSIDriver objects say.
//
// Upstream: csi_node_updater.go Run, v1.37.
func (plugin *csiPlugin) watchDrivers() {
	plugin.csiDrivers.Handle(control.Handler[*storagev1.CSIDriver]{
		Add: func(d *storagev1.CSIDriver) { plugin.syncDriverUpdater(d.Name) },
		Update: func(old, d *storagev1.CSIDriver) {
			if getNodeAllocatableUpdatePeriod(old) != getNodeAllocatableUpdatePeriod(d) {
				plugin.syncDriverUpdater(d.Name)
			}
		},
		Delete: func(d *storagev1.CSIDriver) { plugin.syncDriverUpdater(d.Name) },
	})
}

// syncDriverUpdater ends what asks a driver again and again, and begins it anew if the driver is
// registered and its CSIDriver object gives a period.
//
// Upstream: csi_node_updater.go syncDriverUpdater, v1.37.
func (plugin *csiPlugin) syncDriverUpdater(name string) {
	plugin.updaters[name]++
	number := plugin.updaters[name]
	period := plugin.updatePeriod(name)
	if _, registered := plugin.drivers[name]; !registered || period == 0 {
		return
	}
	plugin.env.Go("ask CSI driver "+name+" about the node again and again", func(ctx context.Context) {
		plugin.runPeriodicUpdate(control.InBackground(ctx), name, number, period)
	})
}

// runPeriodicUpdate asks the driver each time that the period is over. What fails is not
// tried again before the next time.
//
// Upstream: csi_node_updater.go runPeriodicUpdate, v1.37.
func (plugin *csiPlugin) runPeriodicUpdate(ctx context.Context, name string, number int, period time.Duration) {
	began := plugin.env.Now()
	for {
		since := plugin.env.Now().Sub(began)
		if err := plugin.env.Sleep(ctx, period-since%period); err != nil || plugin.updaters[name] != number {
			return
		}
		if err := plugin.updateCSIDriver(ctx, name); err != nil {
			plugin.note("Failed to update CSIDriver " + name + ": " + err.Error())
		}
	}
}

func (plugin *csiPlugin) updatePeriod(name string) time.Duration {
	d, ok := plugin.csiDrivers.Get(name)
	if !ok {
		return 0
	}
	return getNodeAllocatableUpdatePeriod(d)
}

// getNodeAllocatableUpdatePeriod returns 0 if the driver is not to be asked again.
//
// Upstream: csi_node_updater.go getNodeAllocatableUpdatePeriod, v1.37.
func getNodeAllocatableUpdatePeriod(d *storagev1.CSIDriver) time.Duration {
	if d.Spec.NodeAllocatableUpdatePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*d.Spec.NodeAllocatableUpdatePeriodSeconds) * time.Second
}

// updateCSIDriver asks the driver about the node, and writes what changed into the CSINode.
//
// Upstream: csi_plugin.go updateCSIDriver, v1.37.
func (plugin *csiPlugin) updateCSIDriver(ctx context.Context, name string) error {
	found, err := plugin.nodeInfo(ctx, name)
	if err != nil {
		return fmt.Errorf("failed to get NodeGetInfo from driver %q: %w", name, err)
	}
	if err := plugin.nodes.UpdateCSIDriver(ctx, found); err != nil {
		return fmt.Errorf("failed to update driver %q: %w", name, err)
	}
	return nil
}

// VerifyExhaustedResource implements volume.AttachLimitPlugin.
//
// Upstream: csi_plugin.go VerifyExhaustedResource and isResourceExhaustError, v1.37.
func (plugin *csiPlugin) VerifyExhaustedResource(ctx context.Context, spec *volume.Spec) bool {
	source, err := getPVSourceFromSpec(spec)
	if err != nil || plugin.updatePeriod(source.Driver) == 0 {
		return false
	}
	name := binding.AttachmentName(source.VolumeHandle, source.Driver, string(plugin.host.GetNodeName()))
	ctx = plugin.operation(ctx)
	va, err := plugin.host.GetClient().StorageV1().VolumeAttachments().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false
	}
	failed := va.Status.AttachError
	if failed == nil || failed.ErrorCode == nil || *failed.ErrorCode != int32(codes.ResourceExhausted) {
		return false
	}
	if err := plugin.updateCSIDriver(ctx, source.Driver); err != nil {
		plugin.note("Failed to update CSIDriver " + source.Driver + ": " + err.Error())
	}
	return true
}
