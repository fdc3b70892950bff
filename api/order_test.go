package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The words and their order in this file were recorded of a kube-apiserver v1.37.2. Often the order says by which of upstream's rules a problem was
// found: those of the kind's own validation come first, then what tags of the types say.
const (
	labelValue = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
		"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	dnsLabel = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character " +
		"(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
	dnsSubdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric " +
		`character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

	noAffinity     = `spec.sessionAffinity: Unsupported value: "Odd": supported values: "ClientIP", "None"`
	balancersOnly  = "Forbidden: may only be used when `type` is 'LoadBalancer'"
	noRange        = `spec.podCIDRs[0]: Invalid value: "a": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`
	moreRanges     = "may specify no more than one CIDR for each IP family"
	otherLabels    = "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"
	otherSelector  = `spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`
	rightSubjects  = `supported values: "ServiceAccount", "User", "Group"`
	badSelector    = `spec.selector: Invalid value: {"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"In","values":["b c"]}]}`
	badExpressions = `spec.selector.matchExpressions[0].values[0]: Invalid value: "b c": ` + labelValue
)

// kinds in which the selector and the template agree, but for what EXTRA adds to the selector.
const (
	aStatefulSet = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {serviceName: s, " + aTemplate
	aDaemonSet   = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x}, spec: {" + aTemplate
	aDeployment  = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {" + aTemplate
	aReplicaSet  = "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: x}, spec: {" + aTemplate
	aTemplate    = "selector: {matchLabels: {a: b}EXTRA}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: busybox}]}}}}"

	rbacGroup     = "rbac.authorization.k8s.io"
	aRoleBinding  = "{apiVersion: " + rbacGroup + "/v1, kind: RoleBinding, metadata: {name: x}, roleRef: {apiGroup: " + rbacGroup + ", kind: Role, name: a}}"
	aWideBinding  = "{apiVersion: " + rbacGroup + "/v1, kind: ClusterRoleBinding, metadata: {name: x}, " + aWideRole + "}"
	aWideRole     = "roleRef: {apiGroup: " + rbacGroup + ", kind: ClusterRole, name: a}"
	aRuntimeClass = "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: x}, handler: runc}"
	aBalancer     = "{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: LoadBalancer, loadBalancerClass: example.com/a, ports: [{port: 80}]}}"
	aPriority     = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: x}, value: 1}"
	aService      = "{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80}]}}"
)

// invalid returns the message of a refusal that tells these problems.
func invalid(what string, problems ...string) string {
	if len(problems) == 1 {
		return what + ` "x" is invalid: ` + problems[0]
	}
	return what + ` "x" is invalid: [` + strings.Join(problems, ", ") + "]"
}

func TestSeveralProblemsOfANewObjectAreToldInTheOrderOfTheRealServer(t *testing.T) {
	wrongOwner := []string{`metadata.ownerReferences[0].apiVersion: Invalid value: "a/b/c": must be <group>/<version> or <version>`,
		"metadata.ownerReferences[0].kind: Required value: must not be empty", "metadata.ownerReferences[0].name: Required value: must not be empty",
		"metadata.ownerReferences[0].uid: Required value: must not be empty"}
	wrong := strings.NewReplacer("EXTRA", ", matchExpressions: [{key: a, operator: In, values: [b c]}]")
	ranges := func(list string) string {
		return "{apiVersion: v1, kind: Node, metadata: {name: x}, spec: {podCIDRs: [" + list + "]}}"
	}
	for _, tc := range []struct{ name, manifest, message string }{
		{
			"ranges of which one is none", ranges("a, 10.0.0.0/24"), invalid("Node",
				noRange, "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[0]: <nil> (invalid CIDR address: a)",
				`spec.podCIDRs: Invalid value: ["a","10.0.0.0/24"]: `+moreRanges),
		},
		{"one range that is none", ranges("a"), invalid("Node", noRange)},
		{"two ranges of one family", ranges("10.0.1.0/24, 10.0.0.0/24"), invalid("Node", `spec.podCIDRs: Invalid value: ["10.0.1.0/24","10.0.0.0/24"]: `+moreRanges)},
		{
			"three ranges of two families", ranges("10.0.1.0/24, 'fd00::/64', 10.0.0.0/24"),
			invalid("Node", `spec.podCIDRs: Invalid value: ["10.0.1.0/24","fd00::/64","10.0.0.0/24"]: `+moreRanges),
		},
		{"the selector of a StatefulSet", wrong.Replace(aStatefulSet), invalid("StatefulSet.apps", badExpressions, badSelector)},
		{"the selector of a Deployment", wrong.Replace(aDeployment), invalid("Deployment.apps", badExpressions, badSelector+": invalid label selector")},
		{"the selector of a ReplicaSet", wrong.Replace(aReplicaSet), invalid("ReplicaSet.apps", badExpressions, badSelector+": invalid label selector")},
		{"the selector of a DaemonSet", wrong.Replace(aDaemonSet), invalid("DaemonSet.apps", badExpressions)},
		{
			"a class of balancers for another service", strings.Replace(aService, "ports", "loadBalancerClass: example.com/a, sessionAffinity: Odd, ports", 1),
			invalid("Service", noAffinity, "spec.loadBalancerClass: "+balancersOnly),
		},
		{
			"a binding without names",
			strings.Replace(aRoleBinding, "kind: Role, name: a}", "kind: Odd, name: ''}, subjects: [{kind: User, name: ''}, {kind: Group, apiGroup: a, name: b}]", 1),
			invalid("RoleBinding."+rbacGroup, `roleRef.kind: Unsupported value: "Odd": supported values: "Role", "ClusterRole"`,
				`subjects[1].apiGroup: Unsupported value: "a": supported values: "`+rbacGroup+`"`, "subjects[0].name: Required value", "roleRef.name: Required value"),
		},
		{
			"a binding of the cluster without names",
			strings.Replace(aWideBinding, "kind: ClusterRole, name: a}", "kind: Role, name: ''}, subjects: [{kind: ServiceAccount, name: ''}]", 1),
			invalid("ClusterRoleBinding."+rbacGroup, `roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"`,
				"subjects[0].namespace: Required value", "subjects[0].name: Required value", "roleRef.name: Required value"),
		},
		{
			"a handler that is no label", strings.Replace(aRuntimeClass, "runc", "Bad_, scheduling: {nodeSelector: {a: b c}}", 1), invalid("RuntimeClass.node.k8s.io",
				`scheduling.nodeSelector: Invalid value: "b c": `+labelValue, `handler: Invalid value: "Bad_": `+dnsLabel),
		},
		{
			"an event whose metadata are looked at only if nothing else is wrong", "{apiVersion: v1, kind: Event, metadata: {name: x, labels: {a: b_}, " +
				"ownerReferences: [{apiVersion: a/b/c, kind: '', name: '', uid: ''}]}, involvedObject: {namespace: other}}",
			invalid("Event", `involvedObject.namespace: Invalid value: "other": does not match event.namespace`),
		},
		{
			"an event of the core group whose metadata are wrong", "{apiVersion: v1, kind: Event, metadata: {name: x, labels: {a: b_}, finalizers: [a], " +
				"ownerReferences: [{apiVersion: a/b/c, kind: '', name: '', uid: ''}]}, involvedObject: {namespace: default}}",
			invalid("Event", append([]string{`metadata.labels: Invalid value: "b_": ` + labelValue}, wrongOwner...)...),
		},
		{
			"an event of events.k8s.io", "{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: x, labels: {a: b_}, " +
				"ownerReferences: [{apiVersion: a/b/c, kind: '', name: '', uid: ''}]}, regarding: {namespace: other}, type: Odd}",
			invalid("Event", slices.Concat([]string{`involvedObject.namespace: Invalid value: "other": does not match event.namespace`,
				`metadata.labels: Invalid value: "b_": ` + labelValue}, wrongOwner,
				[]string{"eventTime: Required value", `type: Invalid value: "": has invalid value: Odd`})...),
		},
		{
			"no handler", strings.Replace(aRuntimeClass, "runc", "'', scheduling: {nodeSelector: {a: b c}}", 1), invalid("RuntimeClass.node.k8s.io",
				`scheduling.nodeSelector: Invalid value: "b c": `+labelValue, "handler: Required value"),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, c := newServer()
			_, err := createYAML(c, tc.manifest)
			requireAnswer(t, err, 422, tc.message)
		})
	}
}

