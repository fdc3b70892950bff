package provisioner

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/storagesim/storagesim/control"
)

func TestTheDefaultsAreUpstreams(t *testing.T) {
	_, env := newTest(t, &scripted{})
	for _, name := range []string{"claims", "volumes"} {
		cfg := env.queues[name].cfg
		assert.Equal(t, 4, cfg.Workers)
		assert.Equal(t, 15, cfg.MaxRetries)
		assert.Equal(t, control.RateLimiter{Base: 15 * time.Second, Max: 1000 * time.Second}, cfg.Limiter)
	}
	assert.Equal(t, 15*time.Minute, env.every["resync"])
	cfg, err := Config{Name: "a", Provisioner: &scripted{}}.checked()
	require.NoError(t, err)
	assert.Equal(t, wait.Backoff{Duration: 10 * time.Second, Factor: 1, Steps: 5}, cfg.CreateProvisionedPVBackoff)
	assert.Equal(t, 5*time.Minute, cfg.RetryIntervalMax)
	assert.Zero(t, cfg.ProvisionTimeout)
	assert.Zero(t, cfg.DeletionTimeout)
	assert.False(t, cfg.AddFinalizer)
	assert.NotContains(t, env.queues, "unsavedpvs")
}

func TestBackoffCanBeConstantAndThresholdsSwitchedOff(t *testing.T) {
	no := false
	_, env := newTest(t, &scripted{}, func(c *Config) {
		c.ExponentialBackOffOnError = &no
		c.FailedProvisionThreshold = -1
		c.FailedDeleteThreshold = 3
	})
	assert.Equal(t, control.RateLimiter{Base: 15 * time.Second, Max: 15 * time.Second}, env.queues["claims"].cfg.Limiter)
	assert.Equal(t, 0, env.queues["claims"].cfg.MaxRetries)
	assert.Equal(t, 3, env.queues["volumes"].cfg.MaxRetries)
}

func TestABadConfigIsAnErrorThatNamesTheField(t *testing.T) {
	ready := &scripted{}
	failing := func(control.Env) (Provisioner, error) { return nil, errors.New("no backend") }
	yes := true
	for want, cfg := range map[string]Config{
		"Config.Name is empty":               {Provisioner: ready},
		`Config.Name "a b":`:                 {Name: "a b", Provisioner: ready},
		`Config.AdditionalNames[0] is empty`: {Name: "a", AdditionalNames: []string{""}, Provisioner: ready},
		`Config.AdditionalNames[1] "a/b/c":`: {Name: "a", AdditionalNames: []string{"b", "a/b/c"}, Provisioner: ready},
		`provisioner "a": one of Config.New and Config.Provisioner must be set`: {Name: "a"},
		`provisioner "a": only one of Config.New and Config.Provisioner may be`: {Name: "a", New: failing, Provisioner: ready},
		"Config.Threadiness is -1":                   {Name: "a", Provisioner: ready, Threadiness: -1},
		"Config.ResyncPeriod is -1s":                 {Name: "a", Provisioner: ready, ResyncPeriod: -time.Second},
		"Config.CreateProvisionedPVRetryCount is -1": {Name: "a", Provisioner: ready, CreateProvisionedPVRetryCount: -1},
		"Config.CreateProvisionedPVInterval is -1s":  {Name: "a", Provisioner: ready, CreateProvisionedPVInterval: -time.Second},
		"Config.RetryIntervalMax is -1s":             {Name: "a", Provisioner: ready, RetryIntervalMax: -time.Second},
		"Config.ProvisionTimeout is -1s":             {Name: "a", Provisioner: ready, ProvisionTimeout: -time.Second},
		"Config.DeletionTimeout is -1s":              {Name: "a", Provisioner: ready, DeletionTimeout: -time.Second},
		"Config.CreateProvisionedPVBackoff.Jitter is 0.1": {Name: "a", Provisioner: ready,
			CreateProvisionedPVBackoff: wait.Backoff{Steps: 1, Jitter: 0.1}},
		"Config.CreateProvisionedPVBackoff has -1 steps": {Name: "a", Provisioner: ready, CreateProvisionedPVBackoff: wait.Backoff{Steps: -1}},
		"Config.CreateProvisionedPVBackoff has no Steps": {Name: "a", Provisioner: ready, CreateProvisionedPVBackoff: wait.Backoff{Duration: 1}},
		"Config.CreateProvisionedPVBackoff excludes": {Name: "a", Provisioner: ready, CreateProvisionedPVBackoff: wait.Backoff{Steps: 1},
			CreateProvisionedPVRetryCount: 1},
		"Config.CreateProvisionedPVLimiter excludes": {Name: "a", Provisioner: ready, CreateProvisionedPVLimiter: &control.RateLimiter{},
			CreateProvisionedPVInterval: 1},
		"only one of Config.RateLimiter and Config.ExponentialBackOffOnError": {Name: "a", Provisioner: ready, RateLimiter: control.RateLimiter{Base: 1},
			ExponentialBackOffOnError: &yes},
		`provisioner "a": no backend`:              {Name: "a", New: failing},
		`provisioner "a": Config.New returned nil`: {Name: "a", New: func(control.Env) (Provisioner, error) { return nil, nil }},
	} {
		err := New(cfg)(nil)
		require.Error(t, err, want)
		assert.ErrorContains(t, err, want)
	}
}

func TestTheQueueStoresLimiterIsItsQueues(t *testing.T) {
	_, env := newTest(t, &scripted{}, func(c *Config) { c.CreateProvisionedPVLimiter = &control.RateLimiter{Base: 3 * time.Second} })
	cfg := env.queues["unsavedpvs"].cfg
	assert.Equal(t, control.RateLimiter{Base: 3 * time.Second}, cfg.Limiter)
	assert.Equal(t, 4, cfg.Workers)
	assert.Zero(t, cfg.MaxRetries, "for ever")
}

// Upstream: controller.go VolumeName and CreateProvisionedPVBackoff, v13.
func TestTheVolumesNameAndTheStoresBackoffCanBeSet(t *testing.T) {
	p := &scripted{}
	ctrl, env := newTest(t, p, func(c *Config) {
		c.VolumeName = func(claim *v1.PersistentVolumeClaim) string { return claim.Namespace + "-" + claim.Name }
		c.CreateProvisionedPVBackoff = wait.Backoff{Duration: time.Second, Factor: 3, Steps: 4}
	})
	refuse(env, "create", "persistentvolumes", 3, errors.New("the API is down"))
	give(t, ctrl, env, claimOf("fast"))
	begin := env.now
	require.NoError(t, ctrl.syncClaimHandler(t.Context(), "uid-1"))
	assert.Equal(t, []string{"provision default-data"}, p.calls)
	assert.Equal(t, 13*time.Second, env.now.Sub(begin), "1 s, 3 s and 9 s")
}
