package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api"
)

// written writes the object of a manifest and returns it as stored, as JSON shows it.
func written(t *testing.T, server *api.Server, verb, manifest string) (map[string]any, error) {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(manifest))
	require.NoError(t, err)
	obj, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	require.NoError(t, err)
	kind, ok := server.Registry().Kind(*gvk)
	require.True(t, ok)
	req := api.Request{Actor: "user", Verb: verb, Resource: gvk.GroupVersion().WithResource(resourceOf(server, *gvk)), Object: obj}
	if !kind.ClusterScoped {
		req.Namespace = "default"
	}
	if verb == "update" {
		var named unstructured.Unstructured
		require.NoError(t, named.UnmarshalJSON(text))
		req.Name = named.GetName()
	}
	got, err := server.Do(t.Context(), req)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(got)
	require.NoError(t, err)
	return fields, nil
}

// resourceOf returns the plural of a kind.
func resourceOf(server *api.Server, gvk schema.GroupVersionKind) string {
	for _, list := range server.Registry().ResourceLists() {
		for _, r := range list.APIResources {
			if list.GroupVersion == gvk.GroupVersion().String() && r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
				return r.Name
			}
		}
	}
	return ""
}

func TestKindsOutsideOfStorageAreCheckedAsUpstream(t *testing.T) {
	const (
		lease  = "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a}, spec: "
		class  = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "
		budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: "
		slice  = "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, "
		cron   = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: " +
			"[{name: c, image: i}]}}}}, schedule: '"
		service = "{apiVersion: v1, kind: Service, metadata: {name: 1a}, spec: "
		bundle  = "{apiVersion: certificates.k8s.io/v1, kind: ClusterTrustBundle, metadata: {name: "
		event   = "{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: a}, regarding: {namespace: default}, "
	)
	for manifest, want := range map[string]string{
		lease + "{leaseDurationSeconds: 0, leaseTransitions: -1}}": "[spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, spec.leaseTransitions: " +
			"Invalid value: -1: must be greater than or equal to 0]",
		lease + "{preferredHolder: a}}":      "", // it is dropped: a feature gate is off
		lease + "{strategy: Newest}}":        "",
		lease + "{leaseDurationSeconds: 1}}": "",

		class + "a}, value: 1000000001}": "value: Forbidden: maximum allowed value of a user " +
			"defined priority is 1000000000",
		class + "system-a}, value: 1}": "metadata.name: Forbidden: priority class names with " +
			"'system-' prefix are reserved for system use only. error: system-a is not a known system priority class",
		class + "system-node-critical}, value: 1}": "value of system-node-critical PriorityClass " +
			"must be 2000001000",
		class + "b}, value: 1, preemptionPolicy: Some}": `preemptionPolicy: Unsupported value: "Some": ` +
			`supported values: "PreemptLowerPriority", "Never"`,
		class + "c}, value: 1000000000, preemptionPolicy: Never}": "",
		budget + "{minAvailable: 1, maxUnavailable: 1}}": `spec: Invalid value: {"MinAvailable":1,"Selector":null,` +
			`"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set`,
		budget + "{minAvailable: -1}}": "spec.minAvailable: Invalid value: -1: " +
			"must be greater than or equal to 0",
		budget + "{maxUnavailable: 101%}}": `spec.maxUnavailable: Invalid value: "101%": ` +
			`must not be greater than 100%`,
		budget + "{unhealthyPodEvictionPolicy: Never}}": `spec.unhealthyPodEvictionPolicy: Unsupported value: ` +
			`"Never": supported values: "AlwaysAllow", "IfHealthyBudget"`,
		slice + "addressType: IPv5, endpoints: []}": `addressType: Unsupported value: "IPv5": ` +
			`supported values: "FQDN", "IPv4", "IPv6"`,
		slice + "addressType: IPv4, endpoints: [{addresses: []}]}": "endpoints[0].addresses: Required value",
		slice + "addressType: IPv4, endpoints: [{addresses: [a]}]}": "endpoints[0].addresses[0]: Invalid value: \"a\": " +
			"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
		slice + "addressType: IPv4, endpoints: [{addresses: [127.0.0.1]}], ports: [{name: A, port: 1}]}": "endpoints[0].addresses[0]: Invalid value: " +
			"\"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",

		cron + "* * * *'}}":                         `spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]`,
		cron + "60 * * * *'}}":                      `spec.schedule: Invalid value: "60 * * * *": end of range (60) above maximum (59): 60`,
		cron + "5-1 * * * *'}}":                     "beginning of range (5) beyond end of range (1): 5-1",
		cron + "*/0 * * * *'}}":                     "step of range should be a positive number: */0",
		cron + "a * * * *'}}":                       `failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax`,
		cron + "@sometimes'}}":                      "unrecognized descriptor: @sometimes",
		cron + "TZ=UTC @daily'}}":                   "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
		cron + "*/5 0-12/2 1,15 jan-MAR MON'}}":     "",
		cron + "@daily', timeZone: Asia/Shanghai}}": "",
		cron + "@daily', timeZone: Etc/GMT+12}}":    "",
		cron + "@daily', timeZone: ''}}":            `spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string`,
		cron + "@daily', timeZone: Bad_Name!}}":     `spec.timeZone: Invalid value: "Bad_Name!": unknown time zone Bad_Name!`,
		cron + "@daily', timeZone: ../etc}}":        `spec.timeZone: Invalid value: "../etc": unknown time zone ../etc`,
		cron + "@daily', timeZone: Asia/Nowhere}}":  `spec.timeZone: Invalid value: "Asia/Nowhere": unknown time zone Asia/Nowhere`,
		cron + "@daily', timeZone: local}}": `[spec.timeZone: Invalid value: "local": timeZone must be an explicit time zone as defined in ` +
			`https://www.iana.org/time-zones, spec.timeZone: Invalid value: "local": unknown time zone local]`,
		service + "{ports: [{port: 70000}]}}":        "spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive",
		service + "{ports: [{port: 1}, {port: 2}]}}": "[spec.ports[0].name: Required value, spec.ports[1].name: Required value]",
		service + "{type: ExternalName}}":            "spec.externalName: Required value",
		service + "{type: Other, ports: [{port: 1}]}}": `spec.type: Unsupported value: "Other": supported values: "ClusterIP", ` +
			`"ExternalName", "LoadBalancer", "NodePort"`,
		service + "{}}": "spec.ports: Required value",
		service + "{clusterIP: None, type: NodePort}}": "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for " +
			"NodePort services",
		service + "{ipFamilyPolicy: RequireDualStack, ports: [{port: 1}]}}": `spec.ipFamilyPolicy: Invalid value: "RequireDualStack": ` +
			`this cluster is not configured for dual-stack services`,
		service + "{type: NodePort, ports: [{port: 1, nodePort: 1}]}}": "spec.ports[0].nodePort: Invalid value: 1: provided port is not in the valid range. " +
			"The range of valid ports is 30000-32767",
		service + "{sessionAffinity: ClientIP, externalTrafficPolicy: Local, ports: [{port: 1}]}}": `spec.externalTrafficPolicy: Invalid value: "Local": ` +
			`may only be set for externally-accessible services`,
		bundle + "'a:b:c'}, spec: {signerName: a.com/b, trustBundle: x}}": `metadata.name: Invalid value: "a:b:c": ` +
			`ClusterTrustBundle for signerName a.com/b must be named with prefix a.com:b:`,
		bundle + "'a.com:b:c'}, spec: {signerName: a.com/b, trustBundle: x}}": `spec.trustBundle: Invalid value: "<value omitted>": ` +
			`at least one trust anchor must be provided`,
		bundle + "'a:b'}, spec: {trustBundle: x}}": `ClusterTrustBundle without signer name must not ` +
			`have ":" in its name`,
		event + "type: Odd}": `Event "a" is invalid: [eventTime: Required value, type: Invalid value: "": has invalid value: Odd]`,
		event + "eventTime: '2026-01-01T00:00:00.000000Z', type: Normal, reason: R, action: A, reportingController: a.b/c, reportingInstance: i, " +
			"deprecatedCount: 3}": `Event "a" is invalid: count: Invalid value: "": needs to be unset`,
	} {
		_, err := written(t, api.NewServer(api.Config{}), "create", manifest)
		if want == "" {
			assert.NoError(t, err, manifest)
		} else {
			assert.ErrorContains(t, err, want, manifest)
		}
	}
}

