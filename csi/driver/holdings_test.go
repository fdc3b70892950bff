package driver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/csi"
)

func TestADriverSaysWhatItHoldsAlsoDuringARequest(t *testing.T) {
	d, err := New(Config{})
	require.NoError(t, err)
	b := d.Inventory.(*Backend)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = b.oneAtATime(context.Background(), nil, nil, func(context.Context, any) (any, error) {
			b.note(b.staged, csi.Place{Volume: "v"}, true)
			return b.Holdings(), nil
		})
	}()
	select {
	case <-answered:
	case <-time.After(30 * time.Second):
		t.Fatal("the request waits for itself")
	}
}
