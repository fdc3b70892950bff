package provisioner

import (
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/internal/migration"
	"github.com/storagesim/storagesim/provisioner"
)

// Config configures one provisioner. Driver and Dial are required. The other fields have upstream's defaults.
type Config struct {
	// Driver is the name of the CSI driver, by which classes name their provisioner.
	Driver string
	// Dial returns a connection to the driver for one life of the actor. It must not call anything. Calls have the
	// deadlines of control.WithTimeout.
	Dial func(env control.Env) grpc.ClientConnInterface
	// Actor is the name of the actor that runs it, for Explain; default: Driver.
	Actor string

	// Timeout is the longest time of one call of the driver; default 10 s.
	Timeout time.Duration
	// RetryIntervalStart is the time from a failure to the next try. It doubles with each failure up to
	// RetryIntervalMax; defaults 1 s and 5 min. RetryIntervalMax is also the wait after InvalidArgument.
	RetryIntervalStart, RetryIntervalMax time.Duration
	// WorkerThreads is the number of claims, and of volumes, that are worked on at once; default 100.
	WorkerThreads int
	// VolumeNamePrefix begins the names of volumes, before "-" and the claim's UID; default
	// "pvc".
	VolumeNamePrefix string
	// VolumeNameUUIDLength shortens the claim's UID in names of volumes to that many
	// characters, without dashes; default 0, the whole UID.
	VolumeNameUUIDLength int
	// StrictTopology passes the driver only the topology of the selected node.
	StrictTopology bool
	// ImmediateTopology, if it points to false, passes no topology for claims without a
	// selected node, unless their class limits it. Default true.
	ImmediateTopology *bool
	// ExtraCreateMetadata adds the names of the claim and the volume to the parameters of
	// CreateVolume.
	ExtraCreateMetadata bool
	// DefaultFSType is the file system of volumes whose class names none; default none.
	DefaultFSType string
	// ControllerPublishReadOnly makes volumes of claims with the one access mode
	// ReadOnlyMany read-only.
	ControllerPublishReadOnly bool
	// CrossNamespaceVolumeDataSource is the feature gate of that name: a claim may be filled from a source in
	// another namespace that a ReferenceGrant there allows. Default false: such a claim gets no volume. The API
	// server needs its gate, too.
	CrossNamespaceVolumeDataSource bool
	// EnableCapacity publishes the driver's capacity, as configured by Capacity. Default false.
	EnableCapacity bool
	Capacity       Capacity
	// SnapshotOrphanSweepInterval is the interval at which finalizers of snapshots are removed that an earlier life, or
	// a claim that is gone, has left; default 5 min, negative for never, as before v6.4 (external-provisioner 1519).
	SnapshotOrphanSweepInterval time.Duration
	// RestoresDeleted reports whether a volume may be made from a snapshot that is being deleted; default: if the
	// snapshot has this provisioner's finalizer, so that the volume may have been begun before. Up to v6.1 it never was
	// (external-provisioner 1448).
	RestoresDeleted func(*snapshotv1.VolumeSnapshot) bool
	// KeepSnapshotFinalizer leaves this provisioner's finalizer on a snapshot of which it has made a volume until the next sweep. Default false: it is
	// removed before the PersistentVolume is created, so that a provisioner that crashes between the two, and finds the snapshot being deleted, does not
	// know that the volume was begun.
	KeepSnapshotFinalizer bool
	// NodeDeployment, if set, makes the provisioner run on one node, for volumes of that node.
	NodeDeployment *NodeDeployment
	// Counters, if set, counts the work of the library.
	Counters *provisioner.Counters
}

// Capacity configures the publication of the driver's capacity; see package csi/internal/capacity. It has an effect
// only with EnableCapacity.
type Capacity struct {
	// PollInterval is the interval at which the driver is asked without other reason; default 1 min.
	PollInterval time.Duration
	// ImmediateBinding publishes the capacity for classes with immediate binding, too.
	ImmediateBinding bool
	// Namespace is the namespace of the CSIStorageCapacity objects; default "default".
	Namespace string
	// Owner, if set, owns the objects, as the driver's Deployment does on a cluster.
	Owner *metav1.OwnerReference
}

