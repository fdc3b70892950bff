package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// ebs is a class of a driver that is not here, with a claim and two pods that use it, and a class of none.
const ebs = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp3}
provisioner: ebs.csi.aws.com
parameters: {type: gp3}
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: gp3, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: busybox, command: [sleep, "3600"], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

func TestAStandInServesADriverThatIsNotThere(t *testing.T) {
	path := file(t, "all.yaml", ebs)
	_, out, _ := command(t, "", "run", "-f", path)
	assert.Contains(t, out, "\n  hint: --stand-ins runs a stand-in for ebs.csi.aws.com; ")
	code, out, errOut := command(t, "", "run", "-f", path, "--stand-ins")
	require.Zero(t, code, errOut)
	assert.Regexp(t, `^ +0:00:00 +storagesim +stands in for ebs.csi.aws.com: the reference CSI driver under this name`, out)
	assert.Regexp(t, `pod/web +1/1 +Running`, out)
	assert.Regexp(t, `volumeattachment.storage.k8s.io/csi-\w+ +ebs.csi.aws.com`, out)
}

// Of the storage behind another driver nothing is known: file systems in a cloud have claims of petabytes.
func TestAStandInHasRoomForWhatExamplesAskFor(t *testing.T) {
	path := file(t, "all.yaml", strings.Replace(ebs, "1Gi", "10Pi", 1))
	for _, more := range []string{"--stand-ins", "--csi=ebs.csi.aws.com,topology=topology.ebs.csi.aws.com/zone"} {
		code, out, errOut := command(t, "", "run", "-f", path, "--nodes", "a,b,c,d,e,f,g,h,i", more)
		require.Zero(t, code, errOut)
		require.Regexp(t, `pod/web +1/1 +Running`, out, more)
	}
}

func TestAStandInTakesItsSpecFromTheCSIDriverOrTheFlag(t *testing.T) {
	path := file(t, "all.yaml", ebs)
	_, out, errOut := command(t, "", "run", "-f", path, "--csi", "ebs.csi.aws.com,topology=topology.ebs.csi.aws.com/zone,attach=false,limit=25", "-o", "yaml")
	assert.Empty(t, errOut)
	assert.NotContains(t, out, "kind: VolumeAttachment")
	assert.Contains(t, out, "attachRequired: false")
	assert.Contains(t, out, "count: 25")
	assert.Contains(t, out, "- key: topology.ebs.csi.aws.com/zone")

	path = file(t, "all.yaml", ebs+`---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: ebs.csi.aws.com}
spec: {attachRequired: false, podInfoOnMount: true, fsGroupPolicy: ReadWriteOnceWithFSType}
`)
	code, out, errOut := command(t, "", "run", "-f", path, "--stand-ins", "-o", "yaml")
	assert.Zero(t, code)
	assert.Empty(t, errOut, "the manifest's object is the one that the driver has")
	assert.NotContains(t, out, "kind: VolumeAttachment")
	assert.Contains(t, out, "podInfoOnMount: true")
	assert.Contains(t, out, "phase: Running")
}

func TestAStandInTakesAttributesClassesAndSnapshotsThatItDoesNotKnow(t *testing.T) {
	claim := strings.Replace(ebs, "storageClassName: gp3,", "storageClassName: gp3, volumeAttributesClassName: fast,", 1)
	claim = strings.Replace(claim, "requests: {storage: 1Gi}}",
		"requests: {storage: 1Gi}}, dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: old}", 1)
	path := file(t, "all.yaml", claim+`---
apiVersion: storage.k8s.io/v1
kind: VolumeAttributesClass
metadata: {name: fast}
driverName: ebs.csi.aws.com
parameters: {type: io2, throughput: "150"}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: old}
spec: {source: {volumeSnapshotContentName: old}}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotContent
metadata: {name: old}
spec: {driver: ebs.csi.aws.com, deletionPolicy: Retain, source: {snapshotHandle: snap-1}, volumeSnapshotRef: {name: old, namespace: default}}
`)
	code, out, errOut := command(t, "", "run", "-f", path, "--stand-ins", "--wait", "5m", "-o", "yaml")
	require.Zero(t, code, errOut)
	assert.Contains(t, out, "currentVolumeAttributesClassName: fast")
	assert.Contains(t, out, "readyToUse: true")
}