func TestKindsThatNothingHereNeedsGetTheirDefaults(t *testing.T) {
	server := api.NewServer(api.Config{})
	for manifest, want := range map[string]string{
		"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: " +
			"{name: a}, value: 1}": "{preemptionPolicy: PreemptLowerPriority}",
		"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {}, egress: " +
			"[{ports: [{port: 1}]}]}}": "{spec: {policyTypes: [Ingress, Egress], egress: [{ports: [{port: 1, protocol: TCP}]}]}}",
		"{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, addressType: IPv4, endpoints: [], " +
			"ports: [{port: 1}]}": "{endpoints: null, ports: [{name: '', port: 1, protocol: TCP}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: " +
			"{name: a}, rules: []}": "{rules: null}",
		"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}], volumes: [{name: v, projected: " +
			"{sources: []}}]}}": "{spec: {volumes: [{name: v, projected: {defaultMode: 420, sources: null}}]}}",
		"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, " +
			"kind: D, name: d}}}": "{spec: {minReplicas: 1, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, " +
			"averageUtilization: 80}}}]}}",
		"{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, " +
			"containers: [{name: c, image: i}]}}}}}}": "{spec: {concurrencyPolicy: Allow, suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1, " +
			"jobTemplate: {spec: {template: {spec: {dnsPolicy: ClusterFirst}}}}}}",
		"{apiVersion: v1, kind: ReplicationController, metadata: {name: a}, spec: {template: {metadata: {labels: {x: z}}, spec: {containers: [{name: " +
			"c, image: i}]}}}}": "{metadata: {labels: {x: z}}, spec: {replicas: 1, selector: {x: z}}}",
		"{apiVersion: v1, kind: PodTemplate, metadata: {name: a}, template: {spec: {containers: [{name: c, image: i}]}}}": "{template: {spec: " +
			"{restartPolicy: Always}}}",
		"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 1}]}}": "{spec: {ipFamilies: [IPv4], " +
			"ipFamilyPolicy: SingleStack, internalTrafficPolicy: Cluster}}",
		"{apiVersion: v1, kind: Service, metadata: {name: b}, spec: {clusterIP: None, ports: [{port: 1}]}}": "{spec: {clusterIP: None, " +
			"clusterIPs: [None], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack}}",
		"{apiVersion: v1, kind: Service, metadata: {name: c}, spec: {clusterIP: None, selector: {a: b}, sessionAffinity: ClientIP}}": "{spec: {ipFamilies: [IPv4], " +
			"ipFamilyPolicy: SingleStack, sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}}}",
	} {
		got, err := written(t, server, "create", manifest)
		require.NoError(t, err, manifest)
		var part map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(want), &part))
		assertPart(t, part, got, manifest)
	}
}

