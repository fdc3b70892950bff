package kubelet_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Each container has events of its own, although their messages are the same. What is about the whole pod names no container.
//
// Upstream: pkg/kubelet/container/ref.go GenerateContainerRef, v1.37.2.
func TestEventsNameTheContainerThatTheyAreAbout(t *testing.T) {
	w := simple(t)
	p := running("web", "sleep 100000")
	other := p.Spec.Containers[0].DeepCopy()
	other.Name = "other"
	other.ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"false"}}}}
	p.Spec.Containers = append(p.Spec.Containers, *other)
	p.Spec.InitContainers = []v1.Container{{Name: "first", Image: "busybox", Command: []string{"true"}}}
	p = w.create(p)
	w.settle()
	w.delete("web")
	w.settle()
	list, err := w.user.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	counts := map[string]int32{}
	for _, e := range list.Items {
		if e.InvolvedObject.Name != "web" {
			continue
		}
		require.Equal(t, p.UID, e.InvolvedObject.UID)
		require.NotEmpty(t, e.InvolvedObject.ResourceVersion)
		key := e.Reason + " " + e.InvolvedObject.FieldPath
		require.NotContains(t, counts, key)
		counts[key] = e.Count
	}
	for _, part := range []string{"spec.initContainers{first}", "spec.containers{c}", "spec.containers{other}"} {
		for _, reason := range []string{"Pulled", "Created", "Started"} {
			require.EqualValues(t, 1, counts[reason+" "+part], fmt.Sprint(counts))
		}
	}
	require.Contains(t, counts, "Unhealthy spec.containers{other}")
	require.EqualValues(t, 1, counts["Killing spec.containers{c}"])
	require.EqualValues(t, 1, counts["Killing spec.containers{other}"])
}
