package driver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/machine/disk"
)

func TestADriverSaysWhatItHoldsAlsoDuringARequest(t *testing.T) {
	d, err := New(Config{})
	require.NoError(t, err)
	b := d.Inventory.(*Backend)
	b.disk = disk.InMemory(time.Now)
	require.NoError(t, b.disk.MkdirAll("/volumes", 0o755))
	answer, err := b.oneAtATime(t.Context(), nil, nil, func(context.Context, any) (any, error) {
		b.note(b.staged, csi.Place{Volume: "v"}, true)
		return b.Holdings(), nil
	})
	require.NoError(t, err)
	require.Contains(t, answer.(csi.Holdings).Staged, csi.Place{Volume: "v"})
}
