package warnings_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api/internal/warnings"
)

// decoded returns the object of a manifest.
func decoded(t *testing.T, manifest string) runtime.Object {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(manifest))
	require.NoError(t, err)
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	require.NoError(t, err)
	return obj
}

const (
	podHead    = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: "
	volumeHead = "{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: "
	deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d.x}, spec: {template: {metadata: {annotations: " +
		"{container.apparmor.security.beta.kubernetes.io/c: unconfined}}, spec: "
)

// The texts come from the sources of v1.37.2.
func TestEachKindOfWarning(t *testing.T) {
	for name, tt := range map[string]struct {
		kind     warnings.Kind
		manifest string
		want     []string
	}{
		"nothing to say": {warnings.Pods(), podHead + "{containers: [{name: c, image: i, env: [{name: A, value: a}], ports: [{containerPort: 80}]}]}}", nil},
		"a name with dots": {warnings.Pods(), "{apiVersion: v1, kind: Pod, metadata: {name: a.b}}", []string{
			"metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
		}},
		"old labels of nodes": {warnings.Pods(), podHead +
			`{nodeSelector: {beta.kubernetes.io/os: linux, a: b}, topologySpreadConstraints: [{topologyKey: failure-domain.beta.kubernetes.io/zone}],
			affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: beta.kubernetes.io/arch,
			  operator: Exists}]}]},
			preferredDuringSchedulingIgnoredDuringExecution: [{preference: {matchExpressions: [{key: a, operator: In, values: ["-x"]}]}}]}}}}`, []string{
			`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`,
			`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/arch is ` +
				`deprecated since v1.14; use "kubernetes.io/arch" instead`,
			`spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values[0]: -x is invalid, ` +
				`a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ` +
				`(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
			`spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
			`spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod`,
		}},
		"sources that were given up": {warnings.Pods(), podHead +
			"{volumes: [{name: a, rbd: {}}, {name: b, glusterfs: {}}, {name: c, gitRepo: {}}, {name: d, flocker: {}}, {name: e, emptyDir: {}}]}}", []string{
			"spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+",
			"spec.volumes[1].glusterfs: deprecated in v1.25, non-functional in v1.26+",
			"spec.volumes[2].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
			"spec.volumes[3].flocker: deprecated in v1.22, non-functional in v1.25+",
		}},
		"paths in the place of others": {warnings.Pods(),
			podHead + `{volumes: [{name: a, configMap: {name: m, items: [{key: k1, path: p/}, {key: k2, path: p/q}, {key: k3, path: pq}]}},
			{name: b, projected: {sources: [{secret: {name: s, items: [{key: x, path: t}]}}, {serviceAccountToken: {path: t}}, {}]}}]}}`, []string{
				`volume "a" (ConfigMap "m"): overlapping paths: "p/q" with "p"`,
				`volume "b" (Projected) has no sources provided`,
				`volume "b" (Projected): overlapping paths: "t" (ServiceAccountToken) with "t" (Secret "s")`,
			}},
		"fractions of bytes": {warnings.Pods(), podHead +
			`{overhead: {memory: 100m, cpu: 100m}, initContainers: [{name: i, resources: {requests: {memory: 1500m, ephemeral-storage: "1"}}}],
			volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1500m}}}}}}]}}`, []string{
			`spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`,
			`spec.overhead[memory]: fractional byte value "100m" is invalid, must be an integer`,
			`spec.initContainers[0].resources.requests[memory]: fractional byte value "1500m" is invalid, must be an integer`,
		}},
		"variables that hide others": {warnings.Pods(), podHead +
			`{containers: [{name: c, env: [{name: A, value: "1"}, {name: A, value: "2"}, {name: A, value: "$(A)3"}, {name: A, value: $(A)}]}]}}`, []string{
			`spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply`,
			`spec.containers[0].env[3]: hides previous definition of "A", which may be dropped when using apply`,
		}},
		"ports": {warnings.Pods(), podHead +
			`{containers: [{name: c, ports: [{containerPort: 80, protocol: TCP, name: a}, {containerPort: 80, protocol: TCP}, {containerPort: 80, protocol: UDP}]},
			{name: d, ports: [{containerPort: 80, protocol: TCP, hostPort: 8080, name: a}, {containerPort: 81, protocol: TCP, hostIP: 127.0.0.1}]}]}}`, []string{
			"spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
			"spec.containers[1].ports[0]: overlapping port definition with spec.containers[0].ports[0]",
			"spec.containers[1].ports[0]: overlapping port definition with spec.containers[0].ports[1]",
			"spec.containers[1].ports[1]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:81 Protocol:TCP HostIP:127.0.0.1}",
			`spec.containers[1].ports[0]: duplicate port name "a" with spec.containers[0].ports[0], services and probes that select ports by name will use ` +
				`spec.containers[0].ports[0]`,
		}},
		"names twice, a grace period and addresses": {warnings.Pods(), podHead +
			`{terminationGracePeriodSeconds: -1, imagePullSecrets: [{name: a}, {name: a}, {}], hostAliases: [{ip: 1.2.3.4}, {ip: 1.2.3.4}, {ip: "::ffff:1.2.3.4"}],
			affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: a}]}}}}`, []string{
			`spec.hostAliases[1].ip: duplicate ip "1.2.3.4"`,
			`spec.imagePullSecrets[1].name: duplicate name "a"`,
			`spec.imagePullSecrets[2].name: invalid empty name ""`,
			"spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
			"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod",
			`spec.hostAliases[2].ip: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"`,
		}},
		"a template": {warnings.Deployments(), deployment + "{containers: [{name: c}]}}}}", []string{
			"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
			`spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead`,
		}},
		"a template whose pods have the profile": {warnings.DaemonSets(),
			"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d.x}, spec: {template: {metadata: {annotations: " +
				"{container.apparmor.security.beta.kubernetes.io/c: unconfined}}, spec: {securityContext: {appArmorProfile: {type: Unconfined}}, " +
				"containers: [{name: c}]}}}}", nil},
		"a claim": {warnings.Claims(), "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, annotations: {volume.beta.kubernetes.io/storage-class: " +
			"a}}, spec: {resources: {requests: {storage: 1500m}, limits: {storage: 1Gi}}}}", []string{
			`metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead`,
			`spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`,
		}},
		"a volume": {warnings.Volumes(),
			"{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv, annotations: {volume.beta.kubernetes.io/mount-options: ro}}, spec: " +
				"{persistentVolumeReclaimPolicy: Recycle, cephfs: {}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: " +
				"failure-domain.beta.kubernetes.io/region, operator: Exists}]}]}}}}", []string{
				`metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead`,
				"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
				`spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: failure-domain.beta.kubernetes.io/region is deprecated since v1.17; ` +
					`use "topology.kubernetes.io/region" instead`,
				"spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
			}},
		"a volume of a plugin that a driver replaced": {warnings.Volumes(), volumeHead + "{gcePersistentDisk: {pdName: a}}}", nil},
		"a class": {warnings.StorageClasses(),
			"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: c}, allowedTopologies: [{matchLabelExpressions: [{key: " +
				"failure-domain.beta.kubernetes.io/zone}]}]}",
			[]string{`allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead`}},
		"a set": {warnings.StatefulSets(), "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s.x}, spec: {revisionHistoryLimit: -1, volumeClaimTemplates: " +
			"[{spec: {resources: {requests: {storage: 1m}}}}]}}", []string{
			`spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value "1m" is invalid, must be an integer`,
			"spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
		}},
		"a job": {warnings.Jobs(),
			"{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {completionMode: Indexed, completions: 100001, parallelism: 10001}}",
			[]string{"spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track " +
				"completedIndexes when a big number of indexes fail"}},
		"a driver": {warnings.CSIDrivers(), "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d}, spec: {tokenRequests: [{audience: a}]}}",
			[]string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in " +
				"volume attributes"}},
		"a quota": {warnings.ResourceQuotas(), "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {cpu: 2, limits.cpu: 1, " +
			"requests.memory: 1, limits.memory: 2}}}", []string{"ResourceQuota cpu (2) should be less than limits.cpu (1)"}},
		"a secret": {warnings.Secrets(), "{apiVersion: v1, kind: Secret, metadata: {name: s}, type: kubernetes.io/tls, data: {tls.crt: '', tls.key: ''}}",
			[]string{"tls: failed to find any PEM data in certificate input"}},
		"a headless service": {warnings.Services(),
			"{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ClusterIP, clusterIP: None, sessionAffinity: ClientIP, externalIPs: [010.0.0.1], " +
				"trafficDistribution: PreferClose}}",
			[]string{"spec.externalIPs is ignored for headless services", "spec.SessionAffinity is ignored for headless services",
				`spec.externalIPs[0]: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"`,
				`spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`}},
		"a policy": {warnings.NetworkPolicies(),
			"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: np}, spec: {egress: [{to: [{ipBlock: {cidr: 10.0.0.1/8}}]}]}}",
			[]string{`spec.egress[0].to[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)`}},
		"a slice": {warnings.EndpointSlices(), "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: e}, addressType: FQDN, " +
			"endpoints: [{addresses: [a.b]}]}", []string{"spec.addressType: FQDN endpoints are deprecated"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, tt.kind.Write(decoded(t, tt.manifest), nil))
		})
	}
}