// Upstream: csimigration/plugin_manager.go TranslateInTreeSpecToCSI, and csi_attacher.go Attach, v1.37.
func TestAPodsOwnVolumeOfAReplacedPluginIsTheDrivers(t *testing.T) {
	pod := func(name, volume string) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
			"}\nspec:\n  containers: [{name: c, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]\n" +
			"  volumes: [{name: data, " + volume + "}]\n"
	}
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: share}\nstringData: {azurestorageaccountname: a, azurestorageaccountkey: b}\n"
	for volume, driver := range map[string]string{
		"awsElasticBlockStore: {volumeID: vol-1, fsType: ext4}":              "ebs.csi.aws.com",
		"gcePersistentDisk: {pdName: disk-1}":                                "pd.csi.storage.gke.io",
		"azureDisk: {diskName: d, diskURI: /subscriptions/1, kind: Managed}": "disk.csi.azure.com",
		"azureFile: {secretName: share, shareName: s}":                       "file.csi.azure.com",
		"cinder: {volumeID: c-1}":                                            "cinder.csi.openstack.org",
		"vsphereVolume: {volumePath: \"[store] a/b.vmdk\"}":                  "csi.vsphere.vmware.com",
		"portworxVolume: {volumeID: p-1}":                                    "pxd.portworx.com",
	} {
		path := file(t, "all.yaml", secret+pod("web", volume))
		code, out, errOut := command(t, "", "run", "-f", path, "--stand-ins", "-o", "yaml")
		require.Zero(t, code, errOut)
		assert.Contains(t, out, "phase: Running", volume)
		assert.Contains(t, out, "attacher: "+driver)
		assert.Contains(t, out, "inlineVolumeSpec:")
	}
	path := file(t, "all.yaml", pod("a", "awsElasticBlockStore: {volumeID: vol-1}")+pod("b", "awsElasticBlockStore: {volumeID: vol-2}"))
	_, out, _ := command(t, "", "run", "-f", path, "--csi", "ebs.csi.aws.com,limit=1", "--nodes", "n1")
	assert.Contains(t, out, "0/1 nodes are available: 1 node(s) exceed max volume count.")

	path = file(t, "pv.yaml", "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\n"+
		"spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], azureFile: {secretName: share, shareName: s}}\n")
	_, out, _ = command(t, "", "run", "-f", path, "--stand-ins")
	assert.Contains(t, out, "stands in for file.csi.azure.com", "also without a claim, whose namespace the translation needs")
}

// Classes of the plugins that CSI drivers have replaced: a claim comes, is used, and goes with its volume.
func TestAClassOfAReplacedPluginMakesVolumes(t *testing.T) {
	for plugin, driver := range map[string]string{
		"aws-ebs": "ebs.csi.aws.com", "gce-pd": "pd.csi.storage.gke.io", "azure-disk": "disk.csi.azure.com", "azure-file": "file.csi.azure.com",
		"cinder": "cinder.csi.openstack.org", "vsphere-volume": "csi.vsphere.vmware.com", "portworx-volume": "pxd.portworx.com",
	} {
		script := `cluster stand-ins=yes
----

apply
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: old}
provisioner: kubernetes.io/` + plugin + `
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: old, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
----

run-for 2m
----

get pods
----

delete pod/web pvc/data
----

run-for 5m
----

get pv
----

leaks
----
`
		code, out, errOut := command(t, script, "story", "-")
		require.Zero(t, code, errOut)
		assert.Contains(t, out, "stands in for "+driver, plugin)
		assert.Contains(t, out, "1/1     Running", plugin)
		assert.Regexp(t, `get pv\n----\nNo resources found\n\nleaks\n----\nno leaks\n`, out, plugin)
	}
}

