package kubelet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/trace"
)

// runs returns the moments at which a command ran, in seconds since then.
func (w *world) runs(since time.Time) (at []int) {
	for _, entry := range w.e.Trace().Entries() {
		if _, ok := entry.Record.(trace.Command); ok {
			at = append(at, int(entry.Time.Sub(since).Seconds()))
		}
	}
	return at
}

// Upstream: kuberuntime_manager.go doBackOff and client-go util/flowcontrol Backoff, v1.37.
func TestAContainerThatKeepsFailingIsStartedAtOnceAndThenWaitsLongerEachTime(t *testing.T) {
	w := simple(t)
	require.NoError(t, w.node.MkdirAll("/srv", 0o755))
	began := w.e.Now()
	p := w.create(onFailure("mkdir", "/srv/x/y"))
	w.settle()
	name := "h_default(" + string(p.UID) + ")"
	container := p.Spec.Containers[0].Name
	w.requireEvent("h", "BackOff", "Back-off restarting failed container "+container+" in pod "+name)
	require.NoError(t, w.e.RunFor(began.Add(5*time.Minute).Sub(w.e.Now())))
	s := w.get("h").Status.ContainerStatuses[0]
	require.Equal(t, &v1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: "back-off 2m40s restarting failed container=" + container + " pod=" + name,
	}, s.State.Waiting)
	require.Equal(t, s.LastTerminationState.Terminated.ContainerID, s.ContainerID)
	require.NoError(t, w.e.RunFor(11*time.Minute))
	require.Equal(t, []int{0, 0, 10, 30, 70, 150, 310, 610, 910}, w.runs(began))
	require.EqualValues(t, 8, w.get("h").Status.ContainerStatuses[0].RestartCount)
}

// Upstream keeps it in memory, too.
func TestAKubeletThatStartsAgainHasForgottenTheBackOff(t *testing.T) {
	w := simple(t)
	require.NoError(t, w.node.MkdirAll("/srv", 0o755))
	w.create(onFailure("mkdir", "/srv/x/y"))
	require.NoError(t, w.e.RunFor(3*time.Minute))
	before, crashed := len(w.runs(w.e.Now())), w.e.Now()
	require.NoError(t, w.e.Crash(actor))
	require.NoError(t, w.e.RunFor(time.Minute))
	require.Equal(t, []int{0, 10, 30}, w.runs(crashed)[before:])
}
