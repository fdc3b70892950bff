// Command pd is the CSI driver of Google's persistent disks as it is, at the socket that its argument
// names, with what the driver has for its own tests: a cloud in memory, and mounts that are
// noted and not made.
package main

import (
	"log"
	"os"
	"time"

	"google.golang.org/api/compute/v1"
	"sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/deviceutils"
	gce "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/gce-cloud-provider/compute"
	"sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/gce-cloud-provider/metadata"
	driver "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/gce-pd-csi-driver"
	"sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/linkcache"
	mountmanager "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/mount-manager"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: pd SOCKET")
	}
	cloud, err := gce.CreateFakeCloudProvider(metadata.FakeProject, metadata.FakeZone, nil)
	if err != nil {
		log.Fatal(err)
	}
	cloud.InsertInstance(&compute.Instance{Name: metadata.FakeName}, metadata.FakeZone, metadata.FakeName)
	d, mounter := driver.GetGCEDriver(), mountmanager.NewFakeSafeMounter()
	node := driver.NewNodeServer(d, mounter, deviceutils.NewFakeDeviceUtils(false), metadata.NewFakeService(),
		mountmanager.NewFakeStatterWithOptions(mounter, mountmanager.FakeStatterOptions{}),
		&driver.NodeServerArgs{DeviceCache: linkcache.NewTestDeviceCache(time.Minute, linkcache.NewTestNodeWithVolumes(nil))})
	controller := driver.NewControllerServer(d, cloud, 0, 5*time.Minute, nil, false, false, driver.MultiZoneVolumeHandleConfig{},
		driver.ListVolumesConfig{}, driver.ProvisionableDisksConfig{}, true, &driver.GCEControllerServerArgs{})
	if err := d.SetupGCEDriver("pd.csi.storage.gke.io", "test", nil, nil, driver.NewIdentityServer(d), controller, node); err != nil {
		log.Fatal(err)
	}
	d.Run("unix:"+os.Args[1], 10000, false, nil)
}
