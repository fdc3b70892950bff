package migration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/migration"
)

func TestAVolumeOfAReplacedPluginIsOneOfTheDriver(t *testing.T) {
	require.Equal(t, "pd.csi.storage.gke.io", migration.Driver("kubernetes.io/gce-pd"))
	require.Equal(t, "kubernetes.io/gce-pd", migration.Plugin("pd.csi.storage.gke.io"))
	for _, name := range []string{"kubernetes.io/rbd", "pd.csi.storage.gke.io", ""} {
		require.Empty(t, migration.Driver(name))
	}
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", Labels: map[string]string{v1.LabelTopologyZone: "us-a-a__us-a-b"}}}
	pv.Spec.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: "d1", FSType: "ext4"}
	pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}
	csi, err := migration.Volume(pv)
	require.NoError(t, err)
	require.Equal(t, "pd.csi.storage.gke.io", csi.Spec.CSI.Driver)
	require.Contains(t, csi.Spec.CSI.VolumeHandle, "/disks/d1")
	require.Equal(t, []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, csi.Spec.AccessModes)
	require.Equal(t, []string{"us-a-a", "us-a-b"}, csi.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values)
	require.NotNil(t, pv.Spec.GCEPersistentDisk, "the object itself is not changed")
	back, err := migration.Back(csi)
	require.NoError(t, err)
	require.Equal(t, "d1", back.Spec.GCEPersistentDisk.PDName)

	dedicated := v1.AzureDedicatedBlobDisk
	_, err = migration.Volume(&v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: azure(v1.AzureDiskVolumeSource{Kind: &dedicated})}})
	require.ErrorContains(t, err, "is not supported in csi migration")

	plain := &v1.PersistentVolume{}
	same, err := migration.Volume(plain)
	require.NoError(t, err)
	require.Same(t, plain, same)
}

func TestAVolumeOfAPodAndAClassAreTranslated(t *testing.T) {
	volume := &v1.Volume{Name: "v", VolumeSource: v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://eu-1a/vol-1"}}}
	require.Equal(t, "kubernetes.io/aws-ebs", migration.OfInline(volume))
	pv, err := migration.Inline(volume, "default")
	require.NoError(t, err)
	require.Equal(t, "vol-1", pv.Spec.CSI.VolumeHandle)
	none, err := migration.Inline(&v1.Volume{}, "default")
	require.NoError(t, err)
	require.Nil(t, none)

	class := &storagev1.StorageClass{Provisioner: "kubernetes.io/gce-pd", Parameters: map[string]string{"zones": "a,b", "fstype": "xfs"}}
	out, err := migration.Class(class)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"csi.storage.k8s.io/fstype": "xfs"}, out.Parameters)
	require.Equal(t, "topology.gke.io/zone", out.AllowedTopologies[0].MatchLabelExpressions[0].Key)
}

