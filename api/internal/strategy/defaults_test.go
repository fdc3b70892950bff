package strategy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/apitest"
)

// defaulted returns the part of the object that a test looks at, as JSON.
func defaulted(t *testing.T, manifest string, patches ...string) map[string]any {
	t.Helper()
	obj := apitest.Parse(t, manifest, patches...)
	apitest.SetDefaults(obj)
	again := obj.DeepCopyObject()
	apitest.SetDefaults(again)
	require.Equal(t, obj, again, "setting defaults twice changes nothing")
	data, err := json.Marshal(obj)
	require.NoError(t, err)
	tree := map[string]any{}
	require.NoError(t, json.Unmarshal(data, &tree))
	return tree
}

func jsonTree(t *testing.T, text string) map[string]any {
	t.Helper()
	tree := map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(text), &tree))
	return tree
}

// Recorded from kube-apiserver v1.36.3, less what admission adds.
func TestAPodGetsTheDefaultsOfTheRealServer(t *testing.T) {
	require.Equal(t, jsonTree(t, `{
		"containers": [{"image": "busybox", "imagePullPolicy": "Always", "name": "c", "resources": {},
			"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
			"volumeMounts": [{"mountPath": "/d0", "name": "v0"}]}],
		"dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "restartPolicy": "Always", "schedulerName": "default-scheduler",
		"securityContext": {}, "terminationGracePeriodSeconds": 30,
		"volumes": [{"name": "v0", "persistentVolumeClaim": {"claimName": "data"}}]}`), defaulted(t, apitest.GoodPod)["spec"])
}

// Recorded from kube-apiserver v1.37.2.
func TestAStatefulSetGetsTheDefaultsOfTheRealServer(t *testing.T) {
	got := defaulted(t, apitest.GoodStatefulSet)["spec"].(map[string]any)
	require.Equal(t, jsonTree(t, `{
		"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
		"podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10,
		"selector": {"matchLabels": {"app": "db"}}, "serviceName": "db",
		"template": {"metadata": {"labels": {"app": "db"}}, "spec": {
			"containers": [{"image": "busybox", "imagePullPolicy": "Always", "name": "c", "resources": {},
				"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
				"volumeMounts": [{"mountPath": "/d", "name": "data"}]}],
			"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
			"securityContext": {}, "terminationGracePeriodSeconds": 30}},
		"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1, "partition": 0}, "type": "RollingUpdate"},
		"volumeClaimTemplates": [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
			"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
				"storageClassName": "ext", "volumeMode": "Filesystem"},
			"status": {"phase": "Pending"}}]}`), got)
}

func TestStorageObjectsGetTheDefaultsOfTheRealServer(t *testing.T) {
	for _, row := range []struct{ manifest, field, want string }{
		{apitest.GoodVolume, "spec", `{"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}, "hostPath": {"path": "/tmp/pv", "type": ""},
			"persistentVolumeReclaimPolicy": "Retain", "storageClassName": "manual", "volumeMode": "Filesystem"}`},
		{apitest.GoodVolume, "status", `{"phase": "Pending"}`},
		{apitest.GoodClaim, "spec",
			`{"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}, "storageClassName": "manual", "volumeMode": "Filesystem"}`},
		{apitest.GoodClaim, "status", `{"phase": "Pending"}`},
		{apitest.GoodCSIDriver, "spec", `{"attachRequired": true, "podInfoOnMount": false, "storageCapacity": false, "fsGroupPolicy": "ReadWriteOnceWithFSType",
			"preventPodSchedulingIfMissing": false, "requiresRepublish": false, "seLinuxMount": false, "volumeLifecycleModes": ["Persistent"]}`},
		{apitest.GoodCSINode, "spec", `{"drivers": [{"name": "x.example.com", "nodeID": "node-1", "topologyKeys": null}]}`},
	} {
		require.Equal(t, jsonTree(t, row.want), defaulted(t, row.manifest)[row.field])
	}
	class := defaulted(t, apitest.GoodClass)
	require.Equal(t, "Delete", class["reclaimPolicy"])
	require.Equal(t, "Immediate", class["volumeBindingMode"])
}