// checked returns the config with its defaults, or an error if it is invalid.
func (c Config) checked() (Config, error) {
	var onNode NodeDeployment
	if c.NodeDeployment != nil {
		onNode = *c.NodeDeployment
		c.NodeDeployment = &onNode
	}
	err := sidecar.Check("csi/provisioner", c.Driver, c.Dial, sidecar.Number{Name: "WorkerThreads", Value: &c.WorkerThreads, Default: 100},
		sidecar.Time{Name: "Timeout", Value: &c.Timeout, Default: 10 * time.Second},
		sidecar.Time{Name: "RetryIntervalStart", Value: &c.RetryIntervalStart, Default: time.Second},
		sidecar.Time{Name: "RetryIntervalMax", Value: &c.RetryIntervalMax, Default: 5 * time.Minute},
		sidecar.Time{Name: "Capacity.PollInterval", Value: &c.Capacity.PollInterval, Default: time.Minute},
		sidecar.Time{Name: "NodeDeployment.BaseDelay", Value: &onNode.BaseDelay, Default: 20 * time.Second},
		sidecar.Time{Name: "NodeDeployment.MaxDelay", Value: &onNode.MaxDelay, Default: time.Minute},
	)
	switch {
	case err != nil:
		return c, err
	case c.NodeDeployment != nil && c.NodeDeployment.Node == "":
		return c, fmt.Errorf("csi/provisioner of driver %q: Config.NodeDeployment.Node is empty; it must be the name of the node", c.Driver)
	case c.VolumeNameUUIDLength < 0 || c.VolumeNameUUIDLength > 32:
		return c, fmt.Errorf("csi/provisioner of driver %q: Config.VolumeNameUUIDLength is %d; it must be 0 to 32", c.Driver, c.VolumeNameUUIDLength)
	}
	if c.VolumeNamePrefix == "" {
		c.VolumeNamePrefix = "pvc"
	}
	if c.SnapshotOrphanSweepInterval == 0 {
		c.SnapshotOrphanSweepInterval = 5 * time.Minute
	}
	if c.RestoresDeleted == nil {
		c.RestoresDeleted = func(s *snapshotv1.VolumeSnapshot) bool {
			return slices.Contains(s.Finalizers, snapshots.RestoredFinalizer)
		}
	}
	if c.Capacity.Namespace == "" {
		c.Capacity.Namespace = metav1.NamespaceDefault
	}
	return c, nil
}

func (c Config) immediateTopology() bool { return c.ImmediateTopology == nil || *c.ImmediateTopology }

// replacedBy returns the plugin in Kubernetes that a driver has replaced, whose classes are the driver's too.
//
// Upstream: cmd/csi-provisioner/csi-provisioner.go, AdditionalProvisionerNames, v6.4.
func replacedBy(driver string) []string {
	if plugin := migration.Plugin(driver); plugin != "" {
		return []string{plugin}
	}
	return nil
}

// Library returns the configuration of the provisioner library that the sidecar runs on.
//
// Upstream: cmd/csi-provisioner/csi-provisioner.go main, v6.4.
func (c Config) Library() (provisioner.Config, error) {
	c, err := c.checked()
	if err != nil {
		return provisioner.Config{}, err
	}
	library := provisioner.Config{
		Name:                     c.Driver,
		AdditionalNames:          replacedBy(c.Driver),
		Actor:                    c.Actor,
		New:                      c.build,
		Threadiness:              c.WorkerThreads,
		FailedProvisionThreshold: -1,
		FailedDeleteThreshold:    -1,
		RateLimiter:              control.RateLimiter{Base: c.RetryIntervalStart, Max: c.RetryIntervalMax, QPS: -1},
		RetryIntervalMax:         c.RetryIntervalMax,
		AddFinalizer:             true,
		Counters:                 c.Counters,
		// A PersistentVolume that cannot be created is retried without limit, and its volume is not deleted (bug 3
		// of docs/bugs.md).
		CreateProvisionedPVLimiter: &control.RateLimiter{},
	}
	if c.VolumeNamePrefix != "pvc" || c.VolumeNameUUIDLength != 0 {
		library.VolumeName = func(claim *v1.PersistentVolumeClaim) string {
			name, _ := makeVolumeName(c.VolumeNamePrefix, string(claim.UID), c.VolumeNameUUIDLength) // a volume without a valid name is refused later
			return name
		}
	}
	return library, nil
}

// startable is a provisioner that waits for its driver.
type startable interface {
	provisioner.BlockProvisioner
	provisioner.Starter
}

// build returns the provisioner for one life of its actor.
func (c Config) build(env control.Env) (provisioner.Provisioner, error) {
	p := newCSIProvisioner(c, env)
	var built startable = p
	if c.EnableCapacity {
		built = p.withCapacity()
	}
	if c.NodeDeployment != nil {
		return newNodeProvisioner(p, built), nil
	}
	return built, nil
}

// New returns the factory of a provisioner, which refuses an invalid cfg.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		library, err := cfg.Library()
		if err != nil {
			return err
		}
		return provisioner.New(library)(env)
	}
}
