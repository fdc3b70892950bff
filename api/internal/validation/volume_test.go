package validation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/apitest"
)

func TestNewVolumesAreRefusedInTheWordsOfTheRealServer(t *testing.T) {
	const nodeAffinity = "{required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}"
	refusesNew(t, apitest.GoodVolume, []refusal{
		// The first five are recorded from kube-apiserver v1.36.3.
		{"no source", "spec: {hostPath: null}", []string{"spec: Required value: must specify a volume type"}},
		{"two sources", "spec: {nfs: {server: s, path: /p}}", []string{"spec.nfs: Forbidden: may not specify more than 1 volume type"}},
		{"a local volume without node affinity", "spec: {hostPath: null, local: {path: /a}}",
			[]string{"spec.nodeAffinity: Required value: Local volume requires node affinity"}},
		{"a path that climbs", "spec: {hostPath: {path: /a/../b}}",
			[]string{`spec.hostPath.path: Invalid value: "/a/../b": must not contain '..'`}},
		{"a bad name", "metadata: {name: Bad_Name}", []string{`metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must ` +
			`consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', ` +
			`regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},

		{"no access modes", "spec: {accessModes: null}", []string{"spec.accessModes: Required value"}},
		{"ReadWriteOncePod with another mode", "spec: {accessModes: [ReadWriteOncePod, ReadWriteMany]}",
			[]string{"spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"}},
		{"no capacity", "spec: {capacity: null}", []string{"spec.capacity: Required value",
			`spec.capacity: Unsupported value: null: supported values: "storage"`}},
		{"another capacity", "spec: {capacity: {cpu: 1}}", []string{
			`spec.capacity: Unsupported value: {"cpu":"1","storage":"5Gi"}: supported values: "storage"`}},
		{"an empty capacity", "spec: {capacity: {storage: 0}}",
			[]string{`spec.capacity[storage]: Invalid value: "0": must be greater than zero`}},
		{"an unknown reclaim policy", "spec: {persistentVolumeReclaimPolicy: Burn}",
			[]string{`spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Recycle", "Retain"`}},
		{"recycling the root of a node", "spec: {persistentVolumeReclaimPolicy: Recycle, hostPath: {path: /.}}",
			[]string{"spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"}},
		{"an unknown volume mode", "spec: {volumeMode: Tape}",
			[]string{`spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"`}},
		{"a namespace", "metadata: {namespace: default}", []string{"metadata.namespace: Forbidden: not allowed on this type"}},
		{"mount options where they mean nothing", "metadata: {annotations: {volume.beta.kubernetes.io/mount-options: ro}}",
			[]string{"metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this volume type"}},
		{"an attributes class without CSI", "spec: {volumeAttributesClassName: gold}",
			[]string{"spec.csi: Required value: has to be specified when using volumeAttributesClassName"}},

		{"a node affinity without terms", "spec: {nodeAffinity: {required: {nodeSelectorTerms: []}}}",
			[]string{"spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term"}},
		{"a node affinity that requires nothing", "spec: {nodeAffinity: {}}",
			[]string{"spec.nodeAffinity.required: Required value: must specify required node constraints"}},
		{"a node affinity with an unknown operator", "spec: {nodeAffinity: " + strings.Replace(nodeAffinity, "In,", "Near,", 1) + "}",
			[]string{`spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`}},
		{"a local volume without a path", "spec: {hostPath: null, local: {path: ''}, nodeAffinity: " + nodeAffinity + "}",
			[]string{"spec.local.path: Required value"}},
		{"a local path that climbs", "spec: {hostPath: null, local: {path: ../b}, nodeAffinity: " + nodeAffinity + "}",
			[]string{`spec.local.path: Invalid value: "../b": must not contain '..'`}},
		{"an unknown hostPath type", "spec: {hostPath: {type: Disk}}", []string{`spec.hostPath.type: Unsupported value: "Disk": supported values: ` +
			`"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`}},
	})
}

func TestEveryVolumeSourceNeedsItsOwnFields(t *testing.T) {
	for _, row := range []struct {
		source string
		want   []string
	}{
		{"hostPath: {path: ''}", []string{"spec.hostPath.path: Required value"}},
		{"nfs: {server: '', path: ''}", []string{"spec.nfs.server: Required value", "spec.nfs.path: Required value",
			`spec.nfs.path: Invalid value: "": must be an absolute path`}},
		{"nfs: {server: s, path: p}", []string{`spec.nfs.path: Invalid value: "p": must be an absolute path`}},
		{"csi: {driver: '', volumeHandle: ''}", []string{"spec.csi.driver: Required value", "spec.csi.volumeHandle: Required value"}},
		{"csi: {driver: x, volumeHandle: h, nodePublishSecretRef: {name: sec}}", []string{"spec.csi.nodePublishSecretRef.namespace: Required value"}},
		{"gcePersistentDisk: {pdName: '', partition: 256}", []string{"spec.persistentDisk.pdName: Required value",
			"spec.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive"}},
		{"awsElasticBlockStore: {volumeID: ''}", []string{"spec.awsElasticBlockStore.volumeID: Required value"}},
		{"glusterfs: {endpoints: '', path: ''}", []string{"spec.glusterfs.endpoints: Required value", "spec.glusterfs.path: Required value"}},
		{"flocker: {}", []string{"spec.flocker: Required value: one of datasetName and datasetUUID is required"}},
		{"rbd: {monitors: [], image: ''}", []string{"spec.rbd.monitors: Required value", "spec.rbd.image: Required value"}},
		{"quobyte: {registry: '', volume: ''}", []string{
			"spec.quobyte.registry: Required value: must be a host:port pair or multiple pairs separated by commas", "spec.quobyte.volume: Required value"}},
		{"cephfs: {monitors: []}", []string{"spec.cephfs.monitors: Required value"}},
		{"iscsi: {targetPortal: '', iqn: x, lun: 300}", []string{"spec.iscsi.targetPortal: Required value",
			`spec.iscsi.iqn: Invalid value: "x": must be valid format`,
			"spec.iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive"}},
		{"cinder: {volumeID: ''}", []string{"spec.cinder.volumeID: Required value"}},
		{"fc: {}", []string{"spec.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both"}},
		{"flexVolume: {driver: '', options: {a.k8s.io/x: why}}", []string{"spec.flexVolume.driver: Required value",
			`spec.flexVolume.options[a.k8s.io/x]: Invalid value: "a.k8s.io/x": kubernetes.io and k8s.io namespaces are reserved`}},
		{"azureFile: {secretName: '', shareName: ''}", []string{"spec.azureFile.secretName: Required value", "spec.azureFile.shareName: Required value"}},
		{"vsphereVolume: {volumePath: ''}", []string{"spec.vsphereVolume.volumePath: Required value"}},
		{"photonPersistentDisk: {pdID: ''}", []string{"spec.photonPersistentDisk.pdID: Required value"}},
		{"portworxVolume: {volumeID: ''}", []string{"spec.portworxVolume.volumeID: Required value"}},
		{"azureDisk: {diskName: '', diskURI: 'https://x'}", []string{"spec.azureDisk.diskName: Required value"}},
		{"scaleIO: {gateway: '', system: '', volumeName: v, secretRef: {}}", []string{"spec.scaleIO.gateway: Required value", "spec.scaleIO.system: Required value"}},
		{"storageos: {}", []string{"spec.storageos.volumeName: Required value"}},
	} {
		t.Run(row.source, func(t *testing.T) {
			got := apitest.Words(create(apitest.Created(t, apitest.GoodVolume, "spec: {hostPath: null}", "spec: {"+row.source+"}")))
			require.Len(t, got, len(row.want), "%v", got)
			for i := range row.want {
				require.True(t, strings.HasPrefix(got[i], row.want[i]), "%q", got[i])
			}
		})
	}
}

func TestTheSecondVolumeSourceIsNamedInTheOrderOfTheRealServer(t *testing.T) {
	refusesNew(t, apitest.GoodVolume, []refusal{
		{"a cloud disk comes before NFS", "spec: {hostPath: null, nfs: {server: s, path: /p}, gcePersistentDisk: {pdName: d}}",
			[]string{"spec.nfs: Forbidden: may not specify more than 1 volume type"}},
		{"CSI comes last", "spec: {csi: {driver: x, volumeHandle: h}}", []string{"spec.csi: Forbidden: may not specify more than 1 volume type"}},
	})
}

// semantics 8 must 8.
func TestWhatAVolumeIsMadeOfCannotChange(t *testing.T) {
	refusesChange(t, apitest.GoodVolume, []refusal{
		{"its source", "spec: {hostPath: {path: /tmp/other}}",
			[]string{"spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation"}},
		{"its volume mode", "spec: {volumeMode: Block}", []string{`volumeMode: Invalid value: "Block": field is immutable`}},
		{"its source for another kind of source", "spec: {hostPath: null, nfs: {server: s, path: /p}}",
			[]string{"spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation"}},
	})
}

func TestWhatAVolumeIsUsedForMayChange(t *testing.T) {
	refusesChange(t, apitest.GoodVolume, []refusal{
		{"capacity", "spec: {capacity: {storage: 9Gi}}", nil},
		{"class", "spec: {storageClassName: other}", nil},
		{"access modes", "spec: {accessModes: [ReadOnlyMany]}", nil},
		{"reclaim policy", "spec: {persistentVolumeReclaimPolicy: Delete}", nil},
		{"mount options", "spec: {mountOptions: [ro]}", nil},
		{"claim", "spec: {claimRef: {name: a, namespace: default}}", nil},
		{"a first node affinity", "spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}", nil},
	})
}

func TestAVolumesNodeAffinityIsSetOnce(t *testing.T) {
	affinity := func(key string) string {
		return "spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: " + key + ", operator: In, values: [b]}]}]}}}"
	}
	old := apitest.Created(t, apitest.GoodVolume, affinity(v1.LabelFailureDomainBetaZone))
	other := apitest.Created(t, apitest.GoodVolume, affinity("zone"))
	require.Equal(t, []string{`nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"zone","Operator":"In",` +
		`"Values":["b"]}],"MatchFields":null}]}}: ` +
		`field is immutable, except for updating from beta label to GA`}, apitest.Words(update(other, old)))
	require.Equal(t, []string{"nodeAffinity: Invalid value: null: field is immutable, except for updating from beta label to GA"},
		apitest.Words(update(apitest.Created(t, apitest.GoodVolume), old)))
	require.Empty(t, apitest.Words(update(apitest.Created(t, apitest.GoodVolume, affinity(v1.LabelTopologyZone)), old)),
		"an old label may be replaced by its successor")
}

func TestASecretForExpansionMayBeAddedToACSIVolumeButNotExchanged(t *testing.T) {
	const csi = "spec: {hostPath: null, csi: {driver: x, volumeHandle: h}}"
	secret := func(name string) string {
		return "spec: {csi: {controllerExpandSecretRef: {name: " + name + ", namespace: default}}}"
	}
	without, with := apitest.Created(t, apitest.GoodVolume, csi), apitest.Created(t, apitest.GoodVolume, csi, secret("a"))
	require.Empty(t, apitest.Words(update(with, without)))
	fixed := []string{"spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation"}
	require.Equal(t, fixed, apitest.Words(update(without, with)))
	require.Equal(t, fixed, apitest.Words(update(apitest.Created(t, apitest.GoodVolume, csi, secret("b")), with)))
	require.Equal(t, fixed, apitest.Words(update(apitest.Created(t, apitest.GoodVolume, csi, secret("a"), "spec: {csi: {volumeHandle: other}}"), without)),
		"the secret does not cover up another change")
}

func TestAnAttributesClassOfAVolumeMayChangeButNotGo(t *testing.T) {
	const csi = "spec: {hostPath: null, csi: {driver: x, volumeHandle: h}}"
	old := apitest.Created(t, apitest.GoodVolume, csi, "spec: {volumeAttributesClassName: gold}")
	require.Empty(t, apitest.Words(update(apitest.Created(t, apitest.GoodVolume, csi, "spec: {volumeAttributesClassName: silver}"), old)))
	require.Equal(t, []string{"spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden"},
		apitest.Words(update(apitest.Created(t, apitest.GoodVolume, csi), old)))
}