func TestSeveralProblemsOfAChangeAreToldInTheOrderOfTheRealServer(t *testing.T) {
	plain := strings.NewReplacer("EXTRA", "")
	const anotherSelector = `{"spec":{"selector":{"matchLabels":{"a":"c"}}}}`
	const anotherHandler = "handler: Invalid value: null: field is immutable"
	const prefix = "metadata.generateName: Invalid value: "
	for _, tc := range []struct{ name, manifest, sub, patch, message string }{
		{
			"a taint twice", aNode, "", `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"},{"key":"a","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"}]}}`,
			invalid("Node", `metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":"2026-01-01T00:00:00Z"}: `+
				"taints must be unique by key and effect pair"),
		},
		{
			"a taint of which all is wrong", aNode, "", `{"spec":{"taints":[{"key":"a b","effect":"","value":"b c"}]}}`, invalid("Node",
				`metadata.taints[0].key: Invalid value: "a b": `+qualifiedName, `metadata.taints[0].value: Invalid value: "b c": `+labelValue,
				"metadata.taints[0].effect: Required value"),
		},
		{
			"features that are in no order", aNode, "status", `{"status":{"declaredFeatures":["b","Aa","Aa"]}}`, invalid("Node",
				`status.declaredFeatures[0]: Invalid value: "b": `+noFeature("b"), `status.declaredFeatures[1]: Invalid value: "Aa": list must be sorted alphabetically`,
				`status.declaredFeatures[2]: Duplicate value: "Aa"`),
		},
		{
			"a feature twice that is none", aNode, "status", `{"status":{"declaredFeatures":["a_","a_","a"]}}`, invalid("Node",
				`status.declaredFeatures[0]: Invalid value: "a_": `+noFeature("a_"), `status.declaredFeatures[1]: Duplicate value: "a_"`,
				`status.declaredFeatures[1]: Invalid value: "a_": `+noFeature("a_"),
				`status.declaredFeatures[2]: Invalid value: "a": list must be sorted alphabetically`, `status.declaredFeatures[2]: Invalid value: "a": `+noFeature("a")),
		},
		{
			"a list of topology keys that is emptied", "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: x}, " +
				"spec: {drivers: [{name: d, nodeID: i, topologyKeys: [a]}]}}", "", `{"spec":{"drivers":[{"name":"d","nodeID":"i","topologyKeys":[]}]}}`,
			invalid("CSINode.storage.k8s.io", `spec.drivers: Invalid value: {"Name":"d","NodeID":"i","TopologyKeys":[],"Allocatable":null}: field is immutable`),
		},
		{
			"an event of events.k8s.io", "{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: x, finalizers: [a.b/c]}, " +
				"regarding: {namespace: default}, type: Normal, eventTime: '2026-01-01T00:00:00.000000Z', reason: a, action: b, " +
				"reportingController: a.b/c, reportingInstance: i}", "",
			`{"metadata":{"finalizers":["y"]},"reportingInstance":""}`, invalid("Event", "reportingInstance: Required value",
				`metadata.finalizers[0]: Invalid value: "y": name is neither a standard finalizer name nor is it fully qualified`,
				`reportingInstance: Invalid value: "": field is immutable`),
		},
		{
			"a list of addresses without one", aPod("", ""), "status", `{"status":{"podIPs":[{"ip":""}]}}`, invalid("Pod",
				`status.podIPs[0]: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
				`status.podIPs: Invalid value: [{"IP":""}]: podIP and podIPs must either both be set or both be unset`),
		},
		{"the selector of a DaemonSet", plain.Replace(aDaemonSet), "", anotherSelector, invalid("DaemonSet.apps", otherSelector, otherLabels)},
		{"the selector of a StatefulSet", plain.Replace(aStatefulSet), "", anotherSelector, invalid("StatefulSet.apps", otherLabels, otherSelector)},
		{
			"a class of balancers for another service", aService, "", `{"spec":{"loadBalancerClass":"example.com/a","sessionAffinity":"Odd"}}`,
			invalid("Service", "spec.loadBalancerClass: "+balancersOnly, noAffinity),
		},
		{
			"another class of balancers, which is none", aBalancer, "", `{"spec":{"loadBalancerClass":"a b","sessionAffinity":"Odd"}}`, invalid("Service",
				`spec.loadBalancerClass: Invalid value: "a b": may not change once set`, `spec.loadBalancerClass: Invalid value: "a b": `+qualifiedName, noAffinity),
		},
		{
			"another class of balancers and another type", aBalancer, "", `{"spec":{"type":"ClusterIP","loadBalancerClass":"example.com/b","sessionAffinity":"Odd"}}`,
			invalid("Service", "spec.loadBalancerClass: "+balancersOnly, noAffinity),
		},
		{
			"no ports of nodes and another type", aBalancer, "", `{"spec":{"type":"ClusterIP","allocateLoadBalancerNodePorts":false}}`,
			invalid("Service", "spec.allocateLoadBalancerNodePorts: "+balancersOnly),
		},
		{
			"a binding to no role", aRoleBinding, "", `{"roleRef":{"name":""},"subjects":[{"kind":"Odd","name":""}]}`, invalid("RoleBinding."+rbacGroup,
				"roleRef.name: Required value", `subjects[0].kind: Unsupported value: "Odd": `+rightSubjects,
				`roleRef: Invalid value: {"APIGroup":"`+rbacGroup+`","Kind":"Role","Name":""}: field is immutable`, "subjects[0].name: Required value"),
		},
		{
			"a binding of the cluster to no role", aWideBinding, "", `{"roleRef":{"name":""},"subjects":[{"kind":"ServiceAccount","name":""}]}`,
			invalid("ClusterRoleBinding."+rbacGroup, "roleRef.name: Required value", "subjects[0].namespace: Required value",
				`roleRef: Invalid value: {"APIGroup":"`+rbacGroup+`","Kind":"ClusterRole","Name":""}: field is immutable`, "subjects[0].name: Required value"),
		},
		{
			"a binding of the cluster to a role with a slash", aWideBinding, "", `{"roleRef":{"name":"a/b"},"subjects":[{"kind":"User","name":"a","apiGroup":"b"}]}`,
			invalid("ClusterRoleBinding."+rbacGroup, `roleRef.name: Invalid value: "a/b": may not contain '/'`,
				`subjects[0].apiGroup: Unsupported value: "b": supported values: "`+rbacGroup+`"`,
				`roleRef: Invalid value: {"APIGroup":"`+rbacGroup+`","Kind":"ClusterRole","Name":"a/b"}: field is immutable`),
		},
		{
			"a handler that is no label", aRuntimeClass, "", `{"handler":"Bad_","scheduling":{"nodeSelector":{"a":"b c"}}}`, invalid("RuntimeClass.node.k8s.io",
				`handler: Invalid value: "Bad_": `+dnsLabel, `scheduling.nodeSelector: Invalid value: "b c": `+labelValue, anotherHandler),
		},
		{
			"a handler that is too long", aRuntimeClass, "", `{"handler":"` + strings.Repeat("a", 64) + `"}`, invalid("RuntimeClass.node.k8s.io",
				`handler: Invalid value: "`+strings.Repeat("a", 64)+`": must be no more than 63 characters`, anotherHandler),
		},
		{
			"no handler", aRuntimeClass, "", `{"handler":"","scheduling":{"nodeSelector":{"a":"b c"}}}`, invalid("RuntimeClass.node.k8s.io",
				`scheduling.nodeSelector: Invalid value: "b c": `+labelValue, anotherHandler, "handler: Required value"),
		},
		{
			"what a Secret's name was made from, and its type", "{apiVersion: v1, kind: Secret, metadata: {name: x}}", "",
			`{"metadata":{"generateName":"Bad_"},"type":"other"}`, invalid("Secret", `type: Invalid value: "other": field is immutable`, prefix+`"Bad_": `+dnsSubdomain),
		},
		{
			"what a sealed Secret's name was made from", "{apiVersion: v1, kind: Secret, metadata: {name: x}, immutable: true}", "",
			`{"metadata":{"generateName":"a/b"},"immutable":false}`, invalid("Secret", prefix+`"a/b": may not contain '/'`,
				"immutable: Forbidden: field is immutable when `immutable` is set", prefix+`"a/b": `+dnsSubdomain),
		},
		{
			"what a PriorityClass's name was made from may be wrong in another way", aPriority, "", `{"metadata":{"generateName":"Bad_"}}`, "",
		},
		{
			"what a PriorityClass's name was made from", aPriority, "",
			`{"metadata":{"generateName":"a/b"},"value":2}`, invalid("PriorityClass.scheduling.k8s.io", prefix+`"a/b": may not contain '/'`,
				"value: Forbidden: may not be changed in an update."),
		},
		{
			"what an EndpointSlice's name was made from",
			"{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: x}, addressType: IPv4, endpoints: []}", "",
			`{"metadata":{"generateName":"Bad_"},"addressType":"IPv6"}`, invalid("EndpointSlice.discovery.k8s.io", prefix+`"Bad_": `+dnsSubdomain,
				"addressType: Invalid value: null: field is immutable"),
		},
		{
			"what an ephemeral container cannot have", aPod("", ""), "ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"e","image":"i",` +
				`"ports":[{"containerPort":80}],"resources":{"limits":{"cpu":1}},"livenessProbe":{"exec":{"command":["a"]}},"readinessProbe":{"exec":{"command":["a"]}},` +
				`"startupProbe":{"exec":{"command":["a"]}},"lifecycle":{"preStop":{"exec":{"command":["a"]}}},"resizePolicy":[{"resourceName":"cpu",` +
				`"restartPolicy":"NotRequired"}],"restartPolicy":"Always","restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[1]}}]}]}}`,
			invalid("Pod", each("spec.ephemeralContainers[0].", ": Forbidden: cannot be set for an Ephemeral Container",
				"ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle")...),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, c := newServer()
			_, err := createYAML(c, tc.manifest)
			require.NoError(t, err)
			how := types.MergePatchType
			if tc.sub == "ephemeralcontainers" {
				how = types.StrategicMergePatchType
			}
			_, err = patchYAML(c, tc.manifest, how, tc.patch, tc.sub)
			if tc.message == "" {
				require.NoError(t, err)
				return
			}
			requireAnswer(t, err, 422, tc.message)
		})
	}
}

