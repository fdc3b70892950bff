package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/storagesimtest"
)

// apart returns the affinity of pods that must not be in a domain with another pod of this app.
func apart(app, key string) string {
	return fmt.Sprintf("  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: %s, labelSelector: "+
		"{matchLabels: {app: %s}}}]}}", key, app)
}

// near returns the affinity of pods that must be in a domain with a pod of this app; more is added to the term.
func near(app, key, more string) string {
	return fmt.Sprintf("  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: %s, labelSelector: "+
		"{matchLabels: {app: %s}}%s}]}}", key, app, more)
}

// placeOf returns the node of a pod in the namespace default, "" if it has none.
func placeOf(c *storagesimtest.Cluster, pod string) string {
	return c.Pod(pod).Spec.NodeName
}

func TestTheThirdReplicaThatMustBeApartWaitsForAThirdNode(t *testing.T) {
	c := zones(t, 0, "a", "b")
	c.Apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: busybox}]
` + strings.ReplaceAll(apart("web", v1.LabelHostname), "  affinity", "      affinity"))
	c.RunFor(time.Minute)
	assert.Equal(t, map[string]int{"a": 1, "b": 1, "": 1}, clustertest.PerNode(t, c.Client()))
	assert.Contains(t, c.Story(), "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.")
	pods, err := c.Client().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	pending := ""
	for _, pod := range pods.Items {
		if pod.Spec.NodeName == "" {
			pending = c.Explain("pod/" + pod.Name)
		}
	}
	assert.Regexp(t, `node a: node\(s\) didn't match pod anti-affinity rules: the pod must not be with pod default/web-\S+ on node a \(kubernetes.io/hostname\)`,
		pending)
	c.AddNode(storagesim.Node{Name: "c"})
	c.RunFor(time.Minute)
	assert.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1}, clustertest.PerNode(t, c.Client()), "a new node is what such a pod waits for")
}

func TestAPodWaitsForThePodThatItsAffinityNames(t *testing.T) {
	c := zones(t, 0, "a/east", "b/west")
	c.Apply(labelled("client", 1, near("db", v1.LabelTopologyZone, "")))
	c.RunFor(time.Minute)
	assert.Empty(t, placeOf(c, "client-0"))
	assert.Contains(t, c.Story(), "0/2 nodes are available: 2 node(s) didn't match pod affinity rules.")
	c.Apply(labelled("db", 1, "  nodeSelector: {kubernetes.io/hostname: b}"))
	c.Settle()
	assert.Equal(t, "b", placeOf(c, "client-0"))
}

func TestTheFirstPodOfAGroupThatMatchesItselfGoesAnywhereWithTheKey(t *testing.T) {
	c := zones(t, 0, "a", "b/west")
	c.Apply(labelled("web", 3, near("web", v1.LabelTopologyZone, "")))
	c.RunFor(time.Minute)
	assert.Equal(t, map[string]int{"b": 3}, clustertest.PerNode(t, c.Client()), "node a is in no zone")
	c.Apply(labelled("lost", 1, near("lost", "rack", "")))
	c.RunFor(time.Minute)
	assert.Empty(t, placeOf(c, "lost-0"), "no node has the key rack")
}

func TestThePodsThatRunKeepOthersOff(t *testing.T) {
	c := zones(t, 0, "a/east", "b/east", "c")
	c.Apply(labelled("loner", 1, apart("web", v1.LabelTopologyZone)+"\n  nodeSelector: {kubernetes.io/hostname: a}"))
	c.Settle()
	c.Apply(labelled("web", 1, "  nodeSelector: {topology.kubernetes.io/zone: east}"))
	c.RunFor(time.Minute)
	assert.Empty(t, placeOf(c, "web-0"))
	assert.Contains(t, c.Story(), "2 node(s) didn't satisfy existing pods anti-affinity rules")
	c.Delete("pod/loner-0")
	c.RunFor(time.Minute)
	assert.NotEmpty(t, placeOf(c, "web-0"), "the deletion is what it waits for")
}

// An anti-affinity with a key that no node has keeps nothing off.
func TestAntiAffinityAllowsNodesWithoutTheKey(t *testing.T) {
	c := zones(t, 0, "a")
	c.Apply(labelled("web", 2, apart("web", "rack")))
	c.RunFor(time.Minute)
	assert.Equal(t, map[string]int{"a": 2}, clustertest.PerNode(t, c.Client()))
}

func TestTermsCanBeAboutOtherNamespaces(t *testing.T) {
	for more, want := range map[string]string{
		"":                        "",
		", namespaces: [other]":   "b",
		", namespaceSelector: {}": "b",
		", namespaceSelector: {matchLabels: {team: storage}}": "b",
		", namespaceSelector: {matchLabels: {team: none}}":    "",
	} {
		c := zones(t, 0, "a", "b")
		c.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: other, labels: {team: storage}}")
		c.Apply(strings.ReplaceAll(labelled("db", 1, "  nodeSelector: {kubernetes.io/hostname: b}"), "{name: db-0,", "{name: db-0, namespace: other,"))
		c.Settle()
		c.Apply(labelled("client", 1, near("db", v1.LabelHostname, more)))
		c.RunFor(time.Minute)
		assert.Equal(t, want, placeOf(c, "client-0"), more)
	}
}

// The API server puts the label into the selector, so that replicas of one version keep apart and those of two do not.
func TestMatchLabelKeysTellVersionsApart(t *testing.T) {
	c := zones(t, 0, "a", "b")
	spec := strings.Replace(apart("web", v1.LabelHostname), "labelSelector:", "matchLabelKeys: [version], labelSelector:", 1)
	pods := func(version string) string {
		return strings.ReplaceAll(strings.ReplaceAll(labelled("web", 2, spec), "labels: {app: web}}\n", "labels: {app: web, version: "+version+"}}\n"), "name: web-",
			"name: web-"+version+"-")
	}
	c.Apply(pods("one"), pods("two"))
	c.RunFor(time.Minute)
	assert.Equal(t, map[string]int{"a": 2, "b": 2}, clustertest.PerNode(t, c.Client()))
}

func TestPreferredTermsMoveAPodNearOrFar(t *testing.T) {
	for seed := range uint64(5) {
		c := zones(t, seed, "a", "b", "c")
		c.Apply(labelled("db", 1, "  nodeSelector: {kubernetes.io/hostname: b}"))
		c.Settle()
		const term = "[{weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}}]"
		c.Apply(labelled("near", 1, "  affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "+term+"}}"))
		c.Apply(labelled("far", 4, "  affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "+term+"}}"))
		c.RunFor(time.Minute)
		assert.Equal(t, "b", placeOf(c, "near-0"), "seed %d", seed)
		for i := range 4 {
			assert.NotEqual(t, "b", placeOf(c, fmt.Sprintf("far-%d", i)), "seed %d", seed)
		}
	}
}
