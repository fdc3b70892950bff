package volumemanager

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/volume"
)

// Decisions are the functions by which a volume manager decides. Package museum replaces them by
// those of older versions, to show what these did. A nil field is today's.
type Decisions struct {
	// Uncertain reports whether a volume may be mounted although its plugin has failed with
	// that error, so that it must be unmounted when its pod ends; default: volume.IsUncertain.
	// Upstream's versions before 1.17 took every failure for final
	// (kubernetes/kubernetes 82492).
	Uncertain func(failure error) bool
	// Final reports whether a failure means that nothing is mounted, although an earlier attempt may
	// have mounted something; default: volume.IsFinal. For upstream it is final, too, when the driver
	// does not say what it can do (volume.UnansweredError).
	Final func(failure error) bool
	// Reconstruct reports whether a kubelet that starts takes the volumes that it finds in a
	// pod's directory for uncertain mounts; default: always. Upstream once knew mounts from
	// memory only (kubernetes/kubernetes 27653, KEP-3756).
	Reconstruct func(pod types.UID) bool
	// FindStaged makes a kubelet that starts look for volumes that are staged and in no pod's
	// directory, too, with the plugins that can find them (volume.StagingPlugin). Default false, as
	// upstream: it looks into the directories of pods only, and forgets what NodeUnstageVolume has
	// not taken away yet (kubernetes/kubernetes 121937).
	FindStaged bool
	// KeepInUse makes a kubelet list every attachable volume that it has found on the disk in
	// volumesInUse, as soon as it registers. Default false, as upstream: a Node object that is
	// made anew has no volumesInUse, and of those found only the ones that the Node lists as
	// attached count.
	KeepInUse bool
	// KeepUnread keeps mounted what a kubelet that starts finds mounted for a living pod whose claim or
	// PersistentVolume cannot be read. Default false, as upstream: it unmounts that under the running
	// pod.
	KeepUnread bool
	// DropUnmounted stops the mounting of volumes for a pod that has ended. Default false, as upstream:
	// a volume that is not known to be mounted stays wanted as long as the pod exists, and the pod waits
	// until nothing is mounted. If each attempt mounts and fails, it never goes.
	DropUnmounted bool
	// CleanSubPaths unmounts whatever is mounted of parts of volumes for a pod that has ended.
	// Default false, as upstream: the parts of a host path that a kubelet finds when it starts stay
	// mounted, and the pod's directory stays.
	CleanSubPaths bool
	// Late lets what is to be done wait for as long as it may upstream, by choice: up to 100 ms until a loop comes round that looks for new pods, or for
	// volumes to mount and unmount, up to 300 ms until a pod sees that its volumes are mounted, up to 90 s for a pod's next sync, up to 15 s for
	// that of one that failed, and up to 10.4 s for the next turn of the node's status, before which a kubelet
	// that has started again may report its node as not ready. Default: all look as soon as something has changed, a pod is synced
	// after a minute, or 10 s if it failed, and the node's status has its turn every 10 s.
	Late bool
	// NoDefaultAccount asks for a token of the account that the pod names, also if it names none, as where the admission plugin ServiceAccount
	// does not fill in the name "default": the client refuses an empty name. Default false: such a pod gets a token of the account "default".
	NoDefaultAccount bool
	// RemoveDir removes the directory of a pod that has ended; default: only empty
	// directories, by rmdir, and no mount points. Upstream once removed everything below
	// (kubernetes/kubernetes 7317).
	RemoveDir func(node *disk.Disk, dir string) error
}

// decideBy sets the decisions, with the defaults for nil fields.
func (g *given) decideBy(d Decisions) {
	if d.Uncertain == nil {
		d.Uncertain = volume.IsUncertain
	}
	if d.Final == nil {
		d.Final = volume.IsFinal
	}
	if d.Reconstruct == nil {
		d.Reconstruct = func(types.UID) bool { return true }
	}
	if d.RemoveDir == nil {
		d.RemoveDir = func(_ *disk.Disk, dir string) error { return g.removeEmptyDirs(dir) }
	}
	g.decisions = d
}

// loopPeriod is the period of the loops of populator and reconciler.
//
// Upstream: volume_manager.go desiredStateOfWorldPopulatorLoopSleepPeriod and reconcilerLoopSleepPeriod, v1.37.
const loopPeriod = 100 * time.Millisecond

// portions is the number of parts of a time of which some are waited for.
const portions = 4

// Part returns a part of a time, by choice, if what is to be done may be late.
func (g *given) Part(of time.Duration) time.Duration {
	if !g.decisions.Late {
		return 0
	}
	return of * time.Duration(g.env.Choose(portions+1)) / portions
}

// ComesRound waits until a loop of that period comes round, if it may be late (Decisions.Late): a part of the period, by choice. The error is that of the
// context.
func (g *given) ComesRound(ctx context.Context, period time.Duration) error {
	if late := g.Part(period); late > 0 {
		return g.env.Sleep(ctx, late)
	}
	return nil
}
