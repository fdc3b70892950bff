package validation_test

import (
	"testing"
)

func TestAQuotaLimitsWhatItKnowsInScopesThatFit(t *testing.T) {
	const quota = `
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: default}
spec: {hard: {pods: "1"}}`
	refusesNew(t, quota, []refusal{
		{"classes, counts and devices",
			"spec: {hard: {gold.storageclass.storage.k8s.io/requests.storage: 1Gi, count/jobs.batch: '1', requests.example.com/gpu: '1'}}", nil},
		{"less than none", "spec: {hard: {pods: '-1'}}", []string{`spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0`}},
		{"half a pod", "spec: {hard: {pods: 500m}}", []string{`spec.hard[pods]: Invalid value: "500m": must be an integer`}},
		{"storage without requests", "spec: {hard: {storage: 1Gi}}", []string{`spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota`}},
		{"an unknown name", "spec: {hard: {volumes: '1'}}", []string{
			`spec.hard[volumes]: Invalid value: "volumes": must be a standard resource type or fully qualified`,
			`spec.hard[volumes]: Invalid value: "volumes": must be a standard resource for quota`}},
		{"a scope of pods for claims", "spec: {hard: {pods: null, requests.storage: 1Gi}, scopes: [Terminating]}",
			[]string{`spec.scopes: Invalid value: ["Terminating"]: unsupported scope applied to resource`}},
		{"scopes that exclude each other", "spec: {scopes: [Terminating, NotTerminating]}",
			[]string{`spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes`}},
		{"an unknown scope", "spec: {scopes: [Tired]}", []string{`spec.scopes: Invalid value: ["Tired"]: unsupported scope`}},
		{"a selector without values", "spec: {scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In}]}}",
			[]string{"spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"}},
	})
	refusesChange(t, quota, []refusal{
		{"more is allowed", "spec: {hard: {pods: '2'}}", nil},
		{"another scope is not", "spec: {scopes: [BestEffort]}", []string{`spec.scopes: Invalid value: ["BestEffort"]: field is immutable`}},
	})
}

func TestTheLimitsOfALimitRangeAgree(t *testing.T) {
	const limits = `
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: default}
spec: {limits: [{type: PersistentVolumeClaim, min: {storage: 1Gi}}]}`
	refusesNew(t, limits, []refusal{
		{"claims without storage", "spec: {limits: [{type: PersistentVolumeClaim, min: {cpu: 1}}]}",
			[]string{"spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided"}},
		{"more than the most", "spec: {limits: [{type: PersistentVolumeClaim, min: {storage: 2Gi}, max: {storage: 1Gi}}]}",
			[]string{`spec.limits[0].min[storage]: Invalid value: "2Gi": min value 2Gi is greater than max value 1Gi`}},
		{"storage of containers", "spec: {limits: [{type: Container, max: {storage: 1Gi}}]}",
			[]string{
				`spec.limits[0].max[storage]: Invalid value: "storage": must be a standard resource for containers`,
				`spec.limits[0].default[storage]: Invalid value: "storage": must be a standard resource for containers`,
				`spec.limits[0].defaultRequest[storage]: Invalid value: "storage": must be a standard resource for containers`}},
		{"defaults of pods", "spec: {limits: [{type: Pod, default: {cpu: 1}}]}",
			[]string{"spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"}},
		{"a type twice", "spec: {limits: [{type: Pod}, {type: Pod}]}", []string{`spec.limits[1].type: Duplicate value: "Pod"`}},
		{"an unknown type", "spec: {limits: [{type: Node}]}",
			[]string{`spec.limits[0].type: Invalid value: "Node": must be a standard limit type or fully qualified`}},
		{"a default beyond the most", "spec: {limits: [{type: Container, default: {cpu: 2}, max: {cpu: 1}}]}", []string{
			`spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than max value 1`,
			`spec.limits[0].default[cpu]: Invalid value: "1": default value 2 is greater than max value 1`}},
		{"a ratio below one", "spec: {limits: [{type: Container, maxLimitRequestRatio: {cpu: 500m}}]}",
			[]string{`spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1`}},
	})
}
