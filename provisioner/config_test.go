package provisioner

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		"Config.Threadiness is -1":                                            {Name: "a", Provisioner: ready, Threadiness: -1},
		"Config.ResyncPeriod is -1s":                                          {Name: "a", Provisioner: ready, ResyncPeriod: -time.Second},
		"Config.CreateProvisionedPVRetryCount is -1":                          {Name: "a", Provisioner: ready, CreateProvisionedPVRetryCount: -1},
		"Config.CreateProvisionedPVInterval is -1s":                           {Name: "a", Provisioner: ready, CreateProvisionedPVInterval: -time.Second},
		"only one of Config.RateLimiter and Config.ExponentialBackOffOnError": {Name: "a", Provisioner: ready, RateLimiter: control.RateLimiter{Base: 1}, ExponentialBackOffOnError: &yes},
		`provisioner "a": no backend`:                                         {Name: "a", New: failing},
		`provisioner "a": Config.New returned nil`:                            {Name: "a", New: func(control.Env) (Provisioner, error) { return nil, nil }},
	} {
		err := New(cfg)(nil)
		require.Error(t, err, want)
		assert.ErrorContains(t, err, want)
	}
}
