package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/conformance"
)

// A watcher takes down steps of any cluster. Two runs of one scenario are the same, and of another scenario they are not.
func TestAWatcherComparesTwoRuns(t *testing.T) {
	run := func(objects ...string) (all []*conformance.Observation) {
		cluster, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
		require.NoError(t, err)
		defer func() { require.NoError(t, cluster.Close()) }()
		w := conformance.Watch(cluster, "example.com/disk")
		for _, object := range objects {
			w.Begin()
			require.NoError(t, cluster.Apply(object))
			require.NoError(t, cluster.Settle())
			seen, err := w.End("apply")
			require.NoError(t, err)
			all = append(all, seen)
		}
		return all
	}
	const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, " +
		"spec: {accessModes: [ReadWriteOnce], storageClassName: '', resources: {requests: {storage: 1Gi}}}}"
	volume := func(mode string) string {
		return "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, " +
			"spec: {accessModes: [" + mode + "], capacity: {storage: 1Gi}, hostPath: {path: /data}}}"
	}
	first := run(volume("ReadWriteOnce"), claim)
	writes, _, _ := first[1].Size()
	assert.Positive(t, writes)
	assert.Contains(t, first[1].Writers(), storagesim.PVController)
	assert.Empty(t, conformance.CompareRuns(first, run(volume("ReadWriteOnce"), claim)))
	assert.NotEmpty(t, conformance.CompareRuns(first, run(volume("ReadOnlyMany"), claim)))
}
