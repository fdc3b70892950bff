package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
)

func TestAStoppedActorStaysDownUntilItIsStarted(t *testing.T) {
	lives := 0
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("one", func(control.Env) error { lives++; return nil }))
	require.NoError(t, e.Stop("one"))
	require.NoError(t, e.Crash("one"), "crashing what is down changes nothing")
	require.NoError(t, e.RunFor(time.Hour))
	assert.Equal(t, 1, lives)
	assert.Equal(t, map[string]time.Time{"one": {}}, e.Down())
	assert.EqualError(t, e.Stop("one"), `actor "one" is stopped already`)

	require.NoError(t, e.Start("one"))
	require.NoError(t, e.Settle())
	assert.Equal(t, 2, lives)
	assert.Empty(t, e.Down())
	assert.EqualError(t, e.Start("one"), `actor "one" is not stopped`)
	assert.Error(t, e.Stop("two"))
	assert.Error(t, e.Start("two"))
}

func TestStoppingAnActorThatHasCrashedKeepsItDown(t *testing.T) {
	lives := 0
	e := newEngine(t, engine.Config{})
	require.NoError(t, e.Add("one", func(control.Env) error { lives++; return nil }))
	require.NoError(t, e.CrashFor("one", time.Minute))
	require.NoError(t, e.Stop("one"))
	require.NoError(t, e.RunFor(time.Hour))
	assert.Equal(t, 1, lives)
	require.NoError(t, e.Start("one"))
	require.NoError(t, e.Stop("one"), "before it has started")
	require.NoError(t, e.RunFor(time.Hour))
	assert.Equal(t, 1, lives)
	require.NoError(t, e.Start("one"))
	require.NoError(t, e.RunFor(time.Hour))
	assert.Equal(t, 2, lives)
}
