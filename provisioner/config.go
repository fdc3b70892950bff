package provisioner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control"
)

// Config configures one provisioner. Name and one of New and Provisioner are
// required; everything else has upstream's default.
type Config struct {
	// Name is the provisioner's name in classes and claims, for example
	// "openebs.io/local".
	Name string
	// Actor is the name of the actor that runs it, for Explain; default: Name.
	Actor string
	// AdditionalNames are other names it answers to.
	AdditionalNames []string
	// New makes the Provisioner. It is called in the Factory, and again after
	// every crash, so that what the Provisioner kept in memory is lost. It must
	// not call the API.
	New func(env control.Env) (Provisioner, error)
	// Provisioner is a ready one instead. It survives crashes: it stands for a
	// backend that does.
	Provisioner Provisioner
	// Setup, if set, makes what must be in a cluster before the provisioner starts, such as its namespace. A cluster calls it
	// once, when it installs the provisioner; New does not.
	Setup func(ctx context.Context, client kubernetes.Interface) error
	// Identity tells this instance from others of its name: events come from
	// "<name>_<identity>". Upstream's is the host name and a random UUID; the
	// default is IdentityOf(Name, 0), which looks the same and is always the same.
	Identity string

	// Threadiness is the number of claims, and how many volumes, are worked on at
	// once; default 4.
	Threadiness int
	// ResyncPeriod is the interval at which all claims and volumes are looked at again;
	// default 15 minutes.
	ResyncPeriod time.Duration
	// FailedProvisionThreshold is the number of times that a failing claim is tried again
	// before it is given up until its next event; default 15, negative for
	// no limit (0 upstream).
	FailedProvisionThreshold int
	// FailedDeleteThreshold is the same for volumes.
	FailedDeleteThreshold int
	// ExponentialBackOffOnError doubles the delay between tries, from 15 s to
	// 1000 s; if it points to false, the delay is always 15 s. Default true.
	ExponentialBackOffOnError *bool
	// RateLimiter, if not zero, replaces the one ExponentialBackOffOnError
	// makes.
	RateLimiter control.RateLimiter
	// CreateProvisionedPVRetryCount is the number of times that creating the PersistentVolume
	// is tried, and then deleting the asset if that failed; default 5.
	CreateProvisionedPVRetryCount int
	// CreateProvisionedPVInterval is the constant time between those tries;
	// default 10 s.
	CreateProvisionedPVInterval time.Duration
	// CreateProvisionedPVBackoff, if it has Steps, says instead how often and how
	// far apart, for example with growing intervals. Jitter must be 0.
	CreateProvisionedPVBackoff wait.Backoff
	// CreateProvisionedPVLimiter, if set, saves volumes by a queue instead: it
	// retries for ever, with these delays, and never deletes the asset. It
	// excludes the three fields above.
	CreateProvisionedPVLimiter *control.RateLimiter
	// KeepSaved looks, before the asset of a volume whose PersistentVolume could not be created is deleted, whether it was created after
	// all: a try may have been carried out, and its answer lost. Default false, as upstream: the asset of such a volume is deleted,
	// with what the claim, which is bound by then, has in it. It means nothing with CreateProvisionedPVLimiter, which deletes no asset.
	KeepSaved bool
	// RetryIntervalMax is the time that a claim for which Provision answered with gRPC
	// InvalidArgument is left alone; default 5 minutes.
	RetryIntervalMax time.Duration
	// ProvisionTimeout and DeletionTimeout end the context of Provision, or of
	// what is done to delete a volume, after this much virtual time: waiting on the
	// Env ends early, with context.DeadlineExceeded. Saving a volume that was made,
	// or deleting its asset if that fails, always takes its time. Default 0: no end.
	ProvisionTimeout, DeletionTimeout time.Duration
	// VolumeName gives the volume of a claim its name; it must be the same at
	// every call, and for no other claim: a claim whose volume exists is done
	// with. Default: "pvc-<uid of the claim>".
	VolumeName func(claim *v1.PersistentVolumeClaim) string
	// AddFinalizer protects bound volumes with
	// external-provisioner.volume.kubernetes.io/finalizer, so that deleting the
	// object early does not lose the asset. Default false.
	AddFinalizer bool
	// TraceAll has the trace say of every claim why it is skipped, not only of
	// those that are for this provisioner.
	TraceAll bool
	// Counters, if set, is counted in, over all lives of the controller.
	Counters *Counters

	ownVolumeName bool // VolumeName is an author's
}

