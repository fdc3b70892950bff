package gaps_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/internal/gaps"
)

var update = flag.Bool("update", false, "write the table of README")

func TestREADMEHasTheRegister(t *testing.T) {
	const begin, end = "<!-- from internal/gaps -->\n", "<!-- end of internal/gaps -->\n"
	data, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok)
	table, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile("../../README.md", []byte(before+begin+gaps.Table()+end+after), 0o644))
		return
	}
	require.Equal(t, gaps.Table(), table, "go test ./internal/gaps -update writes the table")
}

func TestAnEntrySaysWhatHappensInBothPlaces(t *testing.T) {
	for _, g := range gaps.All() {
		require.NotEmpty(t, g.Kinds)
		for _, text := range []string{g.Cluster, g.Here} {
			require.NotEmpty(t, text, g.Kinds)
			require.NotContains(t, text, "|")
			require.NotContains(t, text, ";", "the sentence has one")
			require.False(t, strings.HasSuffix(text, "."), text)
		}
	}
}

// Whether a pod's priority matters is known when it fits on no node: then an event says so.
func TestAQuietEntryIsUsedByNoObject(t *testing.T) {
	high := int32(100)
	pod := &v1.Pod{Spec: v1.PodSpec{Priority: &high, HostPID: true}}
	uses := gaps.Of("Pod", pod)
	require.Len(t, uses, 1)
	require.Equal(t, []string{"spec.hostPID"}, uses[0].Paths)
}

func TestAnEntryAboutImagesIsUsedByTheseImagesOnly(t *testing.T) {
	of := func(image string) (images []string) {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: image}}}}
		for _, use := range gaps.Of("Pod", pod) {
			images = append(images, use.Images...)
		}
		return images
	}
	for _, image := range []string{"openebs/node-disk-manager:1.8.0", "node-disk-operator", "localhost:5000/openebs/node-disk-exporter@sha256:0"} {
		require.Contains(t, of(image), "node-disk-manager", image)
	}
	for _, image := range []string{"", "busybox", "node-disk-manager/other:node-disk-manager", "localhost:5000/web"} {
		require.Empty(t, of(image), image)
	}
	set := &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: v1.PodTemplateSpec{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "ndm",
		Image: "openebs/node-disk-manager:1.8.0"}}}}}}
	uses := gaps.Of("DaemonSet", set)
	require.Len(t, uses, 1)
	require.Equal(t, []string{"spec.template.spec.containers[ndm].image"}, uses[0].Paths)
}
