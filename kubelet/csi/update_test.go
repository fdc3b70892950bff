package csi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/engine"
)

func every(seconds int64) storagev1.CSIDriverSpec {
	return storagev1.CSIDriverSpec{NodeAllocatableUpdatePeriodSeconds: &seconds}
}

func (w *world) asked() (times int) {
	for _, method := range w.driver.calls {
		if method == "NodeGetInfo" {
			times++
		}
	}
	return times
}

// limit returns the count of the CSINode, 0 for none.
func (w *world) limit() int32 {
	drivers := w.csiNode()
	if len(drivers) != 1 || drivers[0].Allocatable == nil {
		return 0
	}
	return *drivers[0].Allocatable.Count
}

// setPeriod changes the CSIDriver object.
func (w *world) setPeriod(spec storagev1.CSIDriverSpec) {
	w.t.Helper()
	drivers := w.user.StorageV1().CSIDrivers()
	d, err := drivers.Get(context.Background(), driverName, metav1.GetOptions{})
	require.NoError(w.t, err)
	d = d.DeepCopy()
	d.Spec.NodeAllocatableUpdatePeriodSeconds = spec.NodeAllocatableUpdatePeriodSeconds
	_, err = drivers.Update(context.Background(), d, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func TestADriverIsAskedAboutTheNodeAsOftenAsItsCSIDriverSays(t *testing.T) {
	w := withDriver(t, engine.Config{}, every(10))
	require.Equal(t, 1, w.asked())
	require.NoError(t, w.e.Settle(), "asking again and again leaves the cluster at rest")
	w.driver.info.MaxVolumesPerNode = 7
	w.run(10 * time.Second)
	require.Equal(t, 2, w.asked())
	require.EqualValues(t, 7, w.limit())

	w.driver.before = func(method string, _ any) error {
		if method == "NodeGetInfo" {
			return status.Error(codes.Internal, "later")
		}
		return nil
	}
	w.run(10 * time.Second)
	require.Equal(t, 3, w.asked())
	require.EqualValues(t, 7, w.limit(), "a failure changes nothing")
	w.driver.before = nil

	w.setPeriod(every(60))
	w.run(50 * time.Second)
	require.Equal(t, 3, w.asked())
	w.driver.info.MaxVolumesPerNode = 8
	w.run(15 * time.Second)
	require.Equal(t, 4, w.asked())
	require.EqualValues(t, 8, w.limit())

	w.setPeriod(storagev1.CSIDriverSpec{})
	w.run(10 * time.Minute)
	require.Equal(t, 4, w.asked())
}

func TestADriverThatIsNotRegisteredAnyMoreIsNotAsked(t *testing.T) {
	w := withDriver(t, engine.Config{}, every(10))
	for _, l := range w.listening {
		l.Close()
	}
	w.run(5 * time.Minute)
	require.Equal(t, 1, w.asked())
	require.Empty(t, w.csiNode())
}

// failAttach does what the attacher does when the driver refuses a volume with a code.
func (w *world) failAttach(code codes.Code) {
	w.t.Helper()
	ctx, name, number := context.Background(), binding.AttachmentName("vol-data", driverName, "node-1"), int32(code) // codes are small
	pv := "pv-data"
	attachments := w.user.StorageV1().VolumeAttachments()
	va, err := attachments.Create(ctx, &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: driverName, NodeName: "node-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv}}},
		metav1.CreateOptions{})
	require.NoError(w.t, err)
	va.Status.AttachError = &storagev1.VolumeError{Message: "no", ErrorCode: &number, Time: metav1.Now()}
	_, err = attachments.UpdateStatus(ctx, va, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// statuses returns what a pod's status says, each change once, for a time.
func (w *world) statuses(name string, d time.Duration) (list []string) {
	w.t.Helper()
	for ; d > 0; d -= 50 * time.Millisecond {
		w.run(50 * time.Millisecond)
		p, err := w.user.CoreV1().Pods("default").Get(context.Background(), name, metav1.GetOptions{})
		require.NoError(w.t, err)
		container := "none"
		for _, c := range p.Status.ContainerStatuses {
			if container = "ended"; c.State.Terminated == nil {
				container = "waiting"
			}
		}
		list = append(list, fmt.Sprintf("%s: %d conditions, %s", p.Status.Phase, len(p.Status.Conditions), container))
	}
	return slices.Compact(list)
}

func TestAPodWhoseVolumeFindsTheNodeFullIsGivenUpAndTheLimitIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		spec   storagev1.CSIDriverSpec
		code   codes.Code
		failed bool
	}{
		"full": {every(600), codes.ResourceExhausted, true},
		"full, but the driver is not asked again": {storagev1.CSIDriverSpec{}, codes.ResourceExhausted, false},
		"another error": {every(600), codes.Internal, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := withDriver(t, engine.Config{}, c.spec)
			w.boundVolume("data", nil)
			w.failAttach(c.code)
			w.driver.info.MaxVolumesPerNode = 3
			w.create(pod("web", claim("data")))
			w.run(2 * time.Minute)
			require.Equal(t, v1.PodPending, w.phase("web"))
			seen := w.statuses("web", 10*time.Second)
			if !c.failed {
				require.Equal(t, v1.PodPending, w.phase("web"))
				require.Equal(t, 1, w.asked())
				return
			}
			p, err := w.user.CoreV1().Pods("default").Get(context.Background(), "web", metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, []string{ // conformance: a node told so
				"Pending: 5 conditions, waiting", "Pending: 0 conditions, none", "Pending: 5 conditions, waiting", "Failed: 5 conditions, ended",
			}, seen)
			words := "Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: " +
				"context deadline exceeded"
			require.Equal(t, v1.PodFailed, p.Status.Phase)
			require.Equal(t, "VolumeAttachmentLimitExceeded", p.Status.Reason)
			require.Equal(t, "Pod was rejected: "+words, p.Status.Message)
			require.Contains(t, w.events("web"), "VolumeAttachmentLimitExceeded: "+words)
			require.Equal(t, 2, w.asked())
			require.EqualValues(t, 3, w.limit())
			require.Equal(t, 1, strings.Count(strings.Join(w.events("web"), "\n"), "VolumeAttachmentLimitExceeded: "))
			w.delete("web")
			w.run(time.Minute)
			require.Equal(t, v1.PodPhase("gone"), w.phase("web"))
		})
	}
}