// checked returns the config with its defaults, or what is wrong with it.
func (c Config) checked() (Config, error) {
	for i, name := range slices.Concat([]string{c.Name}, c.AdditionalNames) {
		field := "Name"
		if i > 0 {
			field = fmt.Sprintf("AdditionalNames[%d]", i-1)
		}
		if name == "" {
			return c, fmt.Errorf("provisioner.Config.%s is empty; it must be what classes name as their provisioner", field)
		}
		// As the API server checks a class's provisioner.
		if wrong := validation.IsQualifiedName(strings.ToLower(name)); len(wrong) > 0 {
			return c, fmt.Errorf("provisioner.Config.%s %q: %s", field, name, strings.Join(wrong, "; "))
		}
	}
	switch {
	case c.New == nil && c.Provisioner == nil:
		return c, fmt.Errorf("provisioner %q: one of Config.New and Config.Provisioner must be set", c.Name)
	case c.New != nil && c.Provisioner != nil:
		return c, fmt.Errorf("provisioner %q: only one of Config.New and Config.Provisioner may be set", c.Name)
	}
	if err := c.checkNumbers(); err != nil {
		return c, fmt.Errorf("provisioner %q: %w", c.Name, err)
	}
	setDefault(&c.Identity, IdentityOf(c.Name, 0))
	setDefault(&c.Threadiness, 4)
	setDefault(&c.ResyncPeriod, 15*time.Minute)
	setDefault(&c.FailedProvisionThreshold, 15)
	setDefault(&c.FailedDeleteThreshold, 15)
	setDefault(&c.CreateProvisionedPVRetryCount, 5)
	setDefault(&c.CreateProvisionedPVInterval, 10*time.Second)
	if c.CreateProvisionedPVBackoff.Steps == 0 {
		c.CreateProvisionedPVBackoff = wait.Backoff{Duration: c.CreateProvisionedPVInterval, Factor: 1, Steps: c.CreateProvisionedPVRetryCount}
	}
	setDefault(&c.RateLimiter, c.rateLimiter())
	setDefault(&c.RetryIntervalMax, defaultRetryIntervalMax)
	c.ownVolumeName = c.VolumeName != nil
	if !c.ownVolumeName {
		c.VolumeName = getProvisionedVolumeNameForClaim
	}
	if c.Counters == nil {
		c.Counters = &Counters{}
	}
	return c, nil
}

// checkNumbers refuses what is out of range.
func (c Config) checkNumbers() error {
	for _, field := range []struct {
		name  string
		value time.Duration
	}{
		{"RetryIntervalMax", c.RetryIntervalMax},
		{"ProvisionTimeout", c.ProvisionTimeout},
		{"DeletionTimeout", c.DeletionTimeout},
	} {
		if field.value < 0 {
			return fmt.Errorf("Config.%s is %s; it must be positive, or 0 for the default", field.name, field.value)
		}
	}
	if err := c.checkStore(); err != nil {
		return err
	}
	switch {
	case c.Threadiness < 0:
		return fmt.Errorf("Config.Threadiness is %d; it must be positive, or 0 for the default", c.Threadiness)
	case c.ResyncPeriod < 0:
		return fmt.Errorf("Config.ResyncPeriod is %s; it must be positive, or 0 for the default", c.ResyncPeriod)
	case c.CreateProvisionedPVRetryCount < 0:
		return fmt.Errorf("Config.CreateProvisionedPVRetryCount is %d; it must be positive, or 0 for the default", c.CreateProvisionedPVRetryCount)
	case c.CreateProvisionedPVInterval < 0:
		return fmt.Errorf("Config.CreateProvisionedPVInterval is %s; it must be positive, or 0 for the default", c.CreateProvisionedPVInterval)
	case c.RateLimiter != control.RateLimiter{} && c.ExponentialBackOffOnError != nil:
		return errors.New("only one of Config.RateLimiter and Config.ExponentialBackOffOnError may be set")
	}
	return nil
}

// checkStore refuses ways to save volumes that exclude each other.
//
// Upstream: controller.go CreateProvisionedPVBackoff and its neighbours, v13.
func (c Config) checkStore() error {
	counted := c.CreateProvisionedPVRetryCount != 0 || c.CreateProvisionedPVInterval != 0
	backoff := c.CreateProvisionedPVBackoff
	switch {
	case backoff.Jitter != 0:
		return fmt.Errorf("Config.CreateProvisionedPVBackoff.Jitter is %v; it must be 0, since chance would make runs differ", backoff.Jitter)
	case backoff.Steps < 0 || backoff.Duration < 0:
		return fmt.Errorf("Config.CreateProvisionedPVBackoff has %d steps of %s; neither may be negative", backoff.Steps, backoff.Duration)
	case backoff.Steps == 0 && backoff != wait.Backoff{}:
		return errors.New("Config.CreateProvisionedPVBackoff has no Steps; it needs at least one")
	case backoff.Steps > 0 && counted:
		return errors.New("Config.CreateProvisionedPVBackoff excludes CreateProvisionedPVRetryCount and CreateProvisionedPVInterval")
	case c.CreateProvisionedPVLimiter != nil && (counted || backoff.Steps > 0):
		return errors.New("Config.CreateProvisionedPVLimiter excludes CreateProvisionedPVRetryCount, CreateProvisionedPVInterval and CreateProvisionedPVBackoff")
	}
	return nil
}

// rateLimiter returns the delay between tries of a failing claim or volume.
//
// Upstream: controller.go NewProvisionController, v13.
func (c Config) rateLimiter() control.RateLimiter {
	limiter := control.RateLimiter{Base: 15 * time.Second, Max: 1000 * time.Second}
	if c.ExponentialBackOffOnError != nil && !*c.ExponentialBackOffOnError {
		limiter.Max = limiter.Base
	}
	return limiter
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
