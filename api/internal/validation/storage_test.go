package validation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/api/internal/apitest"
)

func TestNewStorageClassesAreRefusedInTheWordsOfTheRealServer(t *testing.T) {
	refusesNew(t, apitest.GoodClass, []refusal{
		{"no provisioner (recorded)", "provisioner: ''", []string{"provisioner: Required value"}},
		{"no provisioner, which is said last", "{provisioner: '', reclaimPolicy: Recycle}",
			[]string{`reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"`, "provisioner: Required value"}},
		{"a provisioner with two slashes", "provisioner: a/b/c", []string{`provisioner: Invalid value: "a/b/c": a valid label key must consist of ` +
			`alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', ` +
			`regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`}},
		{"a parameter without a name", "parameters: {'': x}", []string{`parameters: Invalid value: "": field can not be empty.`}},
		{"parameters too long", "parameters: {a: '" + strings.Repeat("x", 256<<10) + "'}", []string{"parameters: Too long: may not be more than 262144 bytes"}},
		{"a reclaim policy volumes have but classes have not", "reclaimPolicy: Recycle",
			[]string{`reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"`}},
		{"an unknown binding mode", "volumeBindingMode: Later",
			[]string{`volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"`}},
		{"a topology without values", "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: []}]}]",
			[]string{"allowedTopologies[0].matchLabelExpressions[0].values: Required value"}},
		{"a topology value twice", "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a, a]}]}]",
			[]string{`allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"`}},
		{"a topology key twice", "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}, {key: zone, values: [b]}]}]",
			[]string{`allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "zone"`}},
		{"a topology term twice", "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}, {matchLabelExpressions: [{key: zone, values: [a]}]}]",
			[]string{`allowedTopologies[1].matchLabelExpressions: Duplicate value: ""`}},
	})
}

func TestAClassWithoutABindingModeIsRefused(t *testing.T) {
	class := apitest.Created(t, apitest.GoodClass).(*storagev1.StorageClass)
	class.VolumeBindingMode = nil
	require.Equal(t, []string{"volumeBindingMode: Required value"}, apitest.Words(create(class)))
}

func TestHowAClassProvisionsCannotChange(t *testing.T) {
	refusesChange(t, apitest.GoodClass, []refusal{
		{"its provisioner (recorded)", "provisioner: example.com/y", []string{`provisioner: Invalid value: null: field is immutable`}},
		{"its binding mode (recorded)", "volumeBindingMode: WaitForFirstConsumer",
			[]string{`volumeBindingMode: Invalid value: null: field is immutable`}},
		{"its parameters", "parameters: {a: b}", []string{`parameters: Invalid value: null: field is immutable`}},
		{"its reclaim policy", "reclaimPolicy: Retain", []string{`reclaimPolicy: Invalid value: null: field is immutable`}},
		{"but expansion may be allowed (recorded)", "allowVolumeExpansion: true", nil},
		{"but mount options may change", "mountOptions: [ro]", nil},
		{"but topologies may change", "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a]}]}]", nil},
	})
}

func TestAnAttributesClassCannotChange(t *testing.T) {
	const class = "{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: gold}, driverName: x.example.com, parameters: {iops: '100'}}"
	refusesNew(t, class, []refusal{
		{"without parameters", "parameters: null", []string{"parameters: Required value: must contain at least one key/value pair"}},
	})
	refusesChange(t, class, []refusal{
		{"its driver", "driverName: y.example.com", []string{"driverName: Forbidden: updates to driverName are forbidden."}},
		{"its parameters", "parameters: {iops: '200'}", []string{"parameters: Forbidden: updates to parameters are forbidden."}},
	})
}

