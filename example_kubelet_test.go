package storagesim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
)

const halfFull = `
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: csi}, provisioner: csi.storagesim.io}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: csi, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: web
    image: busybox
    command: [sh, -c, "head -c 600000 /dev/zero > /data/log; sleep 100000"]
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// A client reads the metrics of a kubelet, as what makes volumes larger does.
func ExampleCluster_RESTConfig() {
	cluster, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	if err := errors.Join(cluster.InstallCSIDriver(driver.Config{}), cluster.Apply(halfFull), cluster.RunFor(time.Minute)); err != nil {
		fmt.Println(err)
		return
	}
	client := kubernetes.NewForConfigOrDie(cluster.RESTConfig("autoscaler"))
	metrics, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/node-1/proxy/metrics").DoRaw(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(string(metrics)) {
		if !strings.HasPrefix(line, "#") && strings.Contains(line, "bytes") {
			fmt.Print(line)
		}
	}
	// Output:
	// kubelet_volume_stats_available_bytes{namespace="default",persistentvolumeclaim="data"} 448576
	// kubelet_volume_stats_capacity_bytes{namespace="default",persistentvolumeclaim="data"} 1.048576e+06
	// kubelet_volume_stats_used_bytes{namespace="default",persistentvolumeclaim="data"} 600000
}
