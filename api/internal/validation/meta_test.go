package validation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/internal/apitest"
	"github.com/storagesim/storagesim/api/internal/validation"
)

func TestMetadataOfNewObjectsIsChecked(t *testing.T) {
	const key = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	const value = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
		"alphanumeric character " +
		"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	refusesNew(t, apitest.GoodClaim, []refusal{
		{"no name", "metadata: {name: null}", []string{"metadata.name: Required value: name or generateName is required"}},
		{"a bad namespace", "metadata: {namespace: a.b}", []string{`metadata.namespace: Invalid value: "a.b": must not contain dots`}},
		{"a bad label key", "metadata: {labels: {a b: c}}", []string{`metadata.labels: Invalid value: "a b": ` + key}},
		{"a bad label value", "metadata: {labels: {a: b c}}", []string{`metadata.labels: Invalid value: "b c": ` + value}},
		{"bad annotation keys, always in one order", "metadata: {annotations: {c d: x, a b: x, e f: x}}", []string{
			`metadata.annotations: Invalid value: "a b": ` + key, `metadata.annotations: Invalid value: "c d": ` + key,
			`metadata.annotations: Invalid value: "e f": ` + key}},
		{"annotations too long", "metadata: {annotations: {a: '" + strings.Repeat("x", 256<<10) + "'}}",
			[]string{"metadata.annotations: Too long: may not be more than 262144 bytes"}},
		{"a finalizer without a domain", "metadata: {finalizers: [mine]}",
			[]string{`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`}},
		{"two ways to delete dependents", "metadata: {finalizers: [orphan, foregroundDeletion]}", []string{
			`metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set`}},
		{"an owner without a UID", "metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: ''}]}",
			[]string{`metadata.ownerReferences[0].uid: Required value: must not be empty`}},
		{"two controllers", "metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: u1, controller: true}, {apiVersion: v1, kind: Pod, name: b, " +
			"uid: u2, controller: true}]}",
			[]string{`metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod","name":"a","uid":"u1","controller":true},` +
				`{"apiVersion":"v1","kind":"Pod","name":"b","uid":"u2","controller":true}]: Only one reference can have Controller set to true. ` +
				`Found "true" in references for Pod/a and Pod/b`}},
	})
}

func TestGoodMetadataIsAccepted(t *testing.T) {
	require.Empty(t, apitest.Words(create(apitest.Created(t, apitest.GoodClaim, `
metadata:
  generateName: data-
  labels: {app.kubernetes.io/name: Web_1, empty: ''}
  annotations: {volume.kubernetes.io/selected-node: node-1, example.com/UPPER: why}
  finalizers: [kubernetes.io/pvc-protection, orphan]
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]`))))
}

func TestKindsHaveTheirOwnRulesForNames(t *testing.T) {
	for manifest, refused := range map[string]bool{
		"{apiVersion: v1, kind: Namespace, metadata: {name: a.b}}":                              true,
		"{apiVersion: v1, kind: Namespace, metadata: {name: a-b}}":                              false,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: A, namespace: default}}":            true,
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: a1, namespace: default}}":      false,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt, namespace: ns}}":  false,
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: a_b, namespace: kube-system}}": true,
	} {
		require.Equal(t, refused, len(create(apitest.Created(t, manifest))) > 0, manifest)
	}
}

func TestMetadataThatTheServerOwnsCannotChange(t *testing.T) {
	later := metav1.Unix(1_800_000_000, 0)
	for _, row := range []struct {
		name   string
		stored func(*metav1.ObjectMeta)
		change func(*metav1.ObjectMeta)
		want   []string
	}{
		{"name", nil, func(m *metav1.ObjectMeta) { m.Name = "other" }, []string{`metadata.name: Invalid value: "other": field is immutable`}},
		{"UID", nil, func(m *metav1.ObjectMeta) { m.UID = "other" }, []string{`metadata.uid: Invalid value: "other": field is immutable`}},
		{"creation time", nil, func(m *metav1.ObjectMeta) { m.CreationTimestamp = later },
			[]string{`metadata.creationTimestamp: Invalid value: "2027-01-15T08:00:00Z": field is immutable`}},
		{"deletion time", nil, func(m *metav1.ObjectMeta) { m.DeletionTimestamp = &later },
			[]string{`metadata.deletionTimestamp: Invalid value: "2027-01-15T08:00:00Z": field is immutable`}},
		{"a finalizer more while deleting", func(m *metav1.ObjectMeta) { m.DeletionTimestamp, m.Finalizers = &later, []string{"a.io/b"} },
			func(m *metav1.ObjectMeta) { m.Finalizers = append(m.Finalizers, "c.io/d") },
			[]string{`metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"c.io/d"}`}},
		{"a finalizer less while deleting is fine", func(m *metav1.ObjectMeta) { m.DeletionTimestamp, m.Finalizers = &later, []string{"a.io/b"} },
			func(m *metav1.ObjectMeta) { m.Finalizers = nil }, nil},
		{"no version at all", nil, func(m *metav1.ObjectMeta) { m.ResourceVersion = "" },
			[]string{`metadata.resourceVersion: Invalid value: "": must be specified for an update`}},
		{"a bad finalizer", nil, func(m *metav1.ObjectMeta) { m.Finalizers = []string{"mine"} },
			[]string{`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`}},
		{"labels and annotations are free", nil,
			func(m *metav1.ObjectMeta) {
				m.Labels, m.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
			}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, manifest := range []string{apitest.GoodClaim, apitest.GoodVolume, apitest.GoodPod, apitest.GoodClass, apitest.GoodNode, apitest.GoodAttachment} {
				old := apitest.Created(t, manifest)
				if row.stored != nil {
					row.stored(validation.ObjectMeta(old))
				}
				obj := old.DeepCopyObject()
				row.change(validation.ObjectMeta(obj))
				require.Equal(t, row.want, apitest.Words(update(obj, old)))
				require.Equal(t, row.want, apitest.Words(updateStatus(obj, old)))
			}
		})
	}
}
