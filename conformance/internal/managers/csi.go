package managers

import (
	"time"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi/driver"
)

const csiClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: csi}
provisioner: csi.storagesim.io
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
`

func csiScenarios() []Scenario {
	two := storagesim.Nodes("node-1", "node-2")
	on := func(node string) string { return "nodeSelector: {kubernetes.io/hostname: " + node + "}" }
	begin := func(more ...Step) []Step {
		return append([]Step{Apply("a class", csiClass), Apply("a claim", claim("data", "csi")),
			Apply("a pod", user("p", "data", on("node-1"))).For(20 * time.Second)}, more...)
	}
	return []Scenario{
		{Name: "csi-attached-and-moved", CSI: &driver.Config{}, Nodes: two, Steps: begin(
			Delete("pod/p").For(20*time.Second), Apply("a pod on the other node", user("q", "data", on("node-2"))).For(20*time.Second),
			Delete("pod/q").For(20*time.Second), Delete("pvc/data").For(20*time.Second),
		)},
		{Name: "csi-multi-attach", CSI: &driver.Config{}, Nodes: two, Steps: begin(
			Apply("a pod on the other node", user("q", "data", on("node-2"))).For(20*time.Second), Delete("pod/p").For(20*time.Second),
		)},
		{Name: "csi-without-attach", CSI: &driver.Config{NoAttach: true}, Nodes: two, Steps: begin(Delete("pod/p").For(20 * time.Second))},
		{Name: "csi-limit-of-volumes", CSI: &driver.Config{MaxVolumes: 1}, Nodes: two[:1], Steps: begin(
			Apply("a second claim", claim("more", "csi")), Apply("its pod", user("q", "more", "")).For(20*time.Second), Delete("pod/p").For(20*time.Second),
		)},
		{Name: "csi-grows", CSI: &driver.Config{}, Steps: begin(
			Patch("grow", claims, "data", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`).For(20 * time.Second),
		)},
		{Name: "csi-topology", CSI: &driver.Config{Topology: true}, Nodes: two, Steps: begin(
			Apply("a pod elsewhere", user("q", "data", on("node-2"))).For(20 * time.Second),
		)},
		{Name: "csi-volume-that-is-none", CSI: &driver.Config{}, Steps: []Step{
			Apply("a volume", `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: manual
  csi: {driver: csi.storagesim.io, volumeHandle: no-such-volume}
`), Apply("a claim", claim("data", "manual")), Apply("a pod", user("p", "data", "")).For(20 * time.Second),
		}},
	}
}
