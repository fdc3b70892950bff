package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// The answers in this file, code and words, come from a kube-apiserver v1.36.3 for the same
// requests. Most were recorded (see package conformance), the rest follow its source.

// readYAML reads a manifest that may be written in braces.
func readYAML(manifest string) (runtime.Object, *schema.GroupVersionKind, error) {
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		return nil, nil, err
	}
	return scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
}

// createYAML creates the object of a manifest in the namespace default.
func createYAML(c *fake.Clientset, manifest string) (metav1.Object, error) {
	obj, gvk, err := readYAML(manifest)
	if err != nil {
		return nil, err
	}
	gvr, _ := meta.UnsafeGuessKindToResource(*gvk)
	made, err := c.Invokes(clienttesting.NewCreateAction(gvr, "default", obj), nil)
	if err != nil {
		return nil, err
	}
	return made.(metav1.Object), nil
}

// patchYAML patches the object of that manifest.
func patchYAML(c *fake.Clientset, manifest string, how types.PatchType, patch, sub string) (runtime.Object, error) {
	obj, gvk, err := readYAML(manifest)
	if err != nil {
		return nil, err
	}
	gvr, _ := meta.UnsafeGuessKindToResource(*gvk)
	return c.Invokes(clienttesting.NewPatchSubresourceAction(gvr, "default", obj.(metav1.Object).GetName(), how, []byte(patch), sub), obj)
}

// aPod returns the manifest of a pod; extra goes into its spec, container into its container.
func aPod(extra, container string) string {
	return strings.NewReplacer("EXTRA", extra, "CONTAINER", container).Replace(
		"{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {EXTRA containers: [{name: c, image: busybox, CONTAINER}]}}")
}

const (
	qualifiedName = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
		"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
	aClaim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: " +
		"5Gi}}, storageClassName: nope}}"
	aNode     = "{apiVersion: v1, kind: Node, metadata: {name: x}, status: {capacity: {cpu: 1}, allocatable: {cpu: 1}}}"
	aCapacity = "{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: x}, storageClassName: w, nodeTopology: {}, capacity: 1Gi, " +
		"maximumVolumeSize: -1}"
	anAttachment = "{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: x}, spec: {attacher: d.x, nodeName: 'n', source: " +
		"{persistentVolumeName: v}}}"
)

