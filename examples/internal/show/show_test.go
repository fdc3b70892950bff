package show_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/examples/internal/show"
	// Its flag -update is for all packages below examples.
	_ "github.com/storagesim/storagesim/examples/internal/show/showtest"
)

func begin(t *testing.T) (*show.Show, *bytes.Buffer) {
	t.Helper()
	c, err := storagesim.New(storagesim.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	out := &bytes.Buffer{}
	claim := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n" +
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	return show.New(c, fstest.MapFS{"claim.yaml": {Data: []byte(claim)}}, out), out
}

func TestAStepIsTheCommandAndWhatHappened(t *testing.T) {
	s, out := begin(t)
	s.Apply("claim.yaml")
	require.NoError(t, s.Err())
	require.Contains(t, out.String(), "$ kubectl apply -f claim.yaml\n  0:00:00  user ")
	require.Contains(t, out.String(), "persistent-volume-binder  says of pvc default/data: Normal FailedBinding")
	require.NotContains(t, out.String(), "creates node", "how the cluster came up")
}

func TestOnlyKeepsTheDeedsOfSomeActors(t *testing.T) {
	s, out := begin(t)
	s.Only("user")
	s.Apply("claim.yaml")
	require.NotContains(t, out.String(), "persistent-volume-binder")
}

func TestNothingIsPrintedAfterTheFirstError(t *testing.T) {
	s, out := begin(t)
	s.Apply("no-such.yaml")
	require.Error(t, s.Err())
	printed := out.Len()
	s.Try(errors.New("a second error"))
	s.Title("More")
	s.Get("pvc")
	require.Equal(t, printed, out.Len())
	require.ErrorContains(t, s.Err(), "no-such.yaml")
}
