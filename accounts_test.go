package storagesim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// Workloads whose service account is missing say so, and have their pods when it is there.
func TestAWorkloadWhoseServiceAccountIsMissingHasNoPods(t *testing.T) {
	const template = `template: {metadata: {labels: {a: b}}, spec: {serviceAccountName: robot, containers: [{name: c, image: i, command: [sleep, inf]}]`
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	pods := c.Client().CoreV1().Pods("default")
	c.Apply(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, `+template+`}}}}`,
		`{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {replicas: 1, serviceName: s, selector: {matchLabels: {a: b}}, `+template+`}}}}`,
		`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, spec: {selector: {matchLabels: {a: b}}, `+template+`}}}}`,
		`{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {`+template+`, restartPolicy: Never}}}}`)
	c.RunFor(time.Minute)
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
	events, err := c.Client().CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	refused := map[string]bool{}
	for _, e := range events.Items {
		if e.Reason == "FailedCreate" && strings.Contains(e.Message, `error looking up service account default/robot: serviceaccount "robot" not found`) {
			refused[e.InvolvedObject.Kind] = true
		}
	}
	assert.Equal(t, map[string]bool{"ReplicaSet": true, "StatefulSet": true, "DaemonSet": true, "Job": true}, refused)

	c.Apply(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}`)
	c.RunFor(20 * time.Minute)
	list, err = pods.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 4)
}

func TestAClusterWithoutServiceAccountAdmissionTakesPodsOfMissingAccounts(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks, NoServiceAccountAdmission: true})
	c.Apply(`{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {serviceAccountName: robot, containers: [{name: c, image: i}]}}`)
	c.Settle()
	c.RequireRunning("pod/p")
}
