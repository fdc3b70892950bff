package storagesim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

func TestEventsThatAClientWritesAreInTheStory(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: data}}`)
	about := v1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "data"}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	event, err := c.Client().CoreV1().Events("default").Create(t.Context(), &v1.Event{
		ObjectMeta: meta("a"), InvolvedObject: about, Type: "Warning", Reason: "ProvisioningFailed", Message: "no space is left", Count: 1,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	event.Count++
	_, err = c.Client().CoreV1().Events("default").Update(t.Context(), event, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = c.Client().EventsV1().Events("default").Create(t.Context(), &eventsv1.Event{
		ObjectMeta: meta("b"), Regarding: about, Type: "Normal", Reason: "Copied", Note: "copied 3 files", Action: "Copy", EventTime: metav1.NewMicroTime(c.Now()),
		ReportingController: "example.com/copier", ReportingInstance: "copier-1",
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Client().CoreV1().Events("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	c.Apply(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p}, spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: ` +
		`{requests: {storage: 1Gi}}}}`)
	c.Settle()

	var said []trace.Event
	controllers := 0
	for _, e := range c.Engine().Trace().Entries() {
		event, ok := e.Record.(trace.Event)
		switch {
		case ok && e.Actor == "user":
			said = append(said, event)
		case ok:
			controllers++
		}
	}
	ref := trace.Ref{Kind: "ConfigMap", Namespace: "default", Name: "data"}
	require.Equal(t, []trace.Event{
		{About: ref, Type: "Warning", Reason: "ProvisioningFailed", Message: "no space is left"},
		{About: ref, Type: "Warning", Reason: "ProvisioningFailed", Message: "no space is left", Repeated: true},
		{About: ref, Type: "Normal", Reason: "Copied", Message: "copied 3 files"},
	}, said)
	require.Equal(t, 1, controllers, "those of controllers are told once, too")
	require.Contains(t, c.Story(), "says of configmap default/data: Warning ProvisioningFailed: no space is left")
}