func TestAVolumeOfAPodGetsItsDefaults(t *testing.T) {
	for source, want := range map[string]string{
		"":                                `{"name": "v", "emptyDir": {}}`,
		"hostPath: {path: /a}":            `{"name": "v", "hostPath": {"path": "/a", "type": ""}}`,
		"configMap: {name: m}":            `{"name": "v", "configMap": {"name": "m", "defaultMode": 420}}`,
		"secret: {secretName: s}":         `{"name": "v", "secret": {"secretName": "s", "defaultMode": 420}}`,
		"downwardAPI: {}":                 `{"name": "v", "downwardAPI": {"defaultMode": 420}}`,
		"projected: {sources: []}":        `{"name": "v", "projected": {"sources": null, "defaultMode": 420}}`,
		"image: {reference: 'a:1'}":       `{"name": "v", "image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}}`,
		"configMap: {name: m, items: []}": `{"name": "v", "configMap": {"name": "m", "defaultMode": 420}}`,
	} {
		spec := defaulted(t, apitest.GoodPod, "spec: {volumes: [{name: v, "+source+"}]}")["spec"].(map[string]any)
		got := spec["volumes"].([]any)[0].(map[string]any)
		if projected, ok := got["projected"].(map[string]any); ok {
			projected["sources"] = nil
		}
		require.Equal(t, jsonTree(t, want), got, source)
	}
}

func TestAnImageThatMayChangeIsAlwaysPulled(t *testing.T) {
	for image, want := range map[string]v1.PullPolicy{
		"busybox": v1.PullAlways, "busybox:latest": v1.PullAlways, "host:5000/busybox": v1.PullAlways, "host:5000/busybox:latest": v1.PullAlways,
		"busybox:1.36": v1.PullIfNotPresent, "host:5000/busybox:1.36": v1.PullIfNotPresent,
		"busybox@sha256:0123": v1.PullIfNotPresent, "busybox:1@sha256:0123": v1.PullIfNotPresent, "": v1.PullIfNotPresent,
		strings.Repeat("a1", 32): v1.PullIfNotPresent, // an identifier
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Image: image}}}}
		apitest.SetDefaults(pod)
		require.Equal(t, want, pod.Spec.Containers[0].ImagePullPolicy, image)
	}
}

func TestContainersGetTheirDefaults(t *testing.T) {
	spec := defaulted(t, apitest.GoodPod, `
spec:
  hostNetwork: true
  containers:
  - name: c
    image: busybox:1
    ports: [{containerPort: 80}]
    env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
    resources: {limits: {cpu: 1, memory: 0.0001}, requests: {cpu: 500m}}
    readinessProbe: {httpGet: {port: 80}}`)["spec"].(map[string]any)
	c := spec["containers"].([]any)[0].(map[string]any)
	require.Equal(t, jsonTree(t, `{"limits": {"cpu": "1", "memory": "1m"}, "requests": {"cpu": "500m", "memory": "1m"}}`), c["resources"],
		"what is limited is asked for, and nothing is finer than a thousandth")
	require.Equal(t, []any{jsonTree(t, `{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}`)}, c["ports"])
	require.Equal(t, jsonTree(t, `{"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10,
		"successThreshold": 1, "failureThreshold": 3}`), c["readinessProbe"])
	require.Equal(t, []any{jsonTree(t, `{"name": "NODE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}`)}, c["env"])
}

func TestOtherKindsGetTheirDefaults(t *testing.T) {
	secret := apitest.Parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, stringData: {k: text}}").(*v1.Secret)
	apitest.SetDefaults(secret)
	require.Equal(t, v1.SecretTypeOpaque, secret.Type)
	require.Equal(t, map[string][]byte{"k": []byte("text")}, secret.Data)
	require.Nil(t, secret.StringData)

	ns := defaulted(t, "{apiVersion: v1, kind: Namespace, metadata: {name: a}}")
	require.Equal(t, jsonTree(t, `{"phase": "Active"}`), ns["status"])
	require.Equal(t, jsonTree(t, `{"kubernetes.io/metadata.name": "a"}`), ns["metadata"].(map[string]any)["labels"])

	node := defaulted(t, apitest.GoodNode, "status: {capacity: {cpu: 64}}")["status"].(map[string]any)
	require.Equal(t, node["capacity"], node["allocatable"])

	service := defaulted(t, "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: b}, spec: {ports: [{port: 80}]}}")["spec"]
	require.Equal(t, jsonTree(t, `{"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "sessionAffinity": "None", "type": "ClusterIP",
		"internalTrafficPolicy": "Cluster"}`), service)

	job := defaulted(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: b}, spec: {template: {spec: {}}}}")["spec"].(map[string]any)
	delete(job, "template")
	require.Equal(t, jsonTree(t,
		`{"backoffLimit": 6, "completionMode": "NonIndexed", "manualSelector": false, "completions": 1, "parallelism": 1, "suspend": false,
		"podReplacementPolicy": "TerminatingOrFailed"}`), job)
}