func TestARealServersRefusalsOfNewObjects(t *testing.T) {
	for _, tc := range []struct {
		name, manifest string
		code           int32
		message        string
	}{
		{
			"an empty term of allowedTopologies is refused",
			"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: x}, provisioner: a/b, allowedTopologies: [{}]}",
			422, `StorageClass.storage.k8s.io "x" is invalid: allowedTopologies[0].matchLabelExpressions: Duplicate value: ""`,
		},
		{
			"two terms of allowedTopologies that allow the same are refused",
			"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: x}, provisioner: a/b, allowedTopologies: " +
				"[{matchLabelExpressions: [{key: zone, values: [a]}]}, {matchLabelExpressions: [{key: zone, values: [a]}]}]}",
			422, `StorageClass.storage.k8s.io "x" is invalid: allowedTopologies[1].matchLabelExpressions: Duplicate value: ""`,
		},
		{
			"a readiness gate has a qualified name", aPod("readinessGates: [{conditionType: bad type!}],", ""),
			422, `Pod "x" is invalid: spec.readinessGates[0].conditionType: Invalid value: "bad type!": ` + qualifiedName,
		},
		{
			"a lifecycle handler without a type is refused", aPod("", "lifecycle: {preStop: {}}"),
			422, `Pod "x" is invalid: spec.containers[0].lifecycle.preStop: Required value: must specify a handler type`,
		},
		{
			"the port of httpGet is at least 1", aPod("", "livenessProbe: {httpGet: {port: 0}}"),
			422, `Pod "x" is invalid: spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
		},
		{
			"extended resources come whole", aPod("", "resources: {limits: {example.com/gpu: 1500m}}"),
			422, `Pod "x" is invalid: [spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "1500m": must be an integer, ` +
				`spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "1500m": must be an integer]`,
		},
		{
			"the claim template of an ephemeral volume has no name",
			aPod("volumes: [{name: v, ephemeral: {volumeClaimTemplate: {metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], resources: {requests: "+
				"{storage: 1Gi}}}}}}],", ""),
			422, `Pod "x" is invalid: spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set`,
		},
		{
			"overhead comes from a RuntimeClass alone", aPod("overhead: {cpu: 1},", ""),
			403, `pods "x" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`,
		},
		{
			"a RuntimeClass must be there", aPod("runtimeClassName: other,", ""),
			403, `pods "x" is forbidden: pod rejected: RuntimeClass "other" not found`,
		},
		{
			"a CSI driver's allocatable is updated every 10 s at most",
			"{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: x}, spec: {nodeAllocatableUpdatePeriodSeconds: 9}}",
			422, `CSIDriver.storage.k8s.io "x" is invalid: spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds`,
		},
		{
			"a node has no less than nothing", "{apiVersion: v1, kind: Node, metadata: {name: x}, status: {capacity: {cpu: -1}}}",
			422, `Node "x" is invalid: [status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0, ` +
				`status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0]`,
		},
		{
			"a new object has no version", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, resourceVersion: '7'}}",
			500, "resourceVersion should not be set on objects to be created",
		},
		{
			"an owner is named in full", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, ownerReferences: [{apiVersion: a/b/c, kind: '', name: '', uid: ''}]}}",
			422, `ConfigMap "x" is invalid: [metadata.ownerReferences[0].apiVersion: Invalid value: "a/b/c": must be <group>/<version> or <version>, ` +
				`metadata.ownerReferences[0].kind: Required value: must not be empty, metadata.ownerReferences[0].name: Required value: must not be empty, ` +
				`metadata.ownerReferences[0].uid: Required value: must not be empty]`,
		},
		{
			"an object has one controller", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, ownerReferences: [" +
				"{apiVersion: v1, kind: Pod, name: x, uid: u, controller: true}, {apiVersion: v1, kind: Pod, name: 'y', uid: w, controller: true}]}}",
			422, `ConfigMap "x" is invalid: metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u","controller":true},` +
				`{"apiVersion":"v1","kind":"Pod","name":"y","uid":"w","controller":true}]: Only one reference can have Controller set to true. ` +
				`Found "true" in references for Pod/x and Pod/y`,
		},
		{
			"an event is nobody's owner", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, ownerReferences: [{apiVersion: v1, kind: Event, name: e, uid: u}]}}",
			422, `ConfigMap "x" is invalid: metadata.ownerReferences[0]: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}: /v1, ` +
				`Kind=Event is disallowed from being an owner`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, c := newServer()
			_, err := createYAML(c, tc.manifest)
			requireAnswer(t, err, tc.code, tc.message)
		})
	}
}

func requireAnswer(t *testing.T, err error, code int32, message string) {
	t.Helper()
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status)
	assert.Equal(t, message, words(err))
	assert.Equal(t, code, status.Status().Code)
}