func TestAVolumeAttachmentNamesOneVolumeAndStaysAsItIs(t *testing.T) {
	const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	refusesNew(t, apitest.GoodAttachment, []refusal{
		{"without an attacher", "spec: {attacher: ''}", []string{"spec.attacher: Required value"}},
		{"with an attacher that is no name", "spec: {attacher: Bad_}", []string{`spec.attacher: Invalid value: "Bad_": an RFC 1123 subdomain must consist of ` +
			`alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'Example.com', regex used for validation is ` +
			`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
		{"with a long attacher that is no name", "spec: {attacher: " + strings.Repeat("a", 63) + "_}", []string{
			`spec.attacher: Invalid value: "` + strings.Repeat("a", 63) + `_": an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'Example.com', regex used for validation is ` +
				`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
			"spec.attacher: Too long: may not be more than 63 characters"}},
		{"without a source", "spec: {source: {persistentVolumeName: null}}", []string{"spec.source: Required value: " + one}},
		{"with two sources", "spec: {source: {inlineVolumeSpec: {csi: {driver: x, volumeHandle: h}}}}", []string{"spec.source: Forbidden: " + one}},
		{"with an empty volume name", "spec: {source: {persistentVolumeName: ''}}",
			[]string{"spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName",
				`spec.source.persistentVolumeName: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ` +
					`and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
					`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
		{"with a claim inline",
			"spec: {source: {persistentVolumeName: null, inlineVolumeSpec: {accessModes: [ReadWriteOnce], claimRef: {name: a}, csi: {driver: x, volumeHandle: h}}}}",
			[]string{"spec.source.inlineVolumeSpec.claimRef: Forbidden: may not be specified in the context of inline volumes"}},
	})
	got := apitest.Words(create(apitest.Created(t, apitest.GoodAttachment, "spec: {nodeName: ''}")))
	require.Len(t, got, 1)
	require.Contains(t, got[0], `spec.nodeName: Invalid value: "": a lowercase RFC 1123 subdomain`)

	refusesChange(t, apitest.GoodAttachment, []refusal{
		{"its node", "spec: {nodeName: node-2}", []string{`spec: Invalid value: null: field is immutable`}},
		{"but finalizers may come", "metadata: {finalizers: [external-attacher/x]}", nil},
	})
}

func TestACSINodeKeepsWhatADriverRegistered(t *testing.T) {
	refusesNew(t, apitest.GoodCSINode, []refusal{
		{"a driver twice", "spec: {drivers: [{name: x, nodeID: a}, {name: x, nodeID: b}]}", []string{`spec.drivers[1].name: Duplicate value: "x"`}},
		{"a driver without a node", "spec: {drivers: [{name: x, nodeID: ''}]}", []string{"spec.drivers[0].nodeID: Required value"}},
		{"a node's name too long", "spec: {drivers: [{name: x, nodeID: " + strings.Repeat("a", 257) + "}]}",
			[]string{`spec.drivers[0].nodeID: Invalid value: "` + strings.Repeat("a", 257) + `": must be 256 characters or less`}},
		{"a topology key twice", "spec: {drivers: [{name: x, nodeID: a, topologyKeys: [zone, zone]}]}", []string{`spec.drivers[0]: Duplicate value: "zone"`}},
		{"room for less than nothing", "spec: {drivers: [{name: x, nodeID: a, allocatable: {count: -1}}]}",
			[]string{"spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0"}},
	})
	refusesChange(t, apitest.GoodCSINode, []refusal{
		{"another node", "spec: {drivers: [{name: x.example.com, nodeID: other}]}",
			[]string{`spec.drivers: Invalid value: {"Name":"x.example.com","NodeID":"other","TopologyKeys":null,"Allocatable":null}: field is immutable`}},
		{"another topology", "spec: {drivers: [{name: x.example.com, nodeID: node-1, topologyKeys: [zone]}]}",
			[]string{`spec.drivers: Invalid value: {"Name":"x.example.com","NodeID":"node-1","TopologyKeys":["zone"],"Allocatable":null}: field is immutable`}},
		{"but another room", "spec: {drivers: [{name: x.example.com, nodeID: node-1, allocatable: {count: 9}}]}", nil},
		{"but drivers come", "spec: {drivers: [{name: x.example.com, nodeID: node-1}, {name: why, nodeID: n1}]}", nil},
		{"and drivers go", "spec: {drivers: []}", nil},
	})
}

func TestACSIDriverKeepsWhetherItAttaches(t *testing.T) {
	refusesNew(t, apitest.GoodCSIDriver, []refusal{
		{"an unknown group policy", "spec: {fsGroupPolicy: Never}",
			[]string{`spec.fsGroupPolicy: Unsupported value: "Never": supported values: "File", "None", "ReadWriteOnceWithFSType"`}},
		{"an unknown life cycle", "spec: {volumeLifecycleModes: [Eternal]}",
			[]string{`spec.volumeLifecycleModes: Unsupported value: "Eternal": supported values: "Persistent", "Ephemeral"`}},
		{"two tokens for one audience", "spec: {tokenRequests: [{audience: a}, {audience: a}]}",
			[]string{`spec.tokenRequests[1].audience: Duplicate value: "a"`}},
	})
	refusesChange(t, apitest.GoodCSIDriver, []refusal{
		{"attachRequired", "spec: {attachRequired: false}", []string{"spec.attachedRequired: Invalid value: false: field is immutable"}},
		{"life cycles", "spec: {volumeLifecycleModes: [Ephemeral]}", []string{`spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable`}},
		{"but podInfoOnMount may change", "spec: {podInfoOnMount: true}", nil},
		{"but storageCapacity may change", "spec: {storageCapacity: true}", nil},
	})
}

func TestACapacityKeepsWhatItIsAbout(t *testing.T) {
	got := apitest.Words(create(apitest.Created(t, apitest.GoodCapacity, "{storageClassName: '', capacity: -1}")))
	require.Len(t, got, 2)
	require.Contains(t, got[0], `storageClassName: Invalid value: "": a lowercase RFC 1123 subdomain`)
	require.Equal(t, `capacity: Invalid value: "-1": must be greater than or equal to 0`, got[1])

	refusesChange(t, apitest.GoodCapacity, []refusal{
		{"its topology", "nodeTopology: {matchLabels: {zone: b}}", []string{`nodeTopology: Invalid value: {"matchLabels":{"zone":"b"}}: field is immutable`}},
		{"its class", "storageClassName: other", []string{`storageClassName: Invalid value: "other": field is immutable`}},
		{"but how much there is may change", "capacity: 9Gi", nil},
	})
}