func TestWhatCannotBeStoodInForIsRefused(t *testing.T) {
	path := file(t, "all.yaml", ebs)
	for flag, want := range map[string]string{
		"a/b":               `--csi a/b: "a/b" is not the name of a driver`,
		"a,topology=":       `--csi a,topology=: topology: "" is not the key of a label`,
		"a,attach=maybe":    `--csi a,attach=maybe: attach: "maybe"; expected true or false`,
		"a,limit=0":         `--csi a,limit=0: limit: "0"; expected a number of volumes, at least 1`,
		"a,limits=3":        `"limits=3" (did you mean "limit=N"?); expected one of attach=false, limit=N, topology=KEY`,
		"csi.storagesim.io": "",
	} {
		code, _, errOut := command(t, "", "run", "-f", path, "--csi", flag)
		if want == "" {
			assert.Zero(t, code, errOut)
			continue
		}
		assert.Equal(t, 2, code, flag)
		assert.Contains(t, errOut, want)
	}
	code, _, errOut := command(t, "", "run", "-f", path, "--csi", "a", "--csi", "a,limit=1")
	assert.Equal(t, 2, code)
	assert.Contains(t, errOut, "a is given twice")
	code, _, errOut = command(t, "", "run", "-f", path, "--csi", "csi.storagesim.io", "--provisioners", "csi")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "stand-in for csi.storagesim.io: a driver or provisioner of that name runs already")
	path = file(t, "reference.yaml", strings.ReplaceAll(ebs, "ebs.csi.aws.com", "csi.storagesim.io"))
	code, out, errOut := command(t, "", "run", "-f", path, "--csi", "csi.storagesim.io,limit=3", "-o", "yaml")
	assert.Zero(t, code, errOut)
	assert.Contains(t, out, "count: 3", "a class of the manifests names the driver, which --csi configures")
	path = file(t, "mode.yaml", ebs+`---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: ebs.csi.aws.com}
spec: {volumeLifecycleModes: [Persistant]}
`)
	_, _, errOut = command(t, "", "run", "-f", path, "--stand-ins")
	assert.Contains(t, errOut, `Unsupported value: "Persistant"`)
}

func TestServeStandsInForWhatClientsName(t *testing.T) {
	config := filepath.Join(t.TempDir(), "kubeconfig")
	_, errOut := served(t, func(string) {
		loaded, err := clientcmd.BuildConfigFromFlags("", config)
		require.NoError(t, err)
		client := kubernetes.NewForConfigOrDie(loaded)
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "gp3"}, Provisioner: "ebs.csi.aws.com"}
		_, err = client.StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{})
		require.NoError(t, err)
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: &class.Name, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
		_, err = client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), claim, metav1.CreateOptions{})
		require.NoError(t, err)
		code, _, errOut := command(t, "", "settle", "--kubeconfig", config)
		assert.Zero(t, code, errOut)
		claim, err = client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "data", metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, v1.ClaimBound, claim.Status.Phase)
	}, "--speed", "step", "--kubeconfig", config, "--stand-ins")
	assert.Empty(t, errOut)
}

func TestTheDefaultClassIsThatOfTheManifestsOrOneOnLocalPath(t *testing.T) {
	const plain = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: plain}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  containers: [{name: c, image: busybox, command: [sleep, "3600"], volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: plain}}]
`
	code, out, errOut := command(t, "", "run", "-f", file(t, "plain.yaml", plain), "--default-class", "standard", "-o", "table")
	assert.Zero(t, code, errOut)
	assert.Regexp(t, `storageclass.storage.k8s.io/standard \(default\) +rancher.io/local-path`, out)
	assert.Regexp(t, `pod/user +1/1 +Running`, out)
	code, out, errOut = command(t, "", "run", "-f", file(t, "all.yaml", plain+"---\n"+ebs), "--default-class", "gp3", "--stand-ins", "-o", "table")
	assert.Zero(t, code, errOut)
	assert.Regexp(t, `storageclass.storage.k8s.io/gp3 \(default\) +ebs.csi.aws.com`, out)
	assert.Regexp(t, `persistentvolumeclaim/plain +Bound .* gp3`, out)
	code, _, errOut = command(t, "", "run", "-f", file(t, "plain.yaml", plain), "--default-class", "A b")
	assert.Equal(t, 2, code)
	assert.Contains(t, errOut, `--default-class: "A b" is not the name of a class`)
}

// A class of a plugin that a CSI driver has replaced is served by that driver, whose volumes are the plugin's again.
func TestAStandInServesTheClassOfAMigratedPlugin(t *testing.T) {
	for plugin, source := range map[string]string{
		"kubernetes.io/gce-pd": "gcePersistentDisk:", "kubernetes.io/aws-ebs": "awsElasticBlockStore:", "kubernetes.io/azure-disk": "azureDisk:",
		"kubernetes.io/cinder":          "cinder:",
		"kubernetes.io/portworx-volume": "portworxVolume:",
	} {
		path := file(t, "all.yaml", strings.Replace(ebs, "ebs.csi.aws.com", plugin, 1))
		code, out, errOut := command(t, "", "run", "-f", path, "--stand-ins", "--wait", "5m", "-o", "yaml")
		require.Zero(t, code, plugin+errOut)
		assert.Contains(t, out, source, plugin)
		assert.Contains(t, out, "pv.kubernetes.io/provisioned-by: "+plugin)
		assert.Contains(t, out, "pv.kubernetes.io/migrated-to: ")
		assert.Contains(t, out, "kind: VolumeAttachment")
	}
}
