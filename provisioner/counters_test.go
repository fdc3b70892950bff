package provisioner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/provisioner"
)

func TestTheCountersAreUpstreamsByClassAndSource(t *testing.T) {
	var counters provisioner.Counters
	w := newWorld(t, nil, func(c *provisioner.Config) { c.Counters = &counters })
	w.backend.takes, w.backend.fails = 2*time.Second, errors.New("no space")
	claim := w.claim()
	require.NoError(t, w.RunFor(10*time.Second))
	w.backend.fails = nil
	require.NoError(t, w.RunFor(time.Minute))
	w.release("pvc-" + string(claim.UID))
	require.NoError(t, w.Settle())

	fast := provisioner.Labels{Class: "fast"}
	assert.Equal(t, 1, counters.PersistentVolumeClaimProvisionFailedTotal.Of(fast))
	assert.Equal(t, 1, counters.PersistentVolumeClaimProvisionTotal.Of(fast))
	assert.Equal(t, []time.Duration{2 * time.Second}, counters.PersistentVolumeClaimProvisionDurationSeconds.Of(fast))
	assert.Equal(t, 1, counters.PersistentVolumeDeleteTotal.Sum())
	assert.Zero(t, counters.PersistentVolumeDeleteFailedTotal.Sum())
	assert.Equal(t, `controller_persistentvolumeclaim_provision_total{class="fast",source=""} 1
controller_persistentvolumeclaim_provision_failed_total{class="fast",source=""} 1
controller_persistentvolumeclaim_provision_duration_seconds_sum{class="fast",source=""} 2
controller_persistentvolumeclaim_provision_duration_seconds_count{class="fast",source=""} 1
controller_persistentvolume_delete_total{class="fast"} 1
controller_persistentvolume_delete_duration_seconds_sum{class="fast"} 0
controller_persistentvolume_delete_duration_seconds_count{class="fast"} 1
`, counters.String())
}

func TestTheSourceIsTheKindOfTheDataSource(t *testing.T) {
	var counters provisioner.Counters
	w := newWorld(t, nil, func(c *provisioner.Config) { c.Counters = &counters })
	class, group := "fast", "snapshot.storage.k8s.io"
	_, err := w.user.CoreV1().PersistentVolumeClaims("default").Create(context.Background(), &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "copy", Annotations: map[string]string{"volume.kubernetes.io/storage-provisioner": name}},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources:  v1.VolumeResourceRequirements{Requests: oneGi()},
			DataSource: &v1.TypedLocalObjectReference{APIGroup: &group, Kind: "VolumeSnapshot", Name: "monday"},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Settle())
	assert.Equal(t, 1, counters.PersistentVolumeClaimProvisionTotal.Of(provisioner.Labels{Class: "fast", Source: "VolumeSnapshot"}))
}

// Deviation: upstream counts what it stops without an error as failed.
func TestAnAttemptWithNothingToDoIsNotCounted(t *testing.T) {
	var counters provisioner.Counters
	w := newWorld(t, nil, func(c *provisioner.Config) { c.Counters = &counters })
	w.backend.fails = &provisioner.IgnoredError{Reason: "not mine"}
	w.claim()
	require.NoError(t, w.Settle())
	assert.Len(t, w.backend.asked, 1)
	assert.Empty(t, counters.String())
}