// assertPart asserts that a value has all that part has.
func assertPart(t *testing.T, part, whole any, about string) {
	t.Helper()
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		if !assert.True(t, ok, "%s: %v is no object", about, whole) {
			return
		}
		for name, value := range p {
			is, there := w[name]
			assert.True(t, there, "%s: %s is missing in %v", about, name, w)
			assertPart(t, value, is, about+": "+name)
		}
	case []any:
		w, ok := whole.([]any)
		if assert.True(t, ok && len(w) == len(p), "%s: %v is not %v", about, whole, part) {
			for i := range p {
				assertPart(t, p[i], w[i], about)
			}
		}
	default:
		assert.EqualValues(t, part, whole, about)
	}
}

func TestAServiceKeepsItsAddressAndPorts(t *testing.T) {
	server := api.NewServer(api.Config{})
	spec := func(obj map[string]any) map[string]any { return obj["spec"].(map[string]any) }
	port := func(obj map[string]any) any { return spec(obj)["ports"].([]any)[0].(map[string]any)["nodePort"] }
	const manifest = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: NodePort, ports: [{port: 1}]}}"
	first, err := written(t, server, "create", manifest)
	require.NoError(t, err)
	ip := spec(first)["clusterIP"]
	assert.Equal(t, []any{ip}, spec(first)["clusterIPs"])
	assert.Regexp(t, `^10\.(9[6-9]|10\d|11[01])\.\d+\.\d+$`, ip)
	assert.NotNil(t, port(first))

	again, err := written(t, server, "update", manifest)
	require.NoError(t, err)
	assert.Equal(t, ip, spec(again)["clusterIP"])
	assert.Equal(t, port(first), port(again))

	_, err = written(t, server, "update", strings.Replace(manifest, "type: NodePort", "clusterIP: 10.0.0.9, type: NodePort", 1))
	assert.ErrorContains(t, err, "may not change once set")
	_, err = written(t, server, "create", strings.NewReplacer("name: a", "name: b", "type: NodePort", "clusterIP: "+ip.(string)).Replace(manifest))
	assert.ErrorContains(t, err, "provided IP is already allocated")

	plain, err := written(t, server, "update", strings.Replace(manifest, "type: NodePort", "type: ClusterIP", 1))
	require.NoError(t, err)
	assert.Nil(t, port(plain), "the port of the nodes is free again")
	name, err := written(t, server, "update", "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ExternalName, externalName: a.b}}")
	require.NoError(t, err)
	assert.NotContains(t, spec(name), "clusterIP")

	same, err := written(t, api.NewServer(api.Config{}), "create", manifest)
	require.NoError(t, err)
	assert.Equal(t, ip, spec(same)["clusterIP"], "which it is depends on the name")
}