func TestARealServersRefusalsOfPatches(t *testing.T) {
	const immutable = "field is immutable"
	for _, tc := range []struct {
		name, manifest string
		how            types.PatchType
		patch, sub     string
		code           int32
		message        string
	}{
		{
			"another UID is a changed field, no conflict", aClaim, types.MergePatchType, `{"metadata":{"uid":"other"}}`, "",
			422, `PersistentVolumeClaim "x" is invalid: metadata.uid: Invalid value: "other": ` + immutable,
		},
		{ // the words are the simulation's own
			"another kind is invalid", aClaim, types.MergePatchType, `{"kind":"Pod"}`, "",
			422, ` "" is invalid: patch: Invalid value: "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\",\"namespace\":\"default\",` +
				`\"uid\":\"2ad2e754-6d53-4f3d-86ed-77bbdc1ae0d5\",\"resourceVersion\":\"5\",\"creationTimestamp\":\"2026-01-02T03:04:05Z\",` +
				`\"finalizers\":[\"kubernetes.io/pvc-protection\"]},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"5Gi\"}},` +
				`\"storageClassName\":\"nope\",\"volumeMode\":\"Filesystem\"},\"status\":{\"phase\":\"Pending\"}}": the API version or kind in the data (/v1, Kind=Pod) ` +
				`does not match the expected one (/v1, Kind=PersistentVolumeClaim)`,
		},
		{
			"a merge patch that is an array is a bad request", aClaim, types.MergePatchType, `[{"op":"remove"}]`, "",
			400, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
		},
		{
			"a node has no less than nothing", aNode, types.MergePatchType, `{"status":{"capacity":{"cpu":"-1"}}}`, "status",
			422, `Node "x" is invalid: status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0`,
		},
		{
			"a pod's addresses are addresses", aPod("", ""), types.MergePatchType, `{"status":{"podIPs":[{"ip":"bad"}]}}`, "status",
			422, `Pod "x" is invalid: status.podIPs[0]: Invalid value: "bad": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
		},
		{
			"the old annotation of the class is named as a field", aClaim, types.MergePatchType,
			`{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"Bad Name"}}}`, "",
			422, `PersistentVolumeClaim "x" is invalid: metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "Bad Name": ` + immutable,
		},
		{
			"what is resized is named by its status", aClaim, types.MergePatchType, `{"status":{"allocatedResourceStatuses":{"storage":"Bogus"}}}`, "status",
			422, `PersistentVolumeClaim "x" is invalid: status.allocatedResourceStatuses: Unsupported value: "storage": supported values: ` +
				`"ControllerResizeInProgress", ` +
				`"ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"`,
		},
		{
			"an attachment that is changed for the worse is refused for both", anAttachment, types.MergePatchType, `{"spec":{"attacher":""}}`, "",
			422, `VolumeAttachment.storage.k8s.io "x" is invalid: [spec.attacher: Required value, ` +
				`spec: Invalid value: null: ` + immutable + `]`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, c := newServer()
			_, err := createYAML(c, tc.manifest)
			require.NoError(t, err)
			_, err = patchYAML(c, tc.manifest, tc.how, tc.patch, tc.sub)
			requireAnswer(t, err, tc.code, tc.message)
		})
	}
}

func TestANodeThatWasRefusedACapacityCanStillBeChanged(t *testing.T) {
	_, c := newServer()
	_, err := createYAML(c, aNode)
	require.NoError(t, err)
	_, err = patchYAML(c, aNode, types.MergePatchType, `{"status":{"capacity":{"cpu":"-1"}}}`, "status")
	require.True(t, apierrors.IsInvalid(err), err)
	for _, patch := range []struct{ data, sub string }{
		{`{"metadata":{"labels":{"a":"b"}}}`, ""}, {`{"spec":{"unschedulable":true}}`, ""}, {`{"status":{"capacity":{"cpu":"4"}}}`, "status"},
	} {
		_, err = patchYAML(c, aNode, types.MergePatchType, patch.data, patch.sub)
		require.NoError(t, err, patch.data)
	}
}

func TestANegativeMaximumVolumeSizeIsAccepted(t *testing.T) {
	_, c := newServer()
	made, err := createYAML(c, aCapacity)
	require.NoError(t, err)
	assert.Equal(t, "-1", made.(*storagev1.CSIStorageCapacity).MaximumVolumeSize.String())
	_, err = createYAML(c, strings.NewReplacer("capacity: 1Gi", "capacity: -1", "name: x", "name: other").Replace(aCapacity))
	requireAnswer(t, err, 422, `CSIStorageCapacity.storage.k8s.io "other" is invalid: capacity: Invalid value: "-1": must be greater than or equal to 0`)
}

// Upstream: core/v1 conversion of PodSpec and NodeSpec, v1.37.
func TestValuesThatAreReadAsOthers(t *testing.T) {
	_, c := newServer()
	made, err := createYAML(c, aPod("terminationGracePeriodSeconds: -1,", ""))
	require.NoError(t, err)
	assert.EqualValues(t, 1, *made.(*v1.Pod).Spec.TerminationGracePeriodSeconds, "a negative grace period is the shortest")

	made, err = createYAML(c, "{apiVersion: v1, kind: Node, metadata: {name: first}, spec: {podCIDRs: [10.0.0.0/24, 'fd00::/64']}}")
	require.NoError(t, err)
	assert.Equal(t, "10.0.0.0/24", made.(*v1.Node).Spec.PodCIDR, "the first of podCIDRs is podCIDR")
	made, err = createYAML(c, "{apiVersion: v1, kind: Node, metadata: {name: second}, spec: {podCIDR: 10.0.1.0/24}}")
	require.NoError(t, err)
	assert.Equal(t, []string{"10.0.1.0/24"}, made.(*v1.Node).Spec.PodCIDRs, "and the other way round")
}

// Upstream: api/persistentvolumeclaim DropDisabledFields, v1.37: the feature gate
// CrossNamespaceVolumeDataSource is off.
func TestADataSourceInAnotherNamespaceIsDroppedWhole(t *testing.T) {
	_, c := newServer()
	with := func(name, namespace string) *v1.PersistentVolumeClaim {
		claim := strings.Replace(strings.Replace(aClaim, "name: x", "name: "+name, 1), "spec: {", "spec: {dataSourceRef: {kind: PersistentVolumeClaim, name: a"+
			namespace+"}, ", 1)
		made, err := createYAML(c, claim)
		require.NoError(t, err)
		return made.(*v1.PersistentVolumeClaim)
	}
	far := with("far", ", namespace: other")
	assert.Nil(t, far.Spec.DataSourceRef)
	assert.Nil(t, far.Spec.DataSource)
	near := with("near", "")
	assert.Equal(t, "a", near.Spec.DataSourceRef.Name)
	assert.Equal(t, "a", near.Spec.DataSource.Name)
}

// A server that was started without --allow-privileged refuses it, also in templates.
func TestPrivilegedContainersAreRefusedWhereTheServerDeniesThem(t *testing.T) {
	const privileged = "securityContext: {privileged: true}"
	_, c := newServer()
	_, err := createYAML(c, aPod("", privileged))
	require.NoError(t, err, "as a rule they are allowed")
	require.NoError(t, c.CoreV1().Pods("default").Delete(ctx, "x", metav1.DeleteOptions{}))

	_, err = createYAML(c, aPod("", "securityContext: {privileged: true, allowPrivilegeEscalation: false}"))
	requireAnswer(t, err, 422, `Pod "x" is invalid: spec.containers[0].securityContext: Invalid value: {"Capabilities":null,"Privileged":true,`+
		`"SELinuxOptions":null,"WindowsOptions":null,`+
		`"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,`+
		`"SeccompProfile":null,"AppArmorProfile":null}: cannot set `+
		"`allowPrivilegeEscalation` to false and `privileged` to true")

	c = fake.New(api.NewServer(api.Config{DenyPrivileged: true}), "user")
	_, err = createYAML(c, aPod("", privileged))
	requireAnswer(t, err, 422, `Pod "x" is invalid: spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy`)
	_, err = createYAML(c, `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: x}, spec: {selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: busybox, securityContext: {privileged: true}}]}}}}`)
	requireAnswer(t, err, 422,
		`DaemonSet.apps "x" is invalid: spec.template.spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy`)
}