// Each field of a replaced plugin's source is in the driver's volume: another value makes another volume.
func TestEachFieldOfAReplacedPluginReachesTheDriver(t *testing.T) {
	yes, text, number := true, "x", int32(7)
	caching := v1.AzureDataDiskCachingReadOnly
	for name, tt := range map[string]struct{ before, after v1.PersistentVolumeSource }{
		"gcePersistentDisk.pdName":      {gce(v1.GCEPersistentDiskVolumeSource{}), gce(v1.GCEPersistentDiskVolumeSource{PDName: text})},
		"gcePersistentDisk.fsType":      {gce(v1.GCEPersistentDiskVolumeSource{}), gce(v1.GCEPersistentDiskVolumeSource{FSType: text})},
		"gcePersistentDisk.partition":   {gce(v1.GCEPersistentDiskVolumeSource{}), gce(v1.GCEPersistentDiskVolumeSource{Partition: number})},
		"gcePersistentDisk.readOnly":    {gce(v1.GCEPersistentDiskVolumeSource{}), gce(v1.GCEPersistentDiskVolumeSource{ReadOnly: yes})},
		"awsElasticBlockStore.volumeID": {aws(v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}), aws(v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-2"})},
		"awsElasticBlockStore.fsType": {aws(v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}),
			aws(v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1", FSType: text})},
		"awsElasticBlockStore.partition": {aws(v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}),
			aws(v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1", Partition: number})},
		"awsElasticBlockStore.readOnly": {aws(v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}),
			aws(v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1", ReadOnly: yes})},
		"azureDisk.diskURI":               {azure(v1.AzureDiskVolumeSource{}), azure(v1.AzureDiskVolumeSource{DataDiskURI: text})},
		"azureDisk.cachingMode":           {azure(v1.AzureDiskVolumeSource{}), azure(v1.AzureDiskVolumeSource{CachingMode: &caching})},
		"azureDisk.fsType":                {azure(v1.AzureDiskVolumeSource{}), azure(v1.AzureDiskVolumeSource{FSType: &text})},
		"azureDisk.readOnly":              {azure(v1.AzureDiskVolumeSource{}), azure(v1.AzureDiskVolumeSource{ReadOnly: &yes})},
		"cinder.volumeID":                 {cinder(v1.CinderPersistentVolumeSource{}), cinder(v1.CinderPersistentVolumeSource{VolumeID: text})},
		"cinder.fsType":                   {cinder(v1.CinderPersistentVolumeSource{}), cinder(v1.CinderPersistentVolumeSource{FSType: text})},
		"cinder.readOnly":                 {cinder(v1.CinderPersistentVolumeSource{}), cinder(v1.CinderPersistentVolumeSource{ReadOnly: yes})},
		"portworxVolume.volumeID":         {portworx(v1.PortworxVolumeSource{}), portworx(v1.PortworxVolumeSource{VolumeID: text})},
		"portworxVolume.fsType":           {portworx(v1.PortworxVolumeSource{}), portworx(v1.PortworxVolumeSource{FSType: text})},
		"vsphereVolume.volumePath":        {vsphere(v1.VsphereVirtualDiskVolumeSource{}), vsphere(v1.VsphereVirtualDiskVolumeSource{VolumePath: text})},
		"vsphereVolume.fsType":            {vsphere(v1.VsphereVirtualDiskVolumeSource{}), vsphere(v1.VsphereVirtualDiskVolumeSource{FSType: text})},
		"vsphereVolume.storagePolicyName": {vsphere(v1.VsphereVirtualDiskVolumeSource{}), vsphere(v1.VsphereVirtualDiskVolumeSource{StoragePolicyName: text})},
		"azureFile.shareName": {share(v1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "a"}),
			share(v1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "b"})},
		"azureFile.secretName": {share(v1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "a"}),
			share(v1.AzureFilePersistentVolumeSource{SecretName: "t", ShareName: "a"})},
		"azureFile.secretNamespace": {share(v1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "a"}),
			share(v1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "a", SecretNamespace: &text})},
		"azureFile.readOnly": {share(v1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "a"}),
			share(v1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "a", ReadOnly: yes})},
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, translatedSource(t, tt.before), translatedSource(t, tt.after))
		})
	}
}

func gce(s v1.GCEPersistentDiskVolumeSource) v1.PersistentVolumeSource {
	return v1.PersistentVolumeSource{GCEPersistentDisk: &s}
}

func aws(s v1.AWSElasticBlockStoreVolumeSource) v1.PersistentVolumeSource {
	return v1.PersistentVolumeSource{AWSElasticBlockStore: &s}
}

func azure(s v1.AzureDiskVolumeSource) v1.PersistentVolumeSource {
	return v1.PersistentVolumeSource{AzureDisk: &s}
}

func cinder(s v1.CinderPersistentVolumeSource) v1.PersistentVolumeSource {
	return v1.PersistentVolumeSource{Cinder: &s}
}

func portworx(s v1.PortworxVolumeSource) v1.PersistentVolumeSource {
	return v1.PersistentVolumeSource{PortworxVolume: &s}
}

func vsphere(s v1.VsphereVirtualDiskVolumeSource) v1.PersistentVolumeSource {
	return v1.PersistentVolumeSource{VsphereVolume: &s}
}

func share(s v1.AzureFilePersistentVolumeSource) v1.PersistentVolumeSource {
	return v1.PersistentVolumeSource{AzureFile: &s}
}

// translatedSource returns the driver's source of a volume of a plugin.
func translatedSource(t *testing.T, source v1.PersistentVolumeSource) v1.CSIPersistentVolumeSource {
	t.Helper()
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	pv.Spec.PersistentVolumeSource = source
	pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data"}
	csi, err := migration.Volume(pv)
	require.NoError(t, err)
	return *csi.Spec.CSI
}