func TestWhatANodeIsCanBeSaidOnce(t *testing.T) {
	server := api.NewServer(api.Config{})
	node := "{apiVersion: v1, kind: Node, metadata: {name: a}, spec: {providerID: x}}"
	_, err := written(t, server, "create", node)
	require.NoError(t, err)
	_, err = written(t, server, "update", strings.Replace(node, "providerID: x", "providerID: z", 1))
	assert.ErrorContains(t, err, "spec.providerID: Invalid value: null: field cannot be modified once set")
	_, err = written(t, server, "update", strings.Replace(node, "providerID: x", "", 1))
	assert.ErrorContains(t, err, "spec.providerID: Invalid value: null: field cannot be cleared once set")
}

// replaced returns a text with some parts replaced.
func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}

func TestAutoscalersTemplatesAndReplicationControllersAreCheckedAsUpstream(t *testing.T) {
	const (
		hpa      = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: "
		target   = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}"
		template = "{apiVersion: v1, kind: PodTemplate, metadata: {name: a}, template: "
		rc       = "{apiVersion: v1, kind: ReplicationController, metadata: {name: a}, spec: "
		pod      = "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}"
	)
	for manifest, want := range map[string]string{
		hpa + "{" + target + ", maxReplicas: 3}}": "",
		hpa + "{" + target + "}}": "[spec.maxReplicas: Invalid value: 0: must be greater than or equal to " +
			"`minReplicas`, spec.maxReplicas: Required value]",
		hpa + "{" + target +
			", minReplicas: -1, maxReplicas: -2}}": "[spec.maxReplicas: Invalid value: -2: must be greater than or equal to `minReplicas`, " +
			"spec.minReplicas: Invalid value: -1: must be greater than or equal to 0, spec.maxReplicas: Invalid value: -2: must be greater than or equal to 1]",
		hpa + "{" + target + ", minReplicas: 0, maxReplicas: 2}}": "spec.metrics: Forbidden: must specify at least one Object or External " +
			"metric to support scaling to zero replicas",
		hpa + "{maxReplicas: 2}}": "[spec.scaleTargetRef.kind: Required value, spec.scaleTargetRef.name: " +
			"Required value, spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group]",
		hpa + "{maxReplicas: 2, scaleTargetRef: {kind: ReplicationController, name: a}}}": "",
		hpa + "{" + target + ", maxReplicas: 2, metrics: [{}]}}": "[spec.metrics[0].type: Required value: must specify a metric source " +
			"type, spec.metrics[0].type: Unsupported value: \"\": supported values: \"ContainerResource\", \"External\", \"Object\", \"Pods\", \"Resource\"]",
		hpa + "{" + target + ", maxReplicas: 2, metrics: [{type: Pods}]}}": "spec.metrics[0].pods: Required value: must populate information for " +
			"the given metric source",
		hpa + "{" + target + ", maxReplicas: 2, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, " +
			"averageUtilization: 0}}}]}}": "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
		hpa + "{" + target +
			", maxReplicas: 2, behavior: {scaleUp: {policies: [{type: Pods, value: 0, periodSeconds: 9999}]}}}}": "[spec.behavior.scaleUp.policies[0].value: " +
			"Invalid value: 0: must be greater than zero, spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: " +
			"9999: must be less than or equal to 1800]",

		template + pod + "}":                   "",
		template + "{spec: {containers: []}}}": "template.spec.containers: Required value",

		rc + "{selector: {a: b}, template: " + pod + "}}": "",
		rc + "{selector: {a: c}, template: " + pod + "}}": "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
		rc + "{}}": "[spec.selector: Required value, spec.template: Required value]",
		rc + "{replicas: -1, minReadySeconds: -1, template: " + pod + "}}": "[spec.replicas: Invalid value: -1: must be greater than or equal to 0, " +
			"spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0]",
	} {
		_, err := written(t, api.NewServer(api.Config{}), "create", manifest)
		if want == "" {
			assert.NoError(t, err, manifest)
			continue
		}
		assert.ErrorContains(t, err, "is invalid: "+want, manifest)
	}
}

