package provisioner

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/provisioner"
)

// Config configures one provisioner. Driver and Dial are required; the other fields have
// upstream's defaults.
type Config struct {
	// Driver is the name of the CSI driver, by which classes name their provisioner.
	Driver string
	// Dial is a connection to the driver for one life of the actor. It must not call
	// anything. Deadlines of calls are those of control.WithTimeout.
	Dial func(env control.Env) grpc.ClientConnInterface
	// Actor is the name of the actor that runs it, for Explain; default: Driver.
	Actor string

	// Timeout of one call of the driver; default 10 s.
	Timeout time.Duration
	// RetryIntervalStart is how long after a failure it is tried again, doubled each time
	// up to RetryIntervalMax; defaults 1 s and 5 min. RetryIntervalMax is also how long a
	// claim is left alone after InvalidArgument.
	RetryIntervalStart, RetryIntervalMax time.Duration
	// WorkerThreads is how many claims, and how many volumes, are worked on at once;
	// default 100.
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
	// Counters, if set, are the library's.
	Counters *provisioner.Counters
	// Rules, if set, are other rules than upstream's, to show what they are for.
	Rules Rules
}

// Rules are rules that once were others and mended a bug. They are for examples and tests
// of such bugs. A nil field is the right rule.
type Rules struct {
	// CanDelete says why a volume must not be deleted yet, given all VolumeAttachments. The
	// right rule refuses while one names the volume (kubernetes 84226, fixed in
	// external-provisioner 438).
	CanDelete func(volume *v1.PersistentVolume, attachments []*storage.VolumeAttachment) error
	// State is what an error of CreateVolume says of the volume. The right rule keeps in
	// mind that some errors leave open whether it was made (external-provisioner 131 and 311,
	// fixed in 312).
	State func(err error, mayReschedule bool) provisioner.ProvisioningState
}

// checked returns the config with its defaults, or what is wrong with it.
func (c Config) checked() (Config, error) {
	switch {
	case c.Driver == "":
		return c, errors.New("csi/provisioner.Config.Driver is empty; it must be the name of a CSI driver")
	case c.Dial == nil:
		return c, fmt.Errorf("csi/provisioner of driver %q: Config.Dial must be set", c.Driver)
	case c.WorkerThreads < 0:
		return c, fmt.Errorf("csi/provisioner of driver %q: Config.WorkerThreads is %d; it must be positive, or 0 for the default", c.Driver, c.WorkerThreads)
	case c.VolumeNameUUIDLength < 0 || c.VolumeNameUUIDLength > 32:
		return c, fmt.Errorf("csi/provisioner of driver %q: Config.VolumeNameUUIDLength is %d; it must be 0 to 32", c.Driver, c.VolumeNameUUIDLength)
	}
	for _, field := range []struct {
		name         string
		value        *time.Duration
		defaultValue time.Duration
	}{
		{"Timeout", &c.Timeout, 10 * time.Second},
		{"RetryIntervalStart", &c.RetryIntervalStart, time.Second},
		{"RetryIntervalMax", &c.RetryIntervalMax, 5 * time.Minute},
	} {
		if *field.value < 0 {
			return c, fmt.Errorf("csi/provisioner of driver %q: Config.%s is %s; it must be positive, or 0 for the default", c.Driver, field.name, *field.value)
		}
		if *field.value == 0 {
			*field.value = field.defaultValue
		}
	}
	if c.WorkerThreads == 0 {
		c.WorkerThreads = 100
	}
	if c.VolumeNamePrefix == "" {
		c.VolumeNamePrefix = "pvc"
	}
	if c.Rules.CanDelete == nil {
		c.Rules.CanDelete = canDeleteVolume
	}
	if c.Rules.State == nil {
		c.Rules.State = checkError
	}
	return c, nil
}

func (c Config) immediateTopology() bool { return c.ImmediateTopology == nil || *c.ImmediateTopology }

// Library is the configuration of the provisioner library that the sidecar runs on.
//
// Upstream: cmd/csi-provisioner/csi-provisioner.go main, v6.3.
func (c Config) Library() (provisioner.Config, error) {
	c, err := c.checked()
	if err != nil {
		return provisioner.Config{}, err
	}
	library := provisioner.Config{
		Name:                       c.Driver,
		Actor:                      c.Actor,
		New:                        func(env control.Env) (provisioner.Provisioner, error) { return newCSIProvisioner(c, env), nil },
		Threadiness:                c.WorkerThreads,
		FailedProvisionThreshold:   -1,
		FailedDeleteThreshold:      -1,
		RateLimiter:                control.RateLimiter{Base: c.RetryIntervalStart, Max: c.RetryIntervalMax, QPS: -1},
		CreateProvisionedPVLimiter: &control.RateLimiter{},
		RetryIntervalMax:           c.RetryIntervalMax,
		AddFinalizer:               true,
		Counters:                   c.Counters,
	}
	if c.VolumeNamePrefix != "pvc" || c.VolumeNameUUIDLength != 0 {
		library.VolumeName = func(claim *v1.PersistentVolumeClaim) string {
			name, _ := makeVolumeName(c.VolumeNamePrefix, string(claim.UID), c.VolumeNameUUIDLength) // what has no name is refused
			return name
		}
	}
	return library, nil
}

// New makes the factory of a provisioner. What is wrong with cfg is the factory's error.
func New(cfg Config) control.Factory {
	return func(env control.Env) error {
		library, err := cfg.Library()
		if err != nil {
			return err
		}
		return provisioner.New(library)(env)
	}
}