func noFeature(name string) string {
	return `invalid feature name "` + name + `": must start with an UpperCamelCase segment, with subsequent segments separated by '/' ` +
		"(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
}

// each returns the words with what stands before and after each of them.
func each(before, after string, words ...string) (list []string) {
	for _, word := range words {
		list = append(list, before+word+after)
	}
	return list
}

// What is stored has no empty lists and maps, and what a client sends has them.
func TestAQuotedDifferenceShowsNullForAnEmptyListThatIsStored(t *testing.T) {
	for _, tc := range []struct{ name, manifest, patch, difference string }{
		{
			"a pod", aPod("", "args: []"), `{"spec":{"containers":[{"name":"c","image":"busybox","args":[],"command":["a"]}]}}`,
			`@@ -5,8 +5,10 @@
   {
    "Name": "c",
    "Image": "busybox",
-   "Command": null,
-   "Args": null,
+   "Command": [
+    "a"
+   ],
+   "Args": [],
    "WorkingDir": "",
    "Ports": null,
    "EnvFrom": null,
`,
		},
		{
			"a claim", strings.Replace(aClaim, "resources: {", "resources: {limits: {}, ", 1), `{"spec":{"accessModes":["ReadOnlyMany"],"resources":{"limits":{}}}}`,
			`@@ -1,10 +1,10 @@
 {
  "AccessModes": [
-  "ReadWriteOnce"
+  "ReadOnlyMany"
  ],
  "Selector": null,
  "Resources": {
-  "Limits": null,
+  "Limits": {},
   "Requests": {
    "storage": "5Gi"
   }
`,
		},
		{
			"a volume", "{apiVersion: v1, kind: PersistentVolume, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, " +
				"csi: {driver: d, volumeHandle: h, volumeAttributes: {}}}}", `{"spec":{"csi":{"volumeHandle":"other","volumeAttributes":{}}}}`,
			`@@ -22,10 +22,10 @@
  "StorageOS": null,
  "CSI": {
   "Driver": "d",
-  "VolumeHandle": "h",
+  "VolumeHandle": "other",
   "ReadOnly": false,
   "FSType": "",
-  "VolumeAttributes": null,
+  "VolumeAttributes": {},
   "ControllerPublishSecretRef": null,
   "NodeStageSecretRef": null,
   "NodePublishSecretRef": null,
`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, c := newServer()
			_, err := createYAML(c, tc.manifest)
			require.NoError(t, err)
			_, err = patchYAML(c, tc.manifest, types.MergePatchType, tc.patch, "")
			require.ErrorContains(t, err, tc.difference)
		})
	}
}

// A client of the server asks for the class, and refuses to ask for what cannot be a name.
func TestARuntimeClassWithAnImpossibleNameIsAnErrorOfTheServer(t *testing.T) {
	for name, message := range map[string]string{
		"''": "resource name may not be empty", "'..'": `invalid resource name "..": [may not be '..']`,
		"a/b%": `invalid resource name "a/b%": [may not contain '/' may not contain '%']`,
	} {
		_, c := newServer()
		_, err := createYAML(c, aPod("runtimeClassName: "+name+",", ""))
		requireAnswer(t, err, 500, message)
	}
}

func TestAnEmptyListOfACSINodeIsStoredAsNull(t *testing.T) {
	_, c := newServer()
	made, err := createYAML(c, "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: x}, spec: {drivers: [{name: d, nodeID: i, topologyKeys: []}]}}")
	require.NoError(t, err)
	require.Nil(t, made.(*storagev1.CSINode).Spec.Drivers[0].TopologyKeys)
	made, err = createYAML(c, "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: other}, spec: {drivers: []}}")
	require.NoError(t, err)
	require.Nil(t, made.(*storagev1.CSINode).Spec.Drivers)
}