func TestAGenerationCountsEachChangeOfAnObjectWithoutASpec(t *testing.T) {
	server := api.NewServer(api.Config{})
	generation := func(verb, manifest string) any {
		got, err := written(t, server, verb, manifest)
		require.NoError(t, err)
		return got["metadata"].(map[string]any)["generation"]
	}
	slice := func(labels, address string) string {
		return "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a, labels: " + labels + "}, addressType: IPv4, endpoints: [{addresses: [" +
			address + "]}]}"
	}
	assert.EqualValues(t, 1, generation("create", slice("{}", "10.0.0.1")))
	assert.EqualValues(t, 1, generation("update", slice("{}", "10.0.0.1")))
	assert.EqualValues(t, 2, generation("update", slice("{}", "10.0.0.2")))
	assert.EqualValues(t, 3, generation("update", slice("{a: b}", "10.0.0.2")), "labels count")

	topology := "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: b}, addressType: IPv4, endpoints: [{addresses: [10.0.0.1], " +
		"deprecatedTopology: {a: b}}]}"
	for _, verb := range []string{"create", "update"} {
		got, err := written(t, server, verb, topology)
		require.NoError(t, err)
		assert.NotContains(t, got["endpoints"].([]any)[0], "deprecatedTopology", "clients of v1 only read it")
	}

	template := func(labels, image string) string {
		return "{apiVersion: v1, kind: PodTemplate, metadata: {name: a, labels: " + labels + "}, template: {spec: {containers: [{name: c, image: " + image + "}]}}}"
	}
	assert.EqualValues(t, 1, generation("create", template("{}", "i1")))
	assert.EqualValues(t, 1, generation("update", template("{a: b}", "i1")), "labels do not count")
	assert.EqualValues(t, 2, generation("update", template("{a: b}", "i2")))
}

// Upstream: GetResetFields and PrepareForUpdate of the strategies for the status, v1.37.2.
func TestAWriteOfTheStatusLeavesTheMetadataOfTheseKinds(t *testing.T) {
	for resource, manifest := range map[schema.GroupVersionResource]string{
		{Group: "certificates.k8s.io", Version: "v1", Resource: "podcertificaterequests"}: "kind: PodCertificateRequest, metadata: {name: a}, spec: {}}",
		{Group: "storage.k8s.io", Version: "v1", Resource: "volumeattachments"}: "kind: VolumeAttachment, metadata: {name: a}, " +
			"spec: {attacher: a.b, nodeName: node-1, source: {persistentVolumeName: v}}}",
	} {
		server, _ := newServer()
		space := ""
		if resource.Group == "certificates.k8s.io" {
			space = "default"
		}
		_, err := written(t, server, "create", "{apiVersion: "+resource.GroupVersion().String()+", "+manifest)
		require.NoError(t, err, resource)
		got, err := server.Do(t.Context(), api.Request{
			Actor: "user", Verb: "patch", Resource: resource, Namespace: space, Name: "a", Subresource: "status", PatchType: types.MergePatchType,
			Patch: []byte(`{"metadata": {"labels": {"a": "b"}}}`),
		})
		require.NoError(t, err, resource)
		require.Empty(t, got.(metav1.Object).GetLabels(), resource)
	}
}
