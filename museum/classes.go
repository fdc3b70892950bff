package museum

import (
	"errors"
	"strings"
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
)

const (
	localClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: Immediate
`
	// localVolumes are one on each of two nodes, and a pod that must run on node-1 wants one.
	localVolumes = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec:
  storageClassName: local
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  local: {path: /disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-2}
spec:
  storageClassName: local
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  local: {path: /disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-2]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: local
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {kubernetes.io/hostname: node-1}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: data, mountPath: /data}]}]
`
)

func boundElsewhere() Exhibit {
	return Exhibit{
		Number: 18, Name: "Immediate binding and local volumes",
		Mechanism: "There is a local volume on each of two nodes, and the pod must run on node-1. The PV controller knows nothing of the pod. Of two volumes that fit the claim it takes one or the other.",
		Upstream:  "https://github.com/kubernetes/kubernetes/issues/43504",
		Fix:       "the class's volumeBindingMode: WaitForFirstConsumer",
		Rule:      explore.Liveness, Replay: "x1;faults=1:refused",
		cluster: func(bool) storagesim.Config {
			return storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), Only: []string{storagesim.PVController, storagesim.Scheduler}}
		},
		scenario: func(c *storagesim.Cluster, fixed bool) error {
			class := localClass
			if fixed {
				class = strings.Replace(class, "Immediate", "WaitForFirstConsumer", 1)
			}
			return errors.Join(c.MakeDir("node/node-1", "/disk", 0o755), c.MakeDir("node/node-2", "/disk", 0o755), c.Apply(class), c.Settle(), c.Apply(localVolumes), c.RunFor(time.Minute))
		},
	}
}
