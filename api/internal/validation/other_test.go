package validation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/api/internal/apitest"
)

// What tags of the types say comes after what else is wrong, and of some kinds the metadata are looked at only if nothing else is.
func TestProblemsComeInTheOrderOfTheRealServer(t *testing.T) {
	const managed = `: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")`
	const job = `{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: default, uid: u},
		spec: {manualSelector: true, selector: {matchLabels: {a: b}},
		  template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`
	refusesNew(t, job, []refusal{
		{"a manager", "spec: {managedBy: example.com/m}", nil},
		{"a manager without a domain", "spec: {managedBy: x, completionMode: Odd}",
			[]string{"spec.managedBy" + managed, `spec.completionMode: Unsupported value: "Odd": supported values: "NonIndexed", "Indexed"`}},
		{"a manager with a long name", "spec: {managedBy: example.com/" + strings.Repeat("m", 60) + "}",
			[]string{"spec.managedBy: Too long: may not be more than 63 bytes"}},
	})
	errs := apitest.Words(create(apitest.Created(t,
		"{apiVersion: batch/v1, kind: CronJob, metadata: {name: j, namespace: default}, spec: {jobTemplate: {spec: {managedBy: x}}}}")))
	require.Contains(t, errs, "spec.jobTemplate.spec.managedBy"+managed)
	require.Equal(t, "spec.schedule: Required value", errs[len(errs)-1])
	refusesNew(t, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: default}, spec: {minAvailable: 1}}", []refusal{
		{"a label", "metadata: {labels: {a: b_}}", []string{`metadata.labels: Invalid value: "b_": a valid label must be an empty string or ` +
			`consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  ` +
			`or '12345', regex used for validation is ` +
			`'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`}},
		{"a label beside a number", "{metadata: {labels: {a: b_}}, spec: {minAvailable: 101%}}",
			[]string{`spec.minAvailable: Invalid value: "101%": must not be greater than 100%`}},
	})
}

func TestANodesTaintsAreChecked(t *testing.T) {
	refusesNew(t, apitest.GoodNode, []refusal{
		{"without an effect", "spec: {taints: [{key: a}]}", []string{"metadata.taints[0].effect: Required value"}},
		{"with an unknown effect", "spec: {taints: [{key: a, effect: Explode}]}",
			[]string{`metadata.taints[0].effect: Unsupported value: "Explode": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`}},
		{"twice", "spec: {taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule, value: b}]}", []string{
			`metadata.taints[1]: Duplicate value: {"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair`}},
	})
	refusesChange(t, apitest.GoodNode, []refusal{
		{"taints may come", "spec: {taints: [{key: a, effect: NoSchedule}]}", nil},
		{"a node may be cordoned", "spec: {unschedulable: true}", nil},
		{"labels may come", "metadata: {labels: {zone: a}}", nil},
	})
}

func TestAStatefulSetSelectsItsOwnPodsAndKeepsItsClaims(t *testing.T) {
	refusesNew(t, apitest.GoodStatefulSet, []refusal{
		{"a selector for other pods", "spec: {selector: {matchLabels: {app: other}}}",
			[]string{"spec.template.metadata.labels: Invalid value: {\"app\":\"db\"}: `selector` does not match template `labels`"}},
		{"no selector", "spec: {selector: null}", []string{"spec.selector: Required value",
			"spec.template.metadata.labels: Invalid value: {\"app\":\"db\"}: `selector` does not match template `labels`"}},
		{"an empty selector", "spec: {selector: {matchLabels: null}}", []string{"spec.selector: Invalid value: {}: empty selector is invalid for statefulset"}},
		{"an unknown order", "spec: {podManagementPolicy: Random}",
			[]string{`spec.podManagementPolicy: Invalid value: "Random": must be 'OrderedReady' or 'Parallel'`}},
		{"pods that end", "spec: {template: {spec: {restartPolicy: Never}}}",
			[]string{`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`}},
		{"less than no pods", "spec: {replicas: -1}", []string{"spec.replicas: Invalid value: -1: must be greater than or equal to 0"}},
	})
	refusesChange(t, apitest.GoodStatefulSet, []refusal{
		{"replicas may change", "spec: {replicas: 3}", nil},
		{"what becomes of claims may change", "spec: {persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}}", nil},
		{"claim templates may not", "spec: {volumeClaimTemplates: []}",
			[]string{`spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"`, "spec.volumeClaimTemplates: Invalid value: []: field is immutable"}},
		{"the service may not", "spec: {serviceName: other}", []string{`spec.serviceName: Invalid value: "other": field is immutable`}},
	})
}

func TestADeploymentsPodsAreChecked(t *testing.T) {
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: busybox}]}}`
	refusesNew(t, deployment, []refusal{
		{"a mount of no volume", "spec: {template: {spec: {containers: [{name: c, image: busybox, volumeMounts: [{name: v, mountPath: /a}]}]}}}",
			[]string{`spec.template.spec.containers[0].volumeMounts[0].name: Not found: "v"`}},
	})
	refusesChange(t, deployment, []refusal{
		{"the selector is fixed", "spec: {selector: {matchLabels: {app: web, tier: a}}, template: {metadata: {labels: {tier: a}}}}",
			[]string{`spec.selector: Invalid value: {"matchLabels":{"app":"web","tier":"a"}}: field is immutable`}},
	})
}

func TestAnEventStandsInTheNamespaceOfItsObject(t *testing.T) {
	const event = "{apiVersion: v1, kind: Event, metadata: {name: a, namespace: default}, involvedObject: {namespace: default}}"
	refusesNew(t, event, []refusal{
		{"another namespace", "involvedObject: {namespace: other}", []string{`involvedObject.namespace: Invalid value: "other": does not match event.namespace`}},
		{"an event about a volume stands in default", "involvedObject: {namespace: null}", nil},
	})
}

func TestSealedConfigurationStaysAsItIs(t *testing.T) {
	const config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, immutable: true, data: {a: b}}"
	const secret = "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default}, immutable: true, stringData: {a: b}}"
	refusesNew(t, config, []refusal{
		{"a key that is no file name", "data: {'a/b': c}", []string{`data[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, ` +
			`'-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`}},
	})
	const msg = "Forbidden: field is immutable when `immutable` is set"
	for _, manifest := range []string{config, secret} {
		refusesChange(t, manifest, []refusal{
			{"the seal", "immutable: false", []string{"immutable: " + msg}},
			{"metadata may change", "metadata: {labels: {a: b}}", nil},
		})
	}
	refusesChange(t, config, []refusal{{"the data", "data: {a: c}", []string{"data: " + msg}}})
	refusesChange(t, secret, []refusal{{"the data of a secret", "stringData: {a: c}", []string{"data: " + msg}},
		{"the type", "type: example.com/other", []string{`type: Invalid value: "example.com/other": field is immutable`}}})
	refusesNew(t, secret, []refusal{{"a key pair without its keys", "type: kubernetes.io/tls", []string{
		"data[tls.crt]: Required value", "data[tls.key]: Required value"}}})
}