func TestAnUpdateIsWarnedOfWhereUpstreamDoes(t *testing.T) {
	pod := decoded(t, "{apiVersion: v1, kind: Pod, metadata: {name: a.b}}")
	assert.Empty(t, warnings.Pods().Write(pod, pod), "people seldom update pods")
	bad := decoded(t, deployment+"{containers: [{name: c}]}}}}")
	assert.Empty(t, warnings.Deployments().Write(bad, bad), "the template is as it was")
	changed := decoded(t, "{apiVersion: batch/v1, kind: CronJob, metadata: {name: c.d, generation: 2}, spec: {schedule: 'TZ=UTC * * * * *', jobTemplate: {spec: "+
		"{template: {spec: {terminationGracePeriodSeconds: -1}}}}}}")
	old := decoded(t, "{apiVersion: batch/v1, kind: CronJob, metadata: {name: c.d, generation: 1}}")
	assert.Equal(t, []string{
		"spec.jobTemplate.spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
		"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, " +
			"see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
	}, warnings.CronJobs().Write(changed, old))
	status := decoded(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {podIPs: [{ip: "2001:DB8::1"}], hostIPs: [{ip: 10.0.0.1}]}}`)
	assert.Equal(t, []string{`status.podIPs[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")`},
		warnings.Pods().Status(status, status))
}
